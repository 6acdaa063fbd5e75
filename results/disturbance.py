"""Whether something else took the machine from a run of HPL, and how much that may have cost it.

A measured rate tells nothing of what the machine did meanwhile. What observers of a run measured
(`TrialRecord.measurements`) tells it: what the ranks got, and what others took. From that follows a verdict, as a pure
function.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

MOST_TAKEN = 0.03
"""Part of a node, or of the time that ranks want, which others may take before a run is disturbed.

So is the time of the rank that waits most, because all ranks wait for it at each panel. A quiet Linux takes well below
1 %."""
UNSURE_S = 0.02
"""Seconds by which the CPU time of others may be wrong for each CPU: /proc/stat counts in steps of 10 ms."""
MOST_THROTTLED = 0.01
"""Part of the solve for which a control group may stop ranks: a quota that just suffices stops them for moments."""
PERIOD_S = 0.1
"""Usual period of a quota of CPU time, in which a control group is stopped at most once."""
MOST_SWAPPED = 256
"""Pages of memory, 1 MiB as a rule, that may move to or from swap: some other program may have slept."""
UNKNOWN_GOT = 0.5
"""Part of its time that a run is taken to have got at least, where what happened has no time: swap and heat."""
LEAST_GOT = 0.1
"""Smallest part that is told: of a run that got less its rate says nothing."""
MOSTLY = 0.5
"""Part of what others took from which a program took most of it: programs that begin or end meanwhile have no name."""
LONGEST_NAME = 32
"""Letters of a program's name that are told: Linux keeps 15."""
PROGRAM = "foreign_cpu_s:"
"""Begins the name of the CPU time that one program of others took."""


class Conditions(StrEnum):
    """Whether something else took the machine from a run, by what was measured meanwhile."""

    UNDISTURBED = "undisturbed"
    DISTURBED = "disturbed"
    UNKNOWN = "not known"


class Cause(StrEnum):
    """What disturbed a run, in words that may stand before a number of runs."""

    OTHERS = "other programs took CPU time"
    STEAL = "the hypervisor took CPU time"
    WAITED = "ranks waited for their cores"
    STOPPED = "a rank stood still"
    QUOTA = "a quota of CPU time stopped ranks"
    SWAP = "the machine swapped"
    HEAT = "the CPU throttled itself"


@dataclass(frozen=True)
class Reason:
    """One reason why a run is disturbed.

    Attributes:
        told: with its numbers, as "others took 0.8 of 2 cores for 9 of 12 s, mostly python3".
        program: the program that took most, where that is known; "" else.
    """

    cause: Cause
    told: str
    program: str = ""


@dataclass(frozen=True)
class Disturbance:
    """What disturbed a run.

    Attributes:
        reasons: at least one, what is known best first.
        got: part of its time that the worst rank got at least, as far as that is known, from LEAST_GOT to 1.
    """

    reasons: tuple[Reason, ...]
    got: float

    def __str__(self) -> str:
        """All reasons as half a sentence."""
        return ", and ".join(reason.told for reason in self.reasons)

    @property
    def lost(self) -> float:
        """How much lower its rate may be than without the disturbance, in logarithms, above 0."""
        return -math.log(self.got)

    def most_gflops(self, gflops: float) -> float:
        """Return the rate that the run may have reached without the disturbance, from the one that it had."""
        return gflops / self.got


def judge_run(
    measurements: Mapping[str, float], ranks: int | None, threads: int | None, hosts: int, *, untouched: bool
) -> tuple[Conditions, Disturbance | None]:
    """Judge a run of so many ranks with threads each on some hosts; what is not known is None or 0.

    Args:
        untouched: nothing can have disturbed it.
    """
    if untouched:
        return Conditions.UNDISTURBED, None
    known = ranks is not None and threads is not None
    return judge(measurements, (ranks or 0) * (threads or 0) / max(1, hosts) if known else None)


def judge(
    measurements: Mapping[str, float], threads_per_node: float | None = None
) -> tuple[Conditions, Disturbance | None]:
    """Say whether a run was disturbed, and by what: only of a disturbed one there is something.

    What is surely more than a quiet machine takes disturbed it. It is undisturbed only where all that was measured is
    surely less; between both, and where nothing was measured, it is not known.

    Args:
        measurements: as `TrialRecord.measurements`; what is absent was not measured.
        threads_per_node: of all ranks on a node. Where they are more than its CPUs they wait for each other, which is
            no disturbance. Where they are fewer than its cores others may have the rest, unless ranks wait.
    """
    seen = _Seen(measurements, _positive(measurements.get("solve_s")), threads_per_node)
    if seen.solve_s == 0:
        return Conditions.UNKNOWN, None
    reasons = tuple(filter(None, (seen.others(), seen.steal(), seen.quota(), seen.stopped(), seen.swap(), seen.heat())))
    reasons = reasons or tuple(filter(None, (seen.waited(),)))
    if reasons:
        return Conditions.DISTURBED, Disturbance(reasons, seen.got(reasons))
    return Conditions.UNDISTURBED if seen.surely_quiet() else Conditions.UNKNOWN, None


