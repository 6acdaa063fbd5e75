"""`hpltune blas`: each BLAS is searched by itself for the same time, then the best of all run in rounds.

A program that brings its own BLAS is a library, too, under its name.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from hpl.errors import HplError
from results.record import Kind, TrialRecord
from results.report.model import uncounted
from results.stats.ranking import Ranked
from search_spaces.load import wants_all_blas

from ..budget import Meter
from ..clock import RealClock
from ..errors import NodesLostError, TunerError
from ..events import PhaseStarted
from ..machine.equipment import PROGRAM
from ..machine.inventory import bringing, rivals, with_one_blas
from ..options import TuneOptions
from ..trial.workbench import Workbench
from ..units import compact, duration
from ..words import listed
from .campaign import Campaign, prepare, quiet_wait
from .lifecycle import BegunStudy, elapsed_s
from .objective import Objective
from .open import OpenStudy, StudyOpener, next_session
from .order import CLAIMED, Order, champions, contradicted, near, shown_noise
from .rounds import Competitor, Rounds, RoundsResult, SteadyLoad
from .search.reference_runs import tell_changes
from .search.trials import UnavailableParts
from .session import StudyContext
from .shootout import blas_of, n_of
from .sized_study import SizedStudy
from .sizing.size import BudgetTooSmallError, load_space, searched_n

SEARCH_PART = 0.65
"""Part of the time for the searches; the rest is for the rounds."""
LEAST_RUNS = 10
"""Runs for which the share of each library should have room, where a budget is called too small."""

SECOND_PART = 0.5
"""Part of the time that is left for a second search of the libraries whose first one told too little."""
MOST_ROUNDS = 30
"""Rounds after which it ends where no time is limited."""

AGAIN = 1
"""Further runs of each of a library's three best: its champion must not owe its place to luck, because rounds cannot
change it any more."""


@dataclass(kw_only=True)
class BlasCampaign:
    """One call of `hpltune blas`: searches, and then rounds.

    Attributes:
        meter: of the whole budget.
        names: of the libraries.
        number: of its first session; each search has one of its own, and the rounds have the last.
        best: the best configuration of each library that has one.
        in_rounds: what runs these in the rounds.
        left_out: why a library could not be compared, by its name.
        without_result: of these the libraries whose search ended without a valid run.
    """

    options: TuneOptions
    begun: BegunStudy
    workbench: Workbench
    context: StudyContext
    meter: Meter = field(init=False)
    names: Sequence[str] = field(init=False)
    number: int = field(init=False)
    best: dict[str, Ranked] = field(default_factory=dict, init=False)
    in_rounds: dict[str, Competitor] = field(default_factory=dict, init=False)
    left_out: dict[str, str] = field(default_factory=dict, init=False)
    without_result: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        budget = replace(self.options.budget, trials=None)
        self.meter = Meter(budget, RealClock(), spent_wall_s=elapsed_s(self.begun.earlier))
        for record in self.begun.earlier:
            self.meter.charge(record.cost_s or 0.0, trial=False)
        self.names = rivals(self.workbench.site)
        self.number = next_session(self.begun.earlier)

    def run(self) -> str:
        """Search each library, the one with the fastest dgemm first and programs last, and run the rounds.

        Returns:
            The sentence why the rounds ended.

        Raises:
            NodesLostError, TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents it.
        """
        context, study = self.context, self.begun.name
        quiet = quiet_wait(self.options, self.workbench, context)
        quiet.before("the first run")
        dgemm = self._dgemm()
        self._search_each()
        self._search_again(dgemm)
        if len(self.best) < 2 and not context.stop.requested:
            raise TunerError(self._too_few())
        shown = shown_noise(context.store.study(study), context.store.records(study, kinds=(Kind.SEARCH,)))
        compared = near(self.best, shown, dgemm)
        quiet.before("the rounds")
        draw = random.Random(f"{study} {self._last_number}")  # noqa: S311 - no secret
        played = Rounds(
            competitors=[self.in_rounds[name] for name in compared],
            order=lambda _, left: draw.sample(left, len(left)),  # so that no library always runs first
            ends=partial(self._why_end, shown),
            meter=self.meter,
            context=context,
            phase=PhaseStarted("rounds", None),
            load=SteadyLoad(context.say),
        ).play()
        self.left_out |= played.out
        return played.why

    def _why_end(self, shown: float, played: RoundsResult, left: Sequence[Competitor]) -> str | None:
        """The sentence why no further round follows, or None."""
        if len(left) < 2:
            return "only one library is near the fastest rate"
        records = self.context.store.records(self.begun.name, kinds=(Kind.CONFIRMATION,))
        if Order.of(records, [one.name for one in left], shown).known:
            return f"the order is known with {100 * CLAIMED:.0f} %"
        if played.begun >= MOST_ROUNDS and not self.meter.budget.timed:
            return f"{played.begun} rounds do not tell the order"
        return None

    @property
    def _last_number(self) -> int:
        """The number of the session of the rounds."""
        return self.number + 2 * len(self.names)

    def _dgemm(self) -> Mapping[str, float]:
        """The rate of dgemm of each library, which is kept with the study."""
        found = {name: probe.gflops for name in self.names if (probe := self.workbench.site.best_probe(name))}
        return self.context.store.note(
            self.begun.name, lambda notes: replace(notes, dgemm_gflops_by_blas=found or notes.dgemm_gflops_by_blas)
        ).dgemm_gflops_by_blas

    def _search_each(self) -> None:
        """Search each library; the first says which N all have."""
        N = searched_n(self.begun.earlier)
        for place, name in enumerate(self.names):
            if self.context.stop.requested:
                break
            options = self._options_of(name, N, len(self.names))
            kind = "Program" if name in bringing(self.workbench.site) else "Library"
            self.context.say(f"{kind} {place + 1} of {len(self.names)}: {name}, {options.budget}.")
            error = self._search(name, options, self.number + place, _of_library(self.begun.earlier, name))
            if N is None and isinstance(error, BudgetTooSmallError):
                raise TunerError(
                    f"one run takes about {duration(error.run_s)}, more than the share of each of {len(self.names)} "
                    f"libraries of the budget ({self.options.budget}): their comparison needs ⟦budget⟧ "
                    f"{compact(error.run_s * LEAST_RUNS * len(self.names) / SEARCH_PART)} or more"
                ) from error
            if name in self.best:
                N = n_of(self.best[name]) or N
            elif error is not None or not self.context.stop.requested:
                runs = [] if error else _of_library(self.context.store.records(self.begun.name), name)[-1:]
                reason = str(error) if error else " ".join(["no run of it was valid.", *uncounted(runs)]).rstrip(".")
                self.left_out[name] = reason
                self.context.say(f"{name} is left out: {reason}.")
                if error is None or isinstance(error, BudgetTooSmallError):
                    self.without_result.append(name)

    def _search_again(self, dgemm: Mapping[str, float]) -> None:
        """Search again what failed early, or is slower than its dgemm promises, in the time that is left.

        Rounds have a part of this time, and where only trials are limited nothing is left.
        """
        doubted = [*self.without_result, *contradicted(self.best, dgemm)]
        left_s = self.meter.remaining_s()
        if not self.best or left_s is None or self.options.budget.trials is not None:
            return
        N = n_of(next(iter(self.best.values())))
        for place, name in enumerate(doubted):
            if self.context.stop.requested:
                break
            earlier = _of_library(self.context.store.records(self.begun.name), name)
            options = self._options_of(name, N, 1)
            wall_s = elapsed_s(earlier) + SECOND_PART * left_s / len(doubted)
            options = replace(options, budget=replace(options.budget, wall_s=wall_s))
            self.context.say(f"{name} is searched again: its runs are no match of what its dgemm promises, or failed.")
            error = self._search(name, options, self.number + len(self.names) + place, earlier)
            if error:
                self.context.say(f"{name} was not searched again: {error}.")
            elif name in self.best:
                self.left_out.pop(name, None)

    def _search(
        self, name: str, options: TuneOptions, number: int, earlier: Sequence[TrialRecord]
    ) -> TunerError | HplError | None:
        """Search a library, and note its best configuration if a run was valid; the error why it cannot be searched.

        Args:
            options: with its share of the budget, and the N of all libraries once that is known.
            number: of the session.
            earlier: its trials of earlier sessions of the study.

        Raises:
            NodesLostError, SpaceError, ResultsError: a sentence says what prevents it.
        """
        study = self.context.store.study(self.begun.name)
        try:
            evaluator = replace(self.workbench.evaluator, machine=with_one_blas(self.workbench.site, name))
            space = load_space(options, evaluator.machine, study.space_text)
            prepare(space, evaluator, self.workbench, self.context)
            opened = StudyOpener(
                study=study.name,
                context=self.context,
                space=space,
                objective=Objective.of("gflops", study),
                budget=options.budget,
                earlier=earlier,
                number=number,
                blas=name,
                joinable=False,
                whole=self.meter,
            ).open()
            searched = Campaign(
                options=options,
                compares=wants_all_blas(options.space, study.space_text),
                opened=opened,
                unavailable=UnavailableParts(self.context, study.name),
                evaluators=(evaluator,),
                joined=False,
                predicts=False,
            ).sized()
            if searched is not None:
                self.context.say(f"Search stopped: {searched.search(options.repeats, options.confirm)}.")
                self._note_best(name, searched, [one for one in earlier if one.kind is Kind.CONFIRMATION])
        except NodesLostError:
            raise
        except (TunerError, HplError) as error:
            return error
        return None

    def _note_best(self, name: str, searched: SizedStudy, in_rounds: Sequence[TrialRecord]) -> None:
        """Note the best configuration of a library, and what runs it in the rounds, where the whole budget counts.

        Args:
            in_rounds: what ran in rounds of earlier sessions, which the best cannot change any more.
        """
        trials = searched.trials
        if not in_rounds:
            searched.confirm(AGAIN, Kind.SEARCH)
        tell_changes(trials.session)
        best = champions(in_rounds, trials.session.ranking()).get(name)
        if best is None:
            return
        opened = OpenStudy.again(trials.session, self.meter, self._last_number)
        limits = trials.limits.of_session(opened.session)
        sites = [replace(one, left_s=self.meter.remaining_s) for one in trials.sites]
        trials = replace(trials, session=opened.session, sites=sites, book=opened.ledger, limits=limits)
        trial = partial(trials.trial, best.params, Kind.CONFIRMATION)
        self.best[name] = best
        self.in_rounds[name] = Competitor.of(name, trial, searched.run_time.full_s)

    def _options_of(self, name: str, N: int | None, libraries: int) -> TuneOptions:
        """The options of one library's search: its share of the time, and the N of the first library."""
        budget = self.options.budget
        wall_s = None if budget.wall_s is None else SEARCH_PART / libraries * budget.wall_s
        given = {key: texts for key, texts in (self.options.overrides or {}).items() if key != PROGRAM}
        overrides = {**given, **({"N": [str(N)]} if N else {})}
        return replace(self.options, budget=replace(budget, wall_s=wall_s), overrides=overrides, blas_only=(name,))

    def _too_few(self) -> str:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out.items())
        only = f"only {listed(list(self.best))} gave a result" if self.best else "no library gave a result"
        return f"{only}, so there is nothing to compare ({reasons})"


def _of_library(records: Sequence[TrialRecord], name: str) -> list[TrialRecord]:
    """The trials of a library."""
    return [record for record in records if blas_of(record.params) == name]
