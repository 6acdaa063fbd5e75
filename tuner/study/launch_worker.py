"""One launch at a time: from points to the records of what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hpl.errors import HplError
from hpl.params import Scalar
from hpl.witness import parse_panels
from results.record import Invalidity, Kind, TrialRecord, TrialState
from runners.errors import RunnerError

from ..engines.fidelity import FULL, Fidelity, Question, Rung
from ..machine.cluster_nodes import NodesLostError, silent_nodes
from ..trial.evaluate import Evaluator
from ..trial.judge import Failure
from ..trial.ladder import at_rung
from ..trial.launch import LaunchMonitor, hpl_order, merge_plans, reached
from ..trial.plan import PlanError, TrialPlan, label, plan
from ..trial.records import finished, given_up, not_reached, rejected, started
from ..trial.varying_label import varying_label

if TYPE_CHECKING:
    from .scheduler import Scheduler

KINDS = {Fidelity.SMALL: Kind.SMALL, Fidelity.PREFIX: Kind.PREFIX, Fidelity.FULL: Kind.SEARCH}


@dataclass(frozen=True)
class Planned:
    """A trial that is begun in the store, and the plan of it alone."""

    begun: TrialRecord
    plan: TrialPlan


@dataclass
class LaunchWorker:
    """A place where a study runs one launch after another: this machine, or some nodes of a cluster.

    Attributes:
        loop: the study.
        evaluator: what runs plans here.
    """

    loop: Scheduler
    evaluator: Evaluator
    _lost: tuple[str, ...] = field(default=(), init=False)
    _disturbed: str = field(default="", init=False)
    _again: bool = field(default=False, init=False)

    def measure(self, batch: Sequence[Question], repeats: int) -> list[list[TrialRecord]]:
        """Run what an engine asks, full runs several times; what fails or is given up is not repeated.

        Raises:
            TunerError, results.errors.ResultsError: as `launch`.
        """
        rung = batch[0].rung
        kind = KINDS[rung.fidelity]
        points = [self.loop.space.complete(question.params) for question in batch]
        rounds: list[list[TrialRecord]] = []
        for _ in range(repeats if rung == FULL else 1):
            rounds.append(self.launch(points, kind, rung))
            done = all(record.state is TrialState.COMPLETE and record.kind is kind for record in rounds[-1])
            if self.loop.stopped or not done:
                break
        return rounds

    def launch(self, points: Sequence[Mapping[str, Scalar]], kind: Kind, rung: Rung) -> list[TrialRecord]:
        """Run complete points, in one launch if one HPL.dat holds them, and commit a record of each in their order.

        Where a run of a launch fails, those before it keep their results, and each after it gets a launch of its own.
        Where a run died with a node, all are run once more as soon as it answers again; at once where somebody else
        changed the network meanwhile. What another process of this
        study began in the same moment is left to it, and so is the budget's last trial: the record here is cancelled
        and has no number.

        Raises:
            NodesLostError: a node that died with a run does not come back.
            TunerError: no run can be started here; the trials stay RUNNING.
            results.errors.ResultsError: the store cannot be written; then the run's directory still tells the result.
        """
        records = self._launch(points, kind, rung)
        if self._disturbed and not self.loop.stopped:
            self.loop.say(f"{self._disturbed}: the run is repeated.")
            records = self._launch(points, kind, rung, again=True)
        if self._lost and not self.loop.stopped:
            self._wait_for_nodes()
            records = self._launch(points, kind, rung)
        if self._lost:
            raise NodesLostError(self._lost)
        return records

    def _wait_for_nodes(self) -> None:
        """Give lost nodes a moment to answer again.

        Raises:
            NodesLostError: one does not.
        """
        nodes = self.evaluator.site.nodes
        if not self.evaluator.site.node_names:
            self.loop.say(f"Node {', '.join(self._lost)} failed: the run is repeated on what Slurm gives.")
            return
        return_s = nodes.cluster.return_s if nodes else 0.0
        self.loop.say(f"Node {', '.join(self._lost)} does not answer: waiting {return_s:.0f} s for it.")
        give_up_s = self.loop.meter.clock.now_s() + return_s
        while lost := silent_nodes(self.evaluator.site):
            if self.loop.stopped or self.loop.meter.clock.now_s() > give_up_s:
                raise NodesLostError(lost)
        self.loop.say("It answers again: the run is repeated.")

    def _launch(
        self, points: Sequence[Mapping[str, Scalar]], kind: Kind, rung: Rung, *, again: bool = False
    ) -> list[TrialRecord]:
        self._lost, self._disturbed, self._again = (), "", again
        plans = [self._plan_or_fault(params, rung) for params in points]
        records: dict[int, TrialRecord] = {}
        planned: dict[int, Planned] = {}
        for number in hpl_order(plans):
            params, one = points[number], plans[number]
            begun = started(self.loop.study, params, kind, self.loop.space.key(params), self.loop.session)
            if isinstance(one, TrialPlan):
                begun = replace(begun, part=one.stop_at or one.runs[0].N / int(params["N"]))
            stored = self.loop.begin(begun)
            begun = replace(begun, number=stored or 0)
            if stored is None:
                records[number] = not_reached(begun)
            elif isinstance(one, Failure):
                records[number] = self.loop.commit(rejected(begun, one))
            else:
                planned[number] = Planned(begun, one)
        if planned:
            expected_s = self.loop.should_take_s(rung)
            records |= zip(planned, self._launched(list(planned.values()), expected_s), strict=True)
        return [records[number] for number in range(len(points))]

    def _launched(self, planned: Sequence[Planned], expected_s: float | None) -> list[TrialRecord]:
        """Run what shares a launch, in HPL's order, and commit the records; what HPL did not come to again alone."""
        records = [self.loop.commit(record) for record in self._measured(planned, expected_s)]
        for one in planned[len(records) :]:
            over = self.loop.stopped or self._lost or self._disturbed or self.loop.meter.out_of_time(0.0)
            records += [self.loop.commit(not_reached(one.begun))] if over else self._launched([one], expected_s)
        return records

    def _labels(self, planned: Sequence[Planned]) -> list[str]:
        """Each configuration of a launch in one line."""
        found = [label(one.plan, varying_label(one.begun.params, self.loop.space.varying)) for one in planned]
        if len(found) == 1:
            return found
        return [f"{one} ({turn} of {len(found)} in one launch)" for turn, one in enumerate(found, start=1)]

    def _plan_or_fault(self, params: Mapping[str, Scalar], rung: Rung) -> TrialPlan | Failure:
        try:
            asked = plan(at_rung(params, rung), self.evaluator.site)
        except (PlanError, HplError) as error:
            return Failure(Invalidity.CONSTRAINTS, str(error))
        return replace(asked, stop_at=rung.part) if rung.fidelity is Fidelity.PREFIX else asked

    def _measured(self, planned: Sequence[Planned], expected_s: float | None) -> list[TrialRecord]:
        """The records of a launch, of the runs that HPL came to; all of them where the user ended it."""
        shared = merge_plans([one.plan for one in planned])
        if shared is None:
            planned, shared = planned[:1], planned[0].plan
        first = planned[0].begun
        may_end = first.kind is Kind.SEARCH and len(planned) == 1
        run = LaunchMonitor(
            kind=first.kind,
            numbers=[one.begun.number for one in planned],
            labels=self._labels(planned),
            listener=self.loop.bench.listener,
            stop=self.loop.bench.stop,
            clock=self.loop.meter.clock,
            prospects=self.loop.prospects,
            expected_s=expected_s,
            best_gflops=self.loop.incumbent_lower_bound(first.key) if may_end else None,
        )
        directory = self.loop.folder(first.number)
        limit_s = self.loop.limit_s(None if expected_s is None else expected_s * len(planned))
        try:
            measured = self.evaluator.evaluate(shared, directory, limit_s, run.on_panel, run)
        except RunnerError as error:
            return [rejected(first, Failure(Invalidity.RUNTIME, str(error)))]
        self._lost = measured.lost_nodes
        self.loop.rule_out(measured.unavailable)
        records = [
            replace(finished(one.begun, shared, measured, directory, index), hpl_dat=one.plan.hpl_dat)
            for index, one in enumerate(planned[: None if measured.verdict.cancelled else reached(measured)])
        ]
        run.come_to(len(records) - 1)
        if measured.disturbed:
            ended_by_user = measured.verdict.cancelled and run.hopeless is None
            self._disturbed = "" if self._again or ended_by_user else measured.disturbed
            if self._disturbed:
                return [replace(record, state=TrialState.CANCELLED, invalidity=None) for record in records]
            return records
        if run.hopeless is not None and records[0].state is TrialState.CANCELLED and run.best_gflops is not None:
            return [given_up(records[0], run.hopeless, run.best_gflops)]
        for record in records:
            if record.kind is Kind.SEARCH and record.ranked and record.gflops:
                self.loop.prospects.learn(parse_panels(record.errors_text), record.gflops)
        return records
