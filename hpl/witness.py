"""Reads the lines that the sources in `native/` print on standard error: of ranks, of progress, of each solve."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .sizing import fraction_done

RANK = "hpltune-rank "
SAW = "hpltune-saw "
MOVES = "hpltune-moves "
END = "hpltune-end "
PANEL = "hpltune-panel "
SOLVE = "hpltune-solve "
NODE = "hpltune-node "
SAMPLES = "hpltune-samples "
POWER = "hpltune-power "
"""Begins a line that no rank tells, but who reads a meter of the nodes."""
UNLIKE = "hpltune-unlike "
"""Begins a line of who started the ranks: what reached them otherwise than planned."""

WHOLE = -1
"""Number of a solve that is all that a process did from its first call of MPI_Wtime to its last."""
MOST_NUMBER = 1e18
"""Above all that is told: 10 EB, or 30 thousand million years."""
MOST_SAMPLES = 4096
"""Of one file of one node during one solve; a node keeps 240."""
MOST_TEXT = 512
"""Characters of a name of a host, program or file."""

RANK_FIGURES = (
    "cpu_s",
    "waited_s",
    "still_s",
    "involuntary_switches",
    "major_faults",
    "huge_page_bytes",
    "of",
)
NODE_FIGURES = (
    "cores",
    "physical_cores",
    "ranks",
    "ranks_cpu_s",
    "busy_s",
    "steal_s",
    "throttled_s",
    "throttled_periods",
    "swap_pages",
    "numa_misses",
    "nic_errors",
    "tcp_retransmits",
)


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
class RankSight:
    """What reached a rank.

    Attributes:
        cpus: numbers of the CPUs on which it may run; empty where the kernel does not tell.
        variables: of threads and transports, by name; of one that is longer than a witness tells, the beginning.
    """

    rank: int
    host: str
    cpus: frozenset[int]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class RankEnd:
    """A rank's report of its time, when it ends.

    Attributes:
        wall_s: from its begin, by the kernel's clock, which nothing can set or slow.
        cpu_s: user and system time of all its threads.
        mpi_s: how far MPI's clock went from the first call of MPI_Wtime to the last; 0 if none was heard of.
        real_s: between the same calls by the kernel's clock.
        calls: of MPI_Wtime.
        calls_s: when the first and the last of them were, in seconds since the first one, by the kernel's clock.
    """

    rank: int
    wall_s: float
    cpu_s: float
    mpi_s: float
    real_s: float
    calls: int = 0
    calls_s: tuple[float, ...] = ()


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


@dataclass(frozen=True)
class RankSolve:
    """What one rank got during one solve.

    Attributes:
        begin_s, end_s: of the solve, by the clock of its node that counts since it was booted.
        figures: those of `RANK_FIGURES` that could be had; `of` is the number of ranks that solve together.
    """

    rank: int
    host: str
    begin_s: float
    end_s: float
    figures: Mapping[str, float]


@dataclass(frozen=True)
class NodeSolve:
    """What one node did during one solve.

    Attributes:
        begin_s, end_s: as of a rank.
        figures: those of `NODE_FIGURES` that could be had; `ranks_cpu_s` is the CPU time of its `ranks` ranks. `cores`
            are the logical CPUs on which these may run, with the others of the same `physical_cores`; all of the node
            where that is not known, and then without `physical_cores`. Busy and stolen time is that of these CPUs.
        programs: CPU time in seconds of other programs, by name; only of those that took most.
    """

    host: str
    begin_s: float
    end_s: float
    figures: Mapping[str, float]
    programs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeSeries:
    """What one file of one node told during one solve.

    Attributes:
        name: its path; or "busy_s", "steal_s" or "ranks_cpu_s", which count CPU seconds of the node: of `cores` since
            the solve began, and of its ranks.
        times_s: rising, in seconds since the solve began.
        values: one of each time, as the file has it: without a unit of ours.
    """

    host: str
    name: str
    times_s: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True)
class SolveConditions:
    """All that is told of one solve; each rank, node and file once."""

    ranks: Sequence[RankSolve] = ()
    nodes: Sequence[NodeSolve] = ()
    series: Sequence[NodeSeries] = ()


@dataclass(frozen=True)
class PowerSeries:
    """The power of all nodes during one solve, as one source told it.

    Attributes:
        solve: its number in the launch, from 0.
        times_s: rising, in seconds since the first panel was heard of.
        watts: one of each time.
    """

    solve: int
    source: str
    times_s: Sequence[float]
    watts: Sequence[float]

    def line(self) -> str:
        """Write it as a line that `parse_power` reads."""
        values = {
            "solve": self.solve,
            "source": self.source,
            "times_s": [round(time_s, 2) for time_s in self.times_s],
            "watts": [round(watts, 2) for watts in self.watts],
        }
        return f"{POWER}{json.dumps(values)}\n"


def parse_reports(stderr: str) -> tuple[RankReport, ...]:
    """Read the reports of all ranks, in the order of ranks; damaged lines are skipped."""
    found = map(_report, _objects(stderr, RANK, ("rank", "host", "library", "version", "kernel", "threads")))
    return tuple(sorted((report for report in found if report is not None), key=lambda report: report.rank))


def parse_sights(stderr: str) -> tuple[RankSight, ...]:
    """Read what reached each rank, in the order of ranks; damaged lines are skipped, further lines of a rank added."""
    found: dict[int, RankSight] = {}
    for told in _objects(stderr, SAW, ("rank", "host", "cpus", "variables")):
        number, host, variables = _number(told["rank"]), _text(told["host"]), told["variables"]
        if number is None or not host or not isinstance(variables, dict):
            continue
        new = {name: _text(value) for name, value in variables.items() if _text(name) == name}
        before = found.get(int(number))
        known = before.variables if before else {}
        found[int(number)] = RankSight(int(number), host, _cpus(told["cpus"]), {**new, **known})
    return tuple(sight for _, sight in sorted(found.items()))


def parse_transports(stderr: str) -> tuple[str, ...]:
    """Read which libraries that carry messages rank 0 had loaded when its first solve began, as "mca_btl_tcp"."""
    for told in _objects(stderr, MOVES, ("rank", "parts")):
        return tuple(dict.fromkeys(_text(told["parts"]).split()))
    return ()


def parse_unlike(stderr: str) -> tuple[str, ...]:
    """Read the sentences on what reached ranks otherwise than planned; none where all did, or nobody held it."""
    for told in _objects(stderr, UNLIKE, ("sentences",)):
        said = told["sentences"]
        return tuple(map(_text, said)) if isinstance(said, list) else ()
    return ()


def _cpus(told: object) -> frozenset[int]:
    """Read a list of CPUs as the kernel writes it, "0-3,8"; empty where it is none, or has numbers no CPU has."""
    spans = [part.partition("-") for part in _text(told).split(",")]
    if not all(
        re.fullmatch("[0-9]{1,5}", end) for first, dash, last in spans for end in ((first, last) if dash else (first,))
    ):
        return frozenset()
    return frozenset(cpu for first, _, last in spans for cpu in range(int(first), int(last or first) + 1))


def parse_ends(stderr: str) -> tuple[RankEnd, ...]:
    """Read what ranks said when they ended; damaged lines are skipped."""
    names = ("wall_s", "cpu_s", "mpi_s", "real_s")
    found = []
    for report in _objects(stderr, END, ("rank", *names)):
        rank, *figures = (_number(report[name], least=-MOST_NUMBER) for name in ("rank", *names))
        known = [figure for figure in figures if figure is not None]
        if rank is not None and len(known) == len(names):
            calls, told = _number(report.get("calls")), report.get("calls_s")
            calls_s = tuple(map(_number, told)) if isinstance(told, list) else ()
            wall_s, cpu_s, mpi_s, real_s = known
            read_s = tuple(one for one in calls_s if one is not None)
            found.append(RankEnd(int(rank), wall_s, cpu_s, mpi_s, real_s, int(calls or 0), read_s))
    return tuple(found)


def parse_panels(stderr: str) -> tuple[Panel, ...]:
    """Read the progress lines in the order they were printed; damaged lines are skipped."""
    names = ("N", "column", "time_s")
    found = []
    for report in _objects(stderr, PANEL, names):
        N, column, time_s = (_number(report[name]) for name in names)
        if N is not None and column is not None and time_s is not None:
            found.append(Panel(int(N), int(column), time_s, stopped=bool(report.get("stopped", False))))
    return tuple(found)


def parse_conditions(stderr: str) -> Mapping[int, SolveConditions]:
    """Read what was told of each solve of a launch, by its number from 0; damaged lines are skipped.

    A program that is not ours tells of one solve, `WHOLE`.
    """
    ranks: dict[int, dict[int, RankSolve]] = {}
    nodes: dict[int, dict[str, NodeSolve]] = {}
    for number, told in _told(stderr, SOLVE, ("rank",)):
        rank = _rank(told)
        if rank is not None:
            ranks.setdefault(number, {}).setdefault(rank.rank, rank)
    for number, told in _told(stderr, NODE, ()):
        node = _node(told)
        if node is not None:
            nodes.setdefault(number, {}).setdefault(node.host, node)
    series = _series(stderr)
    return {
        number: SolveConditions(
            [of_rank for _, of_rank in sorted(ranks.get(number, {}).items())],
            [of_host for _, of_host in sorted(nodes.get(number, {}).items())],
            _since_begin(series.get(number, {}), nodes.get(number, {})),
        )
        for number in sorted({*ranks, *nodes})
    }


def parse_power(stderr: str) -> tuple[PowerSeries, ...]:
    """Read what sources told of the power, in the order of the lines; damaged lines and samples are skipped."""
    found = []
    for told in _objects(stderr, POWER, ("solve", "source", "times_s", "watts")):
        number, source, times, watts = (told[name] for name in ("solve", "source", "times_s", "watts"))
        if not isinstance(number, int) or not isinstance(times, list) or not isinstance(watts, list):
            continue
        read: dict[float, float] = {}
        for time, power in zip(times[:MOST_SAMPLES], watts, strict=False):
            time_s, power_w = _number(time), _number(power)
            if time_s is not None and power_w is not None:
                read[time_s] = power_w
        if _text(source) and read:
            times_s = tuple(sorted(read))
            found.append(PowerSeries(number, _text(source), times_s, tuple(read[time_s] for time_s in times_s)))
    return tuple(found)


def of_run(stderr: str, index: int) -> str:
    """Return the standard error of one run in a launch of several: all lines but those of the other runs alone.

    Args:
        index: number of the run in the launch, from 0; each run begins with its panel at column 0.
    """
    run, kept = -1, []
    for line in stderr.splitlines(keepends=True):
        panels = parse_panels(line)
        run += any(panel.column == 0 for panel in panels)
        solves = {number for head in (SOLVE, NODE, SAMPLES) for number, _ in _told(line, head, ())}
        solves |= {power.solve for power in parse_power(line)}
        if (not panels or run == index) and not solves - {index, WHOLE}:
            kept.append(line)
    return "".join(kept)


def _objects(text: str, head: str, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that follow `head` on lines of a text, if they have these names; others are skipped."""
    for line in text.splitlines():
        _, marker, rest = line.partition(head)
        if not marker:
            continue
        try:
            report = json.loads(rest)
        except (ValueError, RecursionError):
            continue
        if isinstance(report, dict) and all(name in report for name in names):
            yield report


