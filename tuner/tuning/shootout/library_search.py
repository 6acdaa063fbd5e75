"""Finds the best configuration of one BLAS for `hpltune blas`: a campaign of `tune` that sees no other library."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from results.record import Kind, TrialRecord
from results.stats.ranking import Ranked
from search_spaces.space import SearchSpace

from ...budget import Meter
from ...clock import RealClock
from ...machine.inventory import with_one_blas
from ...machine.problem_size import SMALLEST_N
from ...network.around_study import prepare_network
from ...options import TuneOptions
from ...study.incumbent import Incumbent
from ...study.ledger import Ledger
from ...study.lifecycle import elapsed_s
from ...study.objective import Objective
from ...study.rounds import champions
from ...study.search.launch_worker import LaunchWorker
from ...study.search.unavailable import UnavailableParts
from ...study.session import StudyContext, StudySession
from ...study.shootout import blas_of
from ...trial.evaluate import Evaluator
from ...trial.plan import require_network
from ...trial.workbench import Workbench
from ..campaign import Campaign
from ..space import load_space, programs_for

AGAIN = 1
"""Further runs of each of a library's three best: its champion must not owe its place to luck, because rounds cannot
change it any more."""


@dataclass(frozen=True)
class Champion:
    """The best configuration of a library.

    Attributes:
        best: with the runs of its search.
        worker: runs it.
        full_s: seconds that a run should take; None where that is not known.
    """

    best: Ranked
    worker: LaunchWorker
    full_s: float | None


@dataclass(frozen=True, kw_only=True)
class LibrarySearch:
    """The search of one library.

    Attributes:
        blas: the library.
        options: with its share of the budget, and the N of all libraries once that is known.
        number: of its session.
        whole: meter of the whole budget, which is charged too.
        earlier: all trials of earlier sessions of the study.
    """

    blas: str
    options: TuneOptions
    study: str
    number: int
    whole: Meter
    earlier: Sequence[TrialRecord]

    def run(self, workbench: Workbench, context: StudyContext) -> Champion | None:
        """Search; None where no run was valid.

        Raises:
            NodesLostError, TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents it.
        """
        text = context.store.study(self.study).space_text
        evaluator = replace(workbench.evaluator, site=with_one_blas(workbench.site, self.blas))
        space = self._space(evaluator, workbench, context, text)
        session, ledger = self._begun(space, context)
        campaign = Campaign(
            options=self.options,
            text=text,
            session=session,
            ledger=ledger,
            unavailable=UnavailableParts(context, self.study),
            evaluators=(evaluator,),
            joined=False,
        )
        searched = campaign.search()
        worker, confirmation = searched.worker, searched.confirmation
        in_rounds = [one for one in self._earlier_trials() if one.kind is Kind.CONFIRMATION]
        if not in_rounds:
            confirmation.run(AGAIN, lambda params, _: worker.trial(params, Kind.SEARCH))
        champion = champions(in_rounds, confirmation.session.ranking()).get(self.blas)
        return None if champion is None else Champion(champion, worker, confirmation.run_time.full_s)

    def _space(self, evaluator: Evaluator, workbench: Workbench, context: StudyContext, text: str) -> SearchSpace:
        """The space of this library, for which programs are built and the network is taken."""
        space = load_space(self.options, evaluator.site, SMALLEST_N, text)
        require_network(space.parameters, evaluator.site)
        prepare_network(evaluator, {name: parameter.values for name, parameter in space.parameters.items()})
        names, threads, mpis = programs_for(space, evaluator.site)
        with context.stop.preparing():
            workbench.build(names, threads, context.listener, mpis)
        return space

    def _begun(self, space: SearchSpace, context: StudyContext) -> tuple[StudySession, Ledger]:
        objective = Objective.of("gflops", context.store.study(self.study))
        earlier = self._earlier_trials()
        meter = Meter(self.options.budget, RealClock(), spent_wall_s=elapsed_s(earlier))
        session = StudySession(
            context=context,
            study=self.study,
            space=space,
            objective=objective,
            meter=meter,
            number=self.number,
            blas=self.blas,
        )
        ledger = Ledger(
            context=context,
            study=self.study,
            meter=meter,
            incumbent=Incumbent(objective),
            joinable=False,
            whole=self.whole,
        )
        ledger.count(earlier)
        return session, ledger

    def _earlier_trials(self) -> list[TrialRecord]:
        """Those of this library."""
        return [record for record in self.earlier if blas_of(record.params) == self.blas]
