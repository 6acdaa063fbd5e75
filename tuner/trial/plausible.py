"""Whether a run can have been as HPL says: its rate, its time and the CPU time of its ranks against what is known."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations

from hpl.output import CLOCKS_APART, HplResult
from hpl.sizing import flop_count
from hpl.witness import WHOLE, RankEnd, SolveConditions, parse_conditions, parse_ends, parse_panels
from runners.base import ProcessUse

from ..units import gibibytes

DOUBTFUL = 1.3
"""Times what dgemm does on all cores, or Rpeak where that is more, that a rate may be: dgemm is timed on one core in a
moment, and a clock may rise later. HPL itself is slower than its dgemm."""
OFF = 0.01
"""Part by which two clocks that count the same seconds may differ; they differ by far less."""
OFF_S = 0.02
"""Seconds by which they may besides: HPL rounds to 0.01 s, and a rank may lose its core between two readings."""
LONG_ENOUGH_S = 0.2
"""Time over which two clocks are held against each other: shorter ones depend on when they were read."""
MOST_CALLS = 64
"""First and last calls of MPI's clock that a rank tells (`MOST_CALLS` of hpl/native/witness.c)."""
MOST_ENDS = 16
"""Ranks whose calls are looked at."""
MOST_BLOCKS = 4096
"""Blocks of a side of the matrix up to which the share of a rank is counted: it grows a little with them."""
COUNT_BYTES = 64 * 2**20
"""Memory of a process that the kernel may leave out: it counts pages for each CPU, some at a time. Besides, a matrix
that is so small says little: libraries and MPI take as much."""
IN_MEMORY = 0.95
"""Part of its matrix that a rank must have had in memory at once. It writes all of it before the solve; what swaps more
than this has no rate worth telling."""
START_S = 30.0
"""Seconds of a launch that its start, the generation of the matrix and the check may take, and as long as the solve."""
ACCELERATOR = "if an accelerator computed, state its peak with ⟦rpeak⟧"
UNCHECKED = (
    "HPL's time cannot be checked: a launch took more than twice as long as HPL says of its runs, and the program "
    "prints no time stamps and does not let its clock be watched; unless its start took the rest, its clock is slow"
)
UNSEEN = (
    "Nothing of what this program computed was seen: its ranks told neither their BLAS nor when they began to solve, "
    "as those of a statically linked program do not; the rate is what the program says"
)
ROUNDING_S = 0.05
"""HPL prints a time to 0.01 s, and a launch is seen to end a moment after it did."""


@dataclass(frozen=True)
class MachineLimits:
    """What the cores that a run had can do.

    Attributes:
        ceiling_gflops: of all of them together; 0 where it is not known.
        core_gflops: of one; 0 where it is not known, or where something else than cores may compute.
        dgemm: whether dgemm was timed; else they are from Rpeak.
        alone: whether only cores compute; else an accelerator may, whose peak the user stated.
    """

    ceiling_gflops: float
    core_gflops: float
    dgemm: bool
    alone: bool = True


def unknown_limits(_plan: object, *, exactly: bool) -> MachineLimits:
    """What a machine can do of which nobody knows that, as one that is simulated."""
    del exactly
    return MachineLimits(0.0, 0.0, dgemm=False)


@dataclass(frozen=True)
class MeasuredLaunch:
    """What was measured of a launch, apart from what its program printed.

    Attributes:
        launch_s: seconds from the launch to its end, by our own clock.
        ranks: that it had.
        ends: what all its ranks said at their end; none where one did not.
        used: what its processes used; None where that is not known.
        solves: what ranks told of each solve, by its number; `WHOLE` of a program that does not tell its solves apart.
        sizes: each N that rank 0 told while it solved; none of a program that tells no progress.
    """

    launch_s: float
    ranks: int = 1
    ends: Sequence[RankEnd] = ()
    used: ProcessUse | None = None
    solves: Mapping[int, SolveConditions] = field(default_factory=dict)
    sizes: Collection[int] = ()

    @classmethod
    def of(cls, launch_s: float, ranks: int, stderr: str, used: ProcessUse | None) -> "MeasuredLaunch":
        """What is known after a launch from what its ranks said."""
        ends = parse_ends(stderr)
        all_ended = {end.rank for end in ends} == set(range(ranks))
        sizes = {panel.N for panel in parse_panels(stderr)}
        return cls(launch_s, ranks, ends if all_ended else (), used, parse_conditions(stderr), sizes)