class _Run(Protocol):
    """What has been judged."""

    @property
    def conditions(self) -> Conditions: ...


Run = TypeVar("Run", bound=_Run)


def counting(runs: Iterable[Run], same: Callable[[Run], Hashable]) -> list[Run]:
    """Return the runs that count, in their order: of those that are the same only undisturbed ones, where one exists.

    Where none is known to be undisturbed all count: one of which nothing is known is not better than a disturbed one.
    """
    every = list(runs)
    quiet = {same(run) for run in every if run.conditions is Conditions.UNDISTURBED}
    return [run for run in every if run.conditions is Conditions.UNDISTURBED or same(run) not in quiet]


@dataclass(frozen=True)
class _Seen:
    """What was measured during the solve of one run."""

    measured: Mapping[str, float]
    solve_s: float
    threads_per_node: float | None

    def others(self) -> Reason | None:
        cores, taken_s = self._cores, self._figure("foreign_cpu_s")
        has_free_cores = self.threads_per_node is not None and self.threads_per_node < self._figure("physical_cores")
        unharmed = "waited_s" in self.measured and self._got(self._unsure_s) >= 1 - MOST_TAKEN
        if not self._is_much(taken_s) or (has_free_cores and unharmed):
            return None
        for_s = min(self._figure("foreign_for_s") or self.solve_s, self.solve_s)
        took = min(taken_s / for_s, cores)
        told = f"others took {took:.2g} of {_cores(cores)} for {for_s:.3g} of {self.solve_s:.3g} s"
        programs = {name: self._figure(name) for name in self.measured if name.startswith(PROGRAM)}
        first = max(programs, key=lambda name: programs[name], default="")
        most = _plain(first.removeprefix(PROGRAM)) if programs.get(first, 0.0) >= MOSTLY * taken_s else ""
        return Reason(Cause.OTHERS, told + (f", mostly {most}" if most else ""), most)

    def steal(self) -> Reason | None:
        cores, taken_s = self._cores, self._figure("steal_s")
        if not self._is_much(taken_s):
            return None
        took = min(taken_s / self.solve_s, cores)
        return Reason(Cause.STEAL, f"the hypervisor took {took:.2g} of {_cores(cores)}")

    def quota(self) -> Reason | None:
        stopped_s, periods = self._figure("throttled_s"), self._figure("throttled_periods")
        if "throttled_s" not in self.measured:
            stopped_s = periods * PERIOD_S
        if stopped_s <= MOST_THROTTLED * self.solve_s:
            return None
        times = f" in {periods:.0f} periods" if periods else ""
        stopped = f"{stopped_s:.2g} s of CPU time" if "throttled_s" in self.measured else "its ranks"
        return Reason(Cause.QUOTA, f"a quota of CPU time stopped {stopped}{times}")

    def swap(self) -> Reason | None:
        pages = self._figure("swap_pages")
        return Reason(Cause.SWAP, f"{pages:.0f} pages of memory were swapped") if pages > MOST_SWAPPED else None

    def heat(self) -> Reason | None:
        events = self._figure("throttle_events")
        if events <= 0:
            return None
        highest_c = self._figure("temperature_c")
        hot = f" at {highest_c:.0f} °C" if highest_c else ""
        return Reason(Cause.HEAT, f"the CPU throttled itself {events:.0f} times{hot}")

    def waited(self) -> Reason | None:
        """Say what ranks waited, where no other reason is known."""
        got = self._got(self._unsure_s)
        who, their = ("a rank", "its") if "most_waited" in self.measured else ("its ranks", "their")
        return Reason(Cause.WAITED, f"{who} got {_percent(got)} of {their} time") if got < 1 - MOST_TAKEN else None

    def stopped(self) -> Reason | None:
        """Say how long a rank stood still, where the others did not: these wait for it by asking again and again."""
        if not self._is_still("still_s") or self._is_still("least_still_s"):
            return None
        still_s = self._figure("still_s")
        return Reason(Cause.STOPPED, f"a rank stood still for {still_s:.2g} of {self.solve_s:.3g} s")

    def surely_quiet(self) -> bool:
        """Whether it is sure that others took no more than they may.

        What ranks got and waited for is known to the nanosecond, however short the solve was. What others took is
        counted in steps, which is enough only for a long one.
        """
        if self._is_still("still_s"):
            return False
        if self._figure("cpu_s") > 0 and "waited_s" in self.measured and not self._share_cores:
            return self._got(-self._unsure_s) >= 1 - MOST_TAKEN
        counted = self._cores > 0 and "foreign_cpu_s" in self.measured
        return counted and self._figure("foreign_cpu_s") + self._unsure_s <= MOST_TAKEN * self._cores * self.solve_s

    def got(self, reasons: tuple[Reason, ...]) -> float:
        """Return the part of its time that the worst rank got at least."""
        quota = self._figure("throttled_s") if any(one.cause is Cause.QUOTA for one in reasons) else 0.0
        lost = sum(map(self._worst, (self._waited_s(), self._figure("steal_s"), quota)))
        if any(one.cause is Cause.OTHERS for one in reasons):
            lost = max(lost, self._figure("foreign_cpu_s") / (self._cores * self.solve_s))
        if any(one.cause is Cause.STOPPED for one in reasons):
            lost = max(lost, self._figure("still_s") / self.solve_s)
        if any(one.cause in {Cause.SWAP, Cause.HEAT} for one in reasons):
            lost = max(lost, 1 - UNKNOWN_GOT)
        return min(1.0, max(LEAST_GOT, 1.0 - lost))

    def _worst(self, lost_s: float) -> float:
        """Return the part of its time that one core lost, where as few cores as possible lost all of it.

        A thread that shares its core with k others gets 1 / (k + 1) of it, so that no core loses all of its time: what
        was lost is of more cores than it would fill.
        """
        full = lost_s / self.solve_s
        return full / (math.floor(full) + 1)

    def _waited_s(self, unsure_s: float = 0.0) -> float:
        """Return the time that ranks waited for others: not more than these took, as far as that is known.

        Args:
            unsure_s: what others took may be so much less than was counted.
        """
        waited_s, taken_s = self._figure("waited_s"), max(0.0, self._figure("foreign_cpu_s") - unsure_s)
        if self._share_cores:
            waited_s = 0.0
        return min(waited_s, taken_s) if "foreign_cpu_s" in self.measured else waited_s

    def _got(self, unsure_s: float) -> float:
        """Return the part of the time that ranks wanted which they got, or the one that waited most.

        It is 1 where that is not known.

        Args:
            unsure_s: the counts of what others took may be so much too high.
        """
        cpu_s, waited_s = self._figure("cpu_s"), self._waited_s(unsure_s)
        lost_s = waited_s + max(0.0, self._figure("steal_s") - max(0.0, unsure_s))
        every = cpu_s / (cpu_s + lost_s) if cpu_s > 0 else 1.0
        by_others = waited_s / self._figure("waited_s") if waited_s > 0 else 0.0
        return min(every, 1 - min(1.0, self._figure("most_waited")) * by_others)

    def _is_much(self, taken_s: float) -> bool:
        """Return whether that is surely more than others may take of the CPUs that ranks use."""
        return self._cores > 0 and taken_s - self._unsure_s > MOST_TAKEN * self._cores * self.solve_s

    def _is_still(self, name: str) -> bool:
        """Return whether a rank stood still for more than others may take of its time."""
        return self._figure(name) - UNSURE_S > MOST_TAKEN * self.solve_s

    @property
    def _share_cores(self) -> bool:
        """Whether threads of the run wait for each other, because they are more than the CPUs."""
        return self.threads_per_node is not None and 0 < self._cores < self.threads_per_node

    @property
    def _unsure_s(self) -> float:
        """CPU time by which a count of that of all CPUs may be wrong."""
        return UNSURE_S * self._cores

    @property
    def _cores(self) -> float:
        return self._figure("cores")

    def _figure(self, name: str) -> float:
        return _positive(self.measured.get(name))


def _positive(value: object) -> float:
    """Return a figure that was read from a file or database; 0 for what is none, and for what no machine has."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 1e-12 <= value <= 1e15 else 0.0


def _plain(name: str) -> str:
    """Return the name of a program without what no terminal should get."""
    return "".join(letter for letter in name if letter.isascii() and letter.isprintable())[:LONGEST_NAME]


def _percent(part: float) -> str:
    """Write a part, near the limit with a digit more, and never more than it is."""
    percent = 100 * part
    return f"{math.floor(10 * percent) / 10:.1f} %" if percent >= 90 else f"{math.floor(percent):.0f} %"


def _cores(count: float) -> str:
    return f"{count:.0f} core{'' if count == 1 else 's'}"
