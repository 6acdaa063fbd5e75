"""Files of tests/golden hold what is told, letter by letter: `--update` writes them."""

import json
import re
from collections.abc import Collection
from pathlib import Path

import pytest
from report_reading import as_json, printed

from results.report.html import figure_data
from results.report.model import Figure, Report

GOLDEN = Path(__file__).parents[1] / "golden"
LONG = re.compile(r"-?\d+\.\d{6,}(?:e[+-]?\d+)?")
"""Numbers whose last digits depend on the processor."""
HEAD = re.compile(r"^==== (.+)\n", re.MULTILINE)


def steady(text: str) -> str:
    return LONG.sub(lambda found: f"{float(found[0]):.5g}", text)


def hold(request: pytest.FixtureRequest, name: str, text: str) -> None:
    """Hold a text against a file."""
    file, text = GOLDEN / f"{name}.txt", steady(text)
    if request.config.getoption("--update"):
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


def hold_scene(request: pytest.FixtureRequest, name: str, scenes: Collection[str], scene: str, text: str) -> None:
    """Hold what one of some scenes tells against its part of a file, which has a part for each and no other."""
    file, text = GOLDEN / f"{name}.txt", "\n".join(line.rstrip() for line in steady(text).splitlines()) + "\n\n"
    _, *parts = HEAD.split(file.read_text("utf-8")) if file.exists() else [""]
    held = dict(zip(parts[::2], parts[1::2], strict=True))
    if request.config.getoption("--update"):
        held = {one: held.get(one, "") for one in scenes} | {scene: text}
        file.write_text("".join(f"==== {one}\n{told}" for one, told in held.items()), "utf-8")
    assert list(held) == list(scenes)
    assert text == held[scene]


def told(*reports: Report, width: int = 100) -> str:
    """What people and scripts read of reports, figures as their data; each fact of a list is a line of its own."""
    lines = []
    for report in reports:
        facts = as_json(report)
        drawn = [part for part in report.parts if isinstance(part, Figure)]
        lines += [printed(report, width).rstrip("\n")]
        lines += [f"Figure {one.title}\n{figure_data(one).rstrip()}\n{one.caption}" for one in drawn]
        lines += [json.dumps(fact, ensure_ascii=False) for fact in (facts if isinstance(facts, list) else [facts])]
    return "\n".join(lines)