def implausible(results: Sequence[HplResult], measured: MeasuredLaunch, limits: MachineLimits) -> list[str]:
    """Say of each run of a launch why it cannot have been as HPL says; "" where nothing speaks against it.

    Args:
        results: those of the launch; all its ranks computed each of them.
    """
    shared = _of_times(results, measured) or _of_work(results, measured, limits)
    return [
        too_fast(result, limits) or shared or _of_solve(result, number, measured, limits)
        for number, result in enumerate(results)
    ]


def unchecked(results: Sequence[HplResult], measured: MeasuredLaunch) -> bool:
    """Tell whether a launch took far longer than HPL says, where nothing else tells whether its clock is right."""
    if any(end.real_s >= LONG_ENOUGH_S for end in measured.ends) or all(result.stamps for result in results):
        return False
    return measured.launch_s > 2 * sum(result.time_s for result in results) + START_S


def too_fast(result: HplResult, limits: MachineLimits) -> str:
    """Say that a rate is above what a machine can do; "" where it is not, or where nobody knows that."""
    if not 0 < DOUBTFUL * limits.ceiling_gflops < result.gflops:
        return ""
    times = result.gflops / limits.ceiling_gflops
    most = f"{'what dgemm does on all cores' if limits.dgemm else 'Rpeak'} ({limits.ceiling_gflops:.4g} GFLOPS)"
    return (
        f"{result.gflops:.4g} GFLOPS are {times:.3g} times {most}: this program did not compute in double precision, "
        f"or its clock is wrong; {ACCELERATOR}"
    )


def _of_solve(result: HplResult, number: int, measured: MeasuredLaunch, limits: MachineLimits) -> str:
    """Hold a run against what its ranks told of its solve."""
    if measured.sizes and result.N not in measured.sizes:
        return f"HPL says that it solved for N={result.N}, and its ranks solved for N={max(measured.sizes)}"
    told = measured.solves.get(number, SolveConditions())
    solve_s = max((rank.end_s - rank.begin_s for rank in told.ranks), default=result.time_s)
    if _differ(result.time_s, solve_s):
        return f"HPL says that it took {result.time_s:.2f} s, and its ranks solved for {solve_s:.2f} s"
    cpu_s = {rank.rank: rank.figures.get("cpu_s", math.inf) for rank in told.ranks}
    return _too_little([result], cpu_s, measured.ranks, limits)


def _of_times(results: Sequence[HplResult], measured: MeasuredLaunch) -> str:
    told_s = sum(result.time_s for result in results)
    if told_s > measured.launch_s + ROUNDING_S * len(results):
        return f"HPL says that it took {told_s:.2f} s, but its whole launch was over after {measured.launch_s:.2f} s"
    for end in measured.ends:
        if end.real_s >= LONG_ENOUGH_S and _differ(end.mpi_s, end.real_s):
            return (
                f"MPI's clock went {end.mpi_s:.2f} s on rank {end.rank} while {end.real_s:.2f} s passed: "
                "HPL's time and rate are wrong"
            )
    oldest = datetime.now(UTC).replace(tzinfo=None) - CLOCKS_APART - timedelta(seconds=measured.launch_s)
    for result in results:
        if result.stamps and result.stamps.start < oldest:
            return (
                f"its time stamp, {result.stamps.start}, is of a day before its launch: either this program "
                "printed an earlier run, or the clock of its node is wrong"
            )
    return _of_calls(results, measured)


