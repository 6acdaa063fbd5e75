"""Reads what `native/witness.c` and `native/progress.c` print on standard error."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .flops import fraction_done

RANK = "hpltune-rank "
PANEL = "hpltune-panel "


@dataclass(frozen=True)
class RankReport:
    """What one rank says of itself.

    Attributes:
        library: the BLAS file mapped; None where no shared BLAS was found.
        kernel: "" where the library does not tell.
        threads: None where the library does not tell.
    """

    rank: int
    host: str
    library: Path | None
    version: str
    kernel: str
    threads: int | None


@dataclass(frozen=True)
class Panel:
    """Rank 0 begins the panel at `column` of a matrix of order N, `time_s` seconds after the first one.

    Attributes:
        stopped: the run was asked to end there, and all ranks have reached it.
    """

    N: int
    column: int
    time_s: float
    stopped: bool = False

    @property
    def fraction(self) -> float:
        """Part of the operations that are done, 0 to 1."""
        return fraction_done(self.N, self.column)


def parse_reports(stderr: str) -> tuple[RankReport, ...]:
    """The reports of all ranks, in the order of ranks; damaged lines are passed over."""
    reports = [
        RankReport(
            rank=int(said["rank"]),
            host=str(said["host"]),
            library=Path(said["library"]) if said["library"] else None,
            version=str(said["version"]),
            kernel=str(said["kernel"]),
            threads=int(said["threads"]) if said["threads"] > 0 else None,
        )
        for said in _objects(stderr, RANK, ("rank", "host", "library", "version", "kernel", "threads"))
    ]
    return tuple(sorted(reports, key=lambda report: report.rank))


def parse_panels(stderr: str) -> tuple[Panel, ...]:
    """The progress lines in the order they were printed; damaged ones are passed over."""
    return tuple(
        Panel(int(said["N"]), int(said["column"]), float(said["time_s"]), stopped=bool(said.get("stopped", False)))
        for said in _objects(stderr, PANEL, ("N", "column", "time_s"))
    )


def of_run(stderr: str, index: int) -> str:
    """What a launch of several runs said of one of them: all but the progress lines of the others.

    Args:
        index: of the run, from 0; each begins with its panel at column 0.
    """
    run, kept = -1, []
    for line in stderr.splitlines(keepends=True):
        panels = parse_panels(line)
        run += any(panel.column == 0 for panel in panels)
        if not panels or run == index:
            kept.append(line)
    return "".join(kept)


def _objects(text: str, head: str, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        _, found, rest = line.partition(head)
        if not found:
            continue
        try:
            said = json.loads(rest)
        except ValueError:
            continue
        if isinstance(said, dict) and all(name in said for name in names):
            yield said
