"""The runs of a scaling analysis: numbers of nodes, sizes, orders and repeats, and making one run after another."""

import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hpl.params import Scalar
from hpl.sizing import flop_count
from results.record import TrialRecord

from ..engines.outcomes import FULL
from ..errors import UsageError
from ..events import Notice, TrialEnded
from ..machine.problem_size import SMALLEST_N, textbook
from ..study.file_run import key_of
from ..study.search.search_limits import limit_s
from ..trial.ask_and_tell import ListedPoint, ask_and_tell, start_point
from ..trial.evaluate import memory_shortage
from ..trial.judge import Failure
from ..trial.launch import LaunchLimits, LaunchOutcome
from ..trial.launching import Launching, planned
from ..trial.site import Site
from ..units import duration
from ..words import counted, listed
from .statistics import NodeOrder, Scaling

START_S = 1.5
"""What starting a run takes besides HPL's own time: assumed."""
USUAL_SHARE = 0.6
"""HPL's rate as a part of what dgemm could do, on usual networks: assumed."""


@dataclass(frozen=True)
class PlannedRun:
    """One run.

    Attributes:
        count: nodes, or ranks on one machine.
        nodes: their numbers in the order in which ranks fill them; empty on one machine.
        repeat: from 0.
    """

    count: int
    order: NodeOrder
    repeat: int
    N: int
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True)
class ScalingPlan:
    """The runs of a scaling analysis.

    Attributes:
        counts: numbers of nodes, rising, at least two.
        n: order of the matrix on the smallest number.
        nb: block size; N of more nodes is a multiple of it.
        size: nodes of the cluster; 0 on one machine, where there is no order.
    """

    counts: tuple[int, ...]
    scalings: tuple[Scaling, ...]
    orders: tuple[NodeOrder, ...]
    repeats: int
    seed: int
    n: int
    nb: int
    size: int

    def n_of(self, scaling: Scaling, count: int) -> int:
        """The order of the matrix: the same for strong scaling, and as much memory on each node for weak scaling."""
        if scaling is Scaling.STRONG or count == self.counts[0]:
            return self.n
        return max(self.nb, int(self.n * math.sqrt(count / self.counts[0])) // self.nb * self.nb)

    def scalings_of(self, run: PlannedRun) -> tuple[Scaling, ...]:
        """The kinds of scaling that a run belongs to; both on the smallest number of nodes."""
        return tuple(scaling for scaling in self.scalings if self.n_of(scaling, run.count) == run.N)

    def runs(self, *, exact: bool = False) -> Iterator[PlannedRun]:
        """Yield the runs: the first repeat from the smallest number up, so that what cannot run is seen early.

        Further repeats are in random order, so that a machine that becomes slower does not look like a loss of scale.

        Args:
            exact: a run gives the same each time, so that sorted lists run once.
        """
        for repeat in range(self.repeats):
            own = [
                self._run(count, order, repeat, N)
                for count in self.counts
                for N in dict.fromkeys(self.n_of(scaling, count) for scaling in self.scalings)
                for order in self.orders
                if not (exact and order is NodeOrder.SORTED and repeat)
            ]
            if repeat:
                random.Random(f"{self.seed} {repeat}").shuffle(own)  # noqa: S311 - not for secrets
            yield from own

    def _run(self, count: int, order: NodeOrder, repeat: int, N: int) -> PlannedRun:
        nodes = tuple(range(count)) if self.size else ()
        if order is NodeOrder.SHUFFLED:
            seed = f"{self.seed} {repeat} {count} {N}"
            nodes = tuple(random.Random(seed).sample(range(self.size), count))  # noqa: S311 - not for secrets
        return PlannedRun(count, order, repeat, N, nodes)


def usual_counts(size: int) -> tuple[int, ...]:
    """1, 2, 4, … up to the size, and the size itself."""
    return tuple(dict.fromkeys([*(2**power for power in range(size.bit_length())), size]))


def check_counts(counts: Sequence[int], size: int, noun: str, where: str) -> tuple[int, ...]:
    """Sort numbers of nodes, and refuse what cannot be compared.

    Args:
        noun: what is counted, "node" or "core".
        where: what has so many of them.

    Raises:
        UsageError: there is only one number, or one is larger than the cluster.
    """
    if size < 2:
        raise UsageError(f"{where} has one {noun}: there is nothing that HPL could scale over")
    found = tuple(sorted(set(counts))) or usual_counts(size)
    if found[-1] > size:
        raise UsageError(f"{where} has {size} {noun}s", field="nodes", given=found[-1])
    if len(found) < 2:
        raise UsageError(f"name at least two numbers, for example ⟦nodes⟧ 1,{size}", field="nodes", given=found[0])
    return found


def estimated_s(run: PlannedRun, gflops: float) -> float:
    """Seconds that a run will take, start included.

    Args:
        gflops: what dgemm could do on one node, or one core of a machine.
    """
    return START_S + flop_count(run.N) / (1e9 * USUAL_SHARE * gflops * run.count)


def largest_affordable_n(make: Callable[[int], ScalingPlan], gflops: float, limit_s: float, most: int) -> int:
    """The largest N on the smallest number of nodes with which all runs together take at most so long.

    Args:
        make: the plan with an N on the smallest number.
        gflops: as in `estimated_s`.
        most: what the memory holds.

    Returns:
        A multiple of NB, at least SMALLEST_N where the memory holds that.
    """
    nb = make(SMALLEST_N).nb
    low, high = max(1, min(SMALLEST_N, most) // nb), most // nb + 1
    while high - low > 1:
        middle = (low + high) // 2
        cost_s = sum(estimated_s(run, gflops) for run in make(middle * nb).runs())
        low, high = (middle, high) if cost_s <= limit_s else (low, middle)
    return low * nb


def memory_n(holds: Callable[[int], int], counts: Sequence[int], scalings: Sequence[Scaling], nb: int) -> int:
    """The largest N on the smallest number of nodes with which every run fits the memory.

    Args:
        holds: the largest N that so many nodes hold.
    """
    first = counts[0]
    most = holds(first)
    if Scaling.WEAK in scalings:
        most = min(most, *(int(holds(count) / math.sqrt(count / first)) for count in counts))
    return max(nb, most // nb * nb)


COUNT, ORDER, REPEAT, NODES = "scale.count", "scale.order", "scale.repeat", "scale.nodes"
"""What the records of these runs have beside HPL's parameters."""


def words_of(run: PlannedRun, names: tuple[str, ...]) -> dict[str, Scalar]:
    """What tells a run from others of the same configuration."""
    nodes = {NODES: ",".join(names[number] for number in run.nodes)} if run.nodes else {}
    return {COUNT: run.count, ORDER: str(run.order), REPEAT: run.repeat, **nodes}


@dataclass
class ScalingSite:
    """Where a scaling analysis runs HPL: a machine, or nodes of a real or a virtual cluster.

    Attributes:
        site: all of it.
        own: what all configurations have: BLAS, kernel, NB and what else is not HPL's documented advice.
        on: the site of some nodes, in the order in which ranks fill them.
        threads: of each rank.
        limit_s: seconds after which a run is ended.
        cores: of each node; on one machine, where ranks are counted, of a rank.
        names: the nodes that are left, sorted as the cluster lists them; empty on one machine.
        study, launching: the study, and what runs its trials; they are set when there is one, before the first run.
    """

    site: Site[Any]
    own: Mapping[str, Scalar]
    on: Callable[[tuple[str, ...]], Site[Any]]
    threads: int = 1
    limit_s: float = 86400.0
    cores: int = 1
    names: tuple[str, ...] = ()
    study: str = field(init=False)
    launching: Launching[Any] = field(init=False)

    def params(self, run: PlannedRun) -> dict[str, Scalar]:
        """The configuration of a run, as its record keeps it: HPL's documented advice on the squarest grid."""
        machine, ranks = self.site.machine, run.count * (self.cores // self.threads)
        advice = textbook(N=run.N, NB=1, blas="", kernel="", ranks=ranks, threads=self.threads)
        point = {**advice, **self.own, **words_of(run, self.names)}
        return machine.program.terms.fitted(point) if machine else point

    def _of(self, run: PlannedRun) -> Site[Any]:
        return self.on(tuple(self.names[number] for number in run.nodes)) if run.nodes else self.site

    def why_not(self, run: PlannedRun) -> str | None:
        """Why a run cannot be had here: its matrix does not fit the memory, or a parameter is not legal."""
        site = self._of(run)
        plan = planned(site.plan, self.params(run), FULL, "", 0)
        if isinstance(plan, Failure):
            return plan.reason
        return memory_shortage(plan, site.machine) if site.machine else None

    def begin(self, run: PlannedRun, expected_s: float | None, most_s: float = math.inf) -> int:
        """Begin a run on its nodes, once more after a lost node came back; return the ticket of its outcome.

        Args:
            most_s: after so many seconds it is ended, where that is less than for any run.
        """
        limits = LaunchLimits(limit_s=min(self.limit_s, most_s), expected_s=expected_s)
        params = self.params(run)
        nodes = counted(run.count, "node") if run.nodes else ""
        varied = nodes and nodes + (", shuffled" if run.order is NodeOrder.SHUFFLED else "")
        point = ListedPoint(params=params, key=key_of(params), limits=limits, varied=varied, site=self._of(run))
        return start_point(self.launching, self.study, point)

    def without(self, lost: tuple[str, ...]) -> None:
        """Go on without nodes that are lost."""
        self.names = tuple(name for name in self.names if name not in lost)


@dataclass
class Pace:
    """How long runs take: an estimate, corrected by those that have ended.

    Attributes:
        estimate: seconds that a run should take before anything is known.
    """

    estimate: Callable[[PlannedRun], float]
    estimated_s: float = 0.0
    really_s: float = 0.0
    alike_s: dict[tuple[int, int], float] = field(default_factory=dict)

    def expected_s(self, run: PlannedRun) -> float:
        """Seconds that a run will take: as one on as many nodes took, or by the estimate."""
        known = self.alike_s.get((run.count, run.N))
        ratio = self.really_s / self.estimated_s if self.estimated_s else 1.0
        return known or ratio * self.estimate(run)

    def learn(self, run: PlannedRun, real_s: float) -> None:
        """Take in a run that has ended."""
        self.estimated_s += self.estimate(run)
        self.really_s += real_s
        key = run.count, run.N
        self.alike_s[key] = max(real_s, self.alike_s.get(key, 0.0))


@dataclass
class ScalingRuns:
    """The runs of a plan on a site.

    Attributes:
        earlier: valid records by their key, which are not run again.
        limit_s: seconds after which no run begins that would not end in time.
        records: of all runs that have ended, those of an earlier call too, in the order in which they ended.
        lost: nodes that no longer answer.
        skipped: runs that did not begin, because time was over or too few nodes were left.
        missed: what an event ended, and what did not begin after it.
    """

    plan: ScalingPlan
    site: ScalingSite
    pace: Pace
    earlier: Mapping[str, TrialRecord] = field(default_factory=dict)
    limit_s: float = math.inf
    records: list[TrialRecord] = field(default_factory=list, init=False)
    lost: list[str] = field(default_factory=list, init=False)
    skipped: int = field(default=0, init=False)
    missed: int = field(default=0, init=False)
    _until_s: float = field(default=math.inf, init=False)
    _waiting: deque[PlannedRun] = field(default_factory=deque, init=False)
    _under_way: dict[int, tuple[PlannedRun, float]] = field(default_factory=dict, init=False)

    def run(self, *, exact: bool = False) -> None:
        """Run what is not known yet.

        Args:
            exact: as `ScalingPlan.runs` takes it.

        Raises:
            TunerError: no run can be started here.
        """
        known = {run: self.earlier.get(key_of(self.site.params(run))) for run in self.plan.runs(exact=exact)}
        self.records += filter(None, known.values())
        self._waiting += (run for run, record in known.items() if record is None)
        launching = self.site.launching
        if self.records:
            launching.listener(Notice(f"{counted(len(self.records), 'run')} of this study are known already."))
        self._until_s = launching.clock.now_s() + self.limit_s
        ask_and_tell(launching, launching.stop, ask=self._next, start=self._start, tell=self._tell)
        if self.skipped and not self.lost:
            launching.listener(
                Notice(f"{counted(self.skipped, 'run')} left out: ⟦time⟧ {duration(self.limit_s)} is over.")
            )

    def _next(self) -> PlannedRun | None:
        """The next run, on nodes that are left, without those for which there are too few or too little time."""
        left = len(self.site.names)
        while self._waiting:
            run = self._waiting.popleft()
            in_time = not self.records or self.site.launching.clock.now_s() + self.pace.expected_s(run) <= self._until_s
            if in_time and (run.count <= left or not run.nodes):
                spare = [number for number in range(left) if number not in run.nodes]
                nodes = tuple(number if number < left else spare.pop() for number in run.nodes)
                return replace(run, nodes=nodes)
            self.skipped += 1
        return None

    def _start(self, run: PlannedRun) -> None:
        expected_s, now_s = self.pace.expected_s(run), self.site.launching.clock.now_s()
        most_s = max(limit_s(expected_s, None, math.inf), self._until_s - now_s)  # a first run may take all the time
        self._under_way[self.site.begin(run, expected_s, most_s)] = run, now_s

    def _tell(self, ended: LaunchOutcome) -> None:
        """Record a run, and go on without nodes that are lost; a run that died with one waits for its turn again."""
        (run, start_s), record = self._under_way.pop(ended.ticket), ended.records[0]
        say, now_s = self.site.launching.listener, self.site.launching.clock.now_s()
        if record.ranked:
            self.pace.learn(run, now_s - start_s)
        if ended.lost_nodes:
            self._waiting.appendleft(run)
        elif ended.why:
            self.missed += 1 + len(self._waiting)
            self._waiting.clear()
            say(Notice(f"{ended.why}: nothing more is run."))
        self.records.append(record)
        left_s, done_s = sum(map(self.pace.expected_s, self._waiting)), self.pace.really_s
        spent = done_s / (done_s + left_s) if done_s else 0.0
        say(TrialEnded(record, spent=spent, left=duration(left_s) if self._waiting else None))
        if ended.lost_nodes:
            self.lost += ended.lost_nodes
            self.site.without(ended.lost_nodes)
            lost, left = listed(ended.lost_nodes), counted(len(self.site.names), "node")
            say(Notice(f"Node {lost} is lost; the rest goes on with {left}, without runs on more."))