def _told(stderr: str, head: str, names: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    for told in _objects(stderr, head, ("host", "solve", *names)):
        number, host = told["solve"], _text(told["host"])
        if isinstance(number, int) and number >= WHOLE and host:
            yield number, {**told, "host": host}


def _report(told: dict[str, Any]) -> RankReport | None:
    rank, library = _number(told["rank"]), told["library"]
    threads = _number(told["threads"], least=-MOST_NUMBER)
    if rank is None or threads is None or not isinstance(library, str | None):
        return None
    return RankReport(
        rank=int(rank),
        host=str(told["host"]),
        library=Path(library) if library else None,
        version=str(told["version"]),
        kernel=str(told["kernel"]),
        threads=int(threads) if threads >= 1 else None,
    )


def _rank(told: dict[str, Any]) -> RankSolve | None:
    begin_s, end_s, rank = _number(told.get("begin_s")), _number(told.get("end_s")), told["rank"]
    if begin_s is None or end_s is None or end_s <= begin_s or not isinstance(rank, int) or rank < 0:
        return None
    return RankSolve(rank, told["host"], begin_s, end_s, _figures(told, RANK_FIGURES))


def _node(told: dict[str, Any]) -> NodeSolve | None:
    begin_s, end_s = _number(told.get("begin_s")), _number(told.get("end_s"))
    if begin_s is None or end_s is None or end_s <= begin_s:
        return None
    programs: dict[str, float] = {}
    found = told.get("programs")
    for name, used in found.items() if isinstance(found, dict) else ():
        clean, used_s = _text(name).replace(":", "").strip(), _number(used)
        if clean and used_s is not None:
            programs.setdefault(clean, used_s)
    return NodeSolve(told["host"], begin_s, end_s, _figures(told, NODE_FIGURES), programs)


def _series(stderr: str) -> Mapping[int, Mapping[tuple[str, str], dict[float, float]]]:
    """Return the samples of each solve by host and name; lines that go on with the same are put together."""
    found: dict[int, dict[tuple[str, str], dict[float, float]]] = {}
    for number, told in _told(stderr, SAMPLES, ("name", "times_s", "values")):
        name, times, values = _text(told["name"]), told["times_s"], told["values"]
        if not name or not isinstance(times, list) or not isinstance(values, list) or len(times) != len(values):
            continue
        samples = found.setdefault(number, {}).setdefault((told["host"], name), {})
        for time, value in zip(times, values, strict=True):
            time_s, figure = _number(time), _number(value, least=-MOST_NUMBER)
            if time_s is not None and figure is not None and len(samples) < MOST_SAMPLES:
                samples[time_s] = figure
    return found


def _since_begin(
    samples: Mapping[tuple[str, str], Mapping[float, float]], nodes: Mapping[str, NodeSolve]
) -> list[NodeSeries]:
    """Return the samples of the nodes that told when the solve began and ended there, cut to it."""
    series = []
    for (host, name), of_file in sorted(samples.items()):
        node = nodes.get(host)
        times_s = [time_s for time_s in sorted(of_file) if node and node.begin_s <= time_s <= node.end_s]
        if node and times_s:
            since_s = [time_s - node.begin_s for time_s in times_s]
            series.append(NodeSeries(host, name, since_s, [of_file[time_s] for time_s in times_s]))
    return series


def _figures(told: dict[str, Any], names: Sequence[str]) -> dict[str, float]:
    return {name: figure for name in names if (figure := _number(told.get(name))) is not None}


def _number(value: object, least: float = 0.0) -> float | None:
    """Return a number that can be one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if least <= value <= MOST_NUMBER else None


def _text(value: object) -> str:
    """Return a name in printable ASCII; "" where it is none."""
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        return ""
    return "".join(one for one in value if " " <= one <= "~")
