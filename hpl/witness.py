"""Reads the lines that `native/witness.c` and `native/progress.c` print on standard error."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .sizing import fraction_done

RANK = "hpltune-rank "
END = "hpltune-end "
PANEL = "hpltune-panel "


@dataclass(frozen=True)
class RankReport:
    """A rank's report of its BLAS, kernel and threads.

    Attributes:
        library: the BLAS file that is mapped; None where no shared BLAS was found.
        kernel: the kernel that the library chose; "" where it does not tell.
        threads: threads of a BLAS call; None where the library does not tell.
    """

    rank: int
    host: str
    library: Path | None
    version: str
    kernel: str
    threads: int | None


@dataclass(frozen=True)
class RankEnd:
    """A rank's report of its time, when it ends.

    Attributes:
        wall_s: from its begin, by the kernel's clock, which nothing can set or slow.
        cpu_s: user and system time of all its threads.
        mpi_s: how far MPI's clock went from the first call of MPI_Wtime to the last; 0 if none was heard of.
        real_s: between the same calls by the kernel's clock.
    """

    rank: int
    wall_s: float
    cpu_s: float
    mpi_s: float
    real_s: float


@dataclass(frozen=True)
class Panel:
    """A progress line: rank 0 begins the panel at `column` of a matrix of order N, `time_s` after the first panel.

    Attributes:
        stopped: the run was to end at this panel, and all ranks have reached it.
    """

    N: int
    column: int
    time_s: float
    stopped: bool = False

    @property
    def fraction(self) -> float:
        """The part of the operations that are done, from 0 to 1."""
        return fraction_done(self.N, self.column)


def parse_reports(stderr: str) -> tuple[RankReport, ...]:
    """Read the reports of all ranks, in the order of ranks; damaged lines are skipped."""
    reports = [
        RankReport(
            rank=int(report["rank"]),
            host=str(report["host"]),
            library=Path(report["library"]) if report["library"] else None,
            version=str(report["version"]),
            kernel=str(report["kernel"]),
            threads=int(report["threads"]) if report["threads"] > 0 else None,
        )
        for report in _objects(stderr, RANK, ("rank", "host", "library", "version", "kernel", "threads"))
    ]
    return tuple(sorted(reports, key=lambda report: report.rank))


def parse_ends(stderr: str) -> tuple[RankEnd, ...]:
    """Read what ranks said when they ended; damaged lines are skipped."""
    names = ("wall_s", "cpu_s", "mpi_s", "real_s")
    return tuple(
        RankEnd(int(report["rank"]), *(float(report[name]) for name in names))
        for report in _objects(stderr, END, ("rank", *names))
    )


def parse_panels(stderr: str) -> tuple[Panel, ...]:
    """Read the progress lines in the order they were printed; damaged lines are skipped."""
    return tuple(
        Panel(
            int(report["N"]), int(report["column"]), float(report["time_s"]), stopped=bool(report.get("stopped", False))
        )
        for report in _objects(stderr, PANEL, ("N", "column", "time_s"))
    )


def of_run(stderr: str, index: int) -> str:
    """Return the standard error of one run in a launch of several: all lines but the other runs' progress.

    Args:
        index: number of the run in the launch, from 0; each run begins with its panel at column 0.
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
        _, marker, rest = line.partition(head)
        if not marker:
            continue
        try:
            report = json.loads(rest)
        except ValueError:
            continue
        if isinstance(report, dict) and all(name in report for name in names):
            yield report
