"""Files of tests/golden hold what is told, letter by letter: `--update` writes them.

A file whose scenes have prompts says also what is asked: who adds a scene writes its head and the lines that begin with
`$ ` (or with `> `, where a line goes on), and `--update` writes what is answered.
"""

import json
import re
from collections.abc import Callable, Collection
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_reading import as_json, printed

from results.report.html import figure_data
from results.report.model import Figure, Report

GOLDEN = Path(__file__).parents[1] / "golden"
CHANGED = "What is told changed. If that is meant, run this test with --update and read what changed in tests/golden."
LONG = re.compile(r"-?\d+\.\d{6,}(?:e[+-]?\d+)?")
"""Numbers whose last digits depend on the processor."""
HEAD = re.compile(r"^==== (.+)\n", re.MULTILINE)
PROMPT = re.compile(r"^\$ .*\n(?:> .*\n)*", re.MULTILINE)


def steady(text: str) -> str:
    return LONG.sub(lambda found: f"{float(found[0]):.5g}", text)


def hold(request: pytest.FixtureRequest, name: str, text: str) -> None:
    """Hold a text against a file."""
    file, text = GOLDEN / f"{name}.txt", steady(text)
    if request.config.getoption("--update"):
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8"), CHANGED


def scenes_of(name: str) -> dict[str, str]:
    """The scenes of a file, each with its text."""
    file = GOLDEN / f"{name}.txt"
    _, *parts = HEAD.split(file.read_text("utf-8")) if file.exists() else [""]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def hold_scene(request: pytest.FixtureRequest, name: str, scenes: Collection[str], scene: str, text: str) -> None:
    """Hold what one of some scenes tells against its part of a file, which has a part for each and no other."""
    file, text = GOLDEN / f"{name}.txt", "\n".join(line.rstrip() for line in steady(text).splitlines()) + "\n\n"
    held = scenes_of(name)
    if request.config.getoption("--update"):
        held = {one: held.get(one, "") for one in scenes} | {scene: text}
        file.write_text("".join(f"==== {one}\n{told}" for one, told in held.items()), "utf-8")
    assert list(held) == list(scenes), CHANGED
    assert text == held[scene], CHANGED


def play(request: pytest.FixtureRequest, name: str, scene: str, answer: Callable[[str], str]) -> None:
    """Ask what a scene of a file asks, and hold the answers against those that stand there."""
    scenes = scenes_of(name)
    asked = [found[0].rstrip("\n") for found in PROMPT.finditer(scenes[scene])]
    said = [f"{lines}\n{answer(lines[2:].replace(f'{chr(10)}> ', chr(10)))}" for lines in asked]
    hold_scene(request, name, scenes, scene, "\n".join(said))


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


class Seen(HTMLParser):
    """The elements of a page, one a line and as deep as it stands, with its text and what a browser makes of it."""

    EMPTY = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})
    UNSEEN = frozenset({"script", "style", "svg"})
    TOLD = frozenset(
        {"action", "aria-current", "aria-invalid", "aria-label", "class", "colspan", "download", "href", "id", "method"}
        | {"name", "open", "role", "scope", "title", "value"}
    )

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.UNSEEN.isdisjoint(self._open):
            told = "".join(f" {name}={value}" for name, value in attrs if name in self.TOLD)
            self._say(f"<{tag}{told[:200]}>")
        if tag not in self.EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """End what stands in the element as well, for HTML need not end all."""
        if tag in self._open:
            del self._open[-1 - self._open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and self.UNSEEN.isdisjoint(self._open) and not text.startswith(("Made by hpltune", "Read at ")):
            self._say(text)

    def _say(self, text: str) -> None:
        self.lines.append(" " * len(self._open) + text)


def seen(page: str) -> str:
    """What there is on a page, by which a change of it can be read."""
    return "\n".join([*Seen(page).lines, ""])
