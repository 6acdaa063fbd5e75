"""Runs what a scaling analysis needs: one run after the other, until all have run, time is over, or somebody stops."""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from results.record import TrialRecord

from ..clock import Clock
from ..events import Listener, Notice, TrialEnded
from ..stopping import Stopping
from ..study.file_run import key_of
from ..trial.launching import in_turn
from ..units import duration
from ..words import counted, listed
from .plan import EndedRun, PlannedRun, ScalingPlan, ScalingSite


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


@dataclass(frozen=True)
class CampaignEnd:
    """What came of the runs.

    Attributes:
        records: of all runs that have ended, those of an earlier call too, in the order in which they ended.
        lost_nodes: nodes that no longer answer.
        skipped: runs that did not begin, because time was over or too few nodes were left.
    """

    records: tuple[TrialRecord, ...]
    lost_nodes: tuple[str, ...]
    skipped: int


@dataclass
class ScalingCampaign:
    """The runs of a plan on a site.

    Attributes:
        earlier: valid records by their key, which are not run again.
        limit_s: seconds after which no run begins that would not end in time.
    """

    plan: ScalingPlan
    site: ScalingSite
    pace: Pace
    listener: Listener
    stop: Stopping
    clock: Clock
    earlier: Mapping[str, TrialRecord] = field(default_factory=dict)
    limit_s: float = math.inf
    _records: list[TrialRecord] = field(default_factory=list)
    _lost: list[str] = field(default_factory=list)

    def run(self, *, exact: bool = False) -> CampaignEnd:
        """Run what is not known yet.

        Args:
            exact: as `ScalingPlan.runs` takes it.

        Raises:
            TunerError: no run can be started here.
        """
        began_s = self.clock.now_s()
        waiting, under_way, skipped = deque(self._unknown(exact=exact)), deque[tuple[PlannedRun, float]](), 0

        def begin(run: PlannedRun) -> None:
            nonlocal skipped
            expected_s = self.pace.expected_s(run)
            if run.count > len(self.site.names) > 0 or self._late(began_s, expected_s):
                skipped += 1
                return
            under_way.append((self._on_nodes_left(run), self.clock.now_s()))
            self.site.begin(under_way[-1][0], expected_s)

        for ended in in_turn(waiting, begin, self.site, self.stop):
            run, start_s = under_way.popleft()
            if ended.record.ranked:
                self.pace.learn(run, self.clock.now_s() - start_s)
            if ended.lost_nodes:
                waiting.appendleft(run)
            self._take(ended, waiting)
        if skipped and not self._lost:
            self.listener(Notice(f"{counted(skipped, 'run')} left out: ⟦time⟧ {duration(self.limit_s)} is over."))
        return CampaignEnd(tuple(self._records), tuple(self._lost), skipped)

    def _unknown(self, *, exact: bool) -> list[PlannedRun]:
        """The runs that no earlier call made; the others are taken over."""
        left = []
        for run in self.plan.runs(exact=exact):
            known = self.earlier.get(key_of(self.site.params(run)))
            if known is None:
                left.append(run)
            else:
                self._records.append(known)
        if self._records:
            self.listener(Notice(f"{counted(len(self._records), 'run')} of this study are known already."))
        return left

    def _late(self, began_s: float, expected_s: float) -> bool:
        """Whether a run would end too late; the first run never does."""
        return self.clock.now_s() - began_s + expected_s > self.limit_s and len(self._records) > 0

    def _on_nodes_left(self, run: PlannedRun) -> PlannedRun:
        """The run, with numbers of nodes that are left."""
        size = len(self.site.names)
        if all(number < size for number in run.nodes):
            return run
        spare = [number for number in range(size) if number not in run.nodes]
        nodes = tuple(number if number < size else spare.pop() for number in run.nodes)
        return PlannedRun(run.count, run.order, run.repeat, run.N, nodes)

    def _take(self, ended: EndedRun, waiting: Sequence[PlannedRun]) -> None:
        """Record a run, and go on without nodes that are lost; a run that died with one waits for its turn again."""
        self._records.append(ended.record)
        left_s = sum(self.pace.expected_s(run) for run in waiting)
        done_s = self.pace.really_s
        spent = done_s / (done_s + left_s) if done_s else 0.0
        self.listener(TrialEnded(ended.record, spent=spent, left=duration(left_s) if waiting else None))
        if ended.lost_nodes:
            self._lost += ended.lost_nodes
            self.site.without(ended.lost_nodes)
            left = counted(len(self.site.names), "node")
            names = listed(ended.lost_nodes)
            self.listener(Notice(f"Node {names} is lost; the rest goes on with {left}, without runs on more."))