def _of_calls(results: Sequence[HplResult], measured: MeasuredLaunch) -> str:
    """Hold HPL's times against the calls of MPI's clock by which they were measured.

    A program that is not ours may call it more often than at the begin and the end of a solve. Where it calls it so
    often that not all calls are known, a time need not be among what is known.
    """
    ends = [end for end in measured.ends if end.calls > 1]
    if not ends or WHOLE not in measured.solves or any(end.calls > 2 * MOST_CALLS for end in ends):
        return ""
    read_s = [later_s - one_s for end in ends[:MOST_ENDS] for one_s, later_s in combinations(end.calls_s, 2)]
    for result in results:
        if all(_differ(result.time_s, one_s) for one_s in read_s):
            return (
                f"HPL says that it took {result.time_s:.2f} s, and no two readings of MPI's clock are so far apart: "
                f"it was read for {max(read_s):.2f} s"
            )
    return ""


def _of_work(results: Sequence[HplResult], measured: MeasuredLaunch, limits: MachineLimits) -> str:
    """Hold the operations and the memory of all runs against what the processes used."""
    told_s, used = {end.rank: end.cpu_s for end in measured.ends}, measured.used
    if used is None:
        return _too_little(results, told_s, measured.ranks, limits)
    all_s = max(used.cpu_s, sum(used.rank_cpu_s.values()))
    later_s = all_s - sum(used.rank_cpu_s.values())
    most_s = {rank: used.rank_cpu_s.get(rank, 0.0) + later_s for rank in range(measured.ranks)}
    return (
        _too_little(results, told_s, measured.ranks, limits)
        or _too_little(results, most_s, measured.ranks, limits, all_s)
        or _too_small(max(result.N for result in results), used.largest_bytes, measured.ranks, limits)
    )


def _differ(one_s: float, other_s: float) -> bool:
    """Whether two measurements of the same time differ by more than both may be wrong."""
    return abs(one_s - other_s) > OFF * max(one_s, other_s) + OFF_S


def _too_little(
    results: Sequence[HplResult],
    cpu_s: Mapping[int, float],
    ranks: int,
    limits: MachineLimits,
    all_s: float = math.inf,
) -> str:
    """Hold the operations of runs, and the share of each rank, against CPU time: however a rank waits, it takes none.

    Args:
        cpu_s: that each rank used at most; nothing follows unless all told it.
        all_s: that all of them used together.
    """
    a_second = DOUBTFUL * limits.core_gflops * 1e9
    if a_second <= 0 or len(cpu_s) < ranks:
        return ""
    operations, together_s = sum(flop_count(result.N) for result in results), min(all_s, sum(cpu_s.values()))
    if a_second * together_s < operations:
        return (
            f"its ranks used {together_s:.2f} s of CPU time, in which they can do {a_second * together_s / 1e9:.4g} of "
            f"the {operations / 1e9:.4g} billion operations: this program did not compute; {ACCELERATOR}"
        )
    least, share_s = min(cpu_s, key=lambda rank: cpu_s[rank]), sum(_share(one, ranks) for one in results) / a_second
    if not limits.alone or cpu_s[least] >= share_s:
        return ""
    return (
        f"rank {least} used {cpu_s[least]:.2f} s of CPU time, and its part of the operations takes {share_s:.2f} s: "
        f"this program did not compute on all its ranks; {ACCELERATOR}"
    )


def _share(result: HplResult, ranks: int) -> float:
    """Return the operations of the rank that has fewest, of the block-cyclic distribution; 0 of one without a block.

    It updates floor(m / P) times floor(m / Q) of the m times m blocks that are left after a panel.
    """
    blocks = min(MOST_BLOCKS, math.ceil(result.N / max(1, result.NB)))
    every = sum(left * left for left in range(blocks))
    if ranks != result.P * result.Q or not every:
        return 0.0
    return flop_count(result.N) * sum((left // result.P) * (left // result.Q) for left in range(blocks)) / every


def _too_small(N: int, largest_bytes: int, ranks: int, limits: MachineLimits) -> str:
    part_bytes = 8 * N * N / ranks
    known = limits.core_gflops > 0 and limits.alone and largest_bytes
    if not known or largest_bytes >= IN_MEMORY * part_bytes - COUNT_BYTES:
        return ""
    return (
        f"none of its processes had more than {gibibytes(largest_bytes)} of memory, and a rank's part of the matrix "
        f"takes {gibibytes(int(part_bytes))}: this program did not solve for N={N}"
    )
