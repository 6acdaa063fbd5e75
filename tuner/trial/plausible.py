"""Whether a run can have been as HPL says: its rate, its time and the CPU time of its ranks against what is known."""

from collections.abc import Sequence
from dataclasses import dataclass

from hpl.output import HplResult
from hpl.sizing import flop_count
from hpl.witness import RankEnd

DOUBTFUL = 1.3
"""Times what dgemm does on all cores, or Rpeak where that is more, that a rate may be: dgemm is timed on one core in a
moment, and a clock may rise later. HPL itself is slower than its dgemm."""
SLOW_CLOCK = 0.9
"""Part of the kernel's time that MPI's clock must have gone; both count seconds, and differ by far less than 1 %."""
LONG_ENOUGH_S = 0.2
"""Time over which two clocks are held against each other: shorter ones depend on when they were read."""
START_S = 30.0
"""Seconds of a launch that its start, the generation of the matrix and the check may take, and as long as the solve."""
UNCHECKED = (
    "HPL's time cannot be checked: a launch took more than twice as long as HPL says of its runs, and the program "
    "prints no time stamps and does not let its clock be watched; unless its start took the rest, its clock is slow"
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
    """

    ceiling_gflops: float
    core_gflops: float
    dgemm: bool


def too_fast(result: HplResult, limits: MachineLimits) -> bool:
    """Tell whether a rate is above what its cores can do."""
    return 0 < DOUBTFUL * limits.ceiling_gflops < result.gflops


def implausible(
    results: Sequence[HplResult], ends: Sequence[RankEnd], launch_s: float, limits: MachineLimits
) -> list[str]:
    """Say of each run of a launch why it cannot have been as HPL says; "" where nothing speaks against it.

    Args:
        results: those of the launch; all its ranks computed each of them.
        ends: what all its ranks said at their end; none where one did not.
        launch_s: seconds from the launch to its end, by our own clock.
    """
    shared = _of_launch(results, ends, launch_s, limits)
    return [_too_fast(result, limits) or shared for result in results]


def unchecked(results: Sequence[HplResult], ends: Sequence[RankEnd], launch_s: float) -> bool:
    """Tell whether a launch took far longer than HPL says, where nothing else tells whether its clock is right.

    Args:
        results: those of the launch.
        ends, launch_s: as above.
    """
    if any(end.real_s >= LONG_ENOUGH_S for end in ends) or all(result.stamps for result in results):
        return False
    return launch_s > 2 * sum(result.time_s for result in results) + START_S


def _too_fast(result: HplResult, limits: MachineLimits) -> str:
    if not too_fast(result, limits):
        return ""
    times = result.gflops / limits.ceiling_gflops
    most = f"{'what dgemm does on all cores' if limits.dgemm else 'Rpeak'} ({limits.ceiling_gflops:.4g} GFLOPS)"
    return (
        f"{result.gflops:.4g} GFLOPS are {times:.3g} times {most}: this program did not compute, or its clock is "
        "wrong; if an accelerator computed, state its peak with ⟦rpeak⟧"
    )


def _of_launch(results: Sequence[HplResult], ends: Sequence[RankEnd], launch_s: float, limits: MachineLimits) -> str:
    told_s = sum(result.time_s for result in results)
    if told_s > launch_s + ROUNDING_S * len(results):
        return f"HPL says that it took {told_s:.2f} s, but its whole launch was over after {launch_s:.2f} s"
    for end in ends:
        if end.real_s >= LONG_ENOUGH_S and end.mpi_s < SLOW_CLOCK * end.real_s:
            return (
                f"MPI's clock went {end.mpi_s:.2f} s on rank {end.rank} while {end.real_s:.2f} s passed: "
                "HPL's time and rate are wrong"
            )
    cpu_s = sum(end.cpu_s for end in ends)
    operations = sum(flop_count(result.N) for result in results)
    most = DOUBTFUL * limits.core_gflops * 1e9 * cpu_s
    if ends and 0 < most < operations:
        return (
            f"its ranks used {cpu_s:.2f} s of CPU time, in which they can do {most / 1e9:.4g} of the "
            f"{operations / 1e9:.4g} billion operations: this program did not compute"
        )
    return ""
