"""`hpltune blas`: each BLAS is searched by itself for the same time, then the best of all run in rounds.

A program that brings its own BLAS is a library, too, under its name.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hpl.errors import HplError
from results.record import Kind, TrialRecord
from results.report.model import uncounted
from results.stats.ranking import Ranked
from search_spaces.load import wants_all_blas
from search_spaces.space import SearchSpace

from ..budget import Meter
from ..clock import RealClock
from ..errors import NodesLostError, TunerError
from ..events import PhaseStarted
from ..machine.equipment import PROGRAM
from ..machine.inventory import bringing, rivals, with_one_blas
from ..options import TuneOptions
from ..study.again import SteadyLoad, run_again
from ..study.lifecycle import BegunStudy, elapsed_s
from ..study.names import resume_command
from ..study.objective import Objective
from ..study.open import OpenStudy, StudyOpener, next_session
from ..study.rounds import CLAIMED, Order, Rounds, champions, contradicted, near, shown_noise
from ..study.search.reference_runs import tell_changes
from ..study.search.trials import StudyTrials, UnavailableParts
from ..study.session import StudyContext
from ..study.shootout import blas_of, n_of
from ..trial.evaluate import Evaluator
from ..trial.workbench import Workbench
from ..units import compact, duration
from ..words import listed
from .campaign import Campaign, prepare, quiet_wait
from .sizing import BudgetTooSmallError, load_space, searched_n

SEARCH_PART = 0.65
"""Part of the time for the searches; the rest is for the rounds."""
LEAST_RUNS = 10
"""Runs for which the share of each library should have room, where a budget is called too small."""

SECOND_PART = 0.5
"""Part of the time that is left for a second search of the libraries whose first one told too little."""
MOST_ROUNDS = 30
"""Rounds after which it ends where no time is limited."""
MOST_FAILURES = 2
"""Failed runs in a row with which a champion is out."""

AGAIN = 1
"""Further runs of each of a library's three best: its champion must not owe its place to luck, because rounds cannot
change it any more."""


@dataclass(frozen=True, kw_only=True)
class Shootout:
    """What a comparison of libraries found.

    Attributes:
        left_out: why a library could not be compared, by its name.
        ended: the sentence why the rounds ended.
        interrupted: the user stopped it.
    """

    study: str
    left_out: Mapping[str, str]
    ended: str
    interrupted: bool


def compare_blas(options: TuneOptions, begun: BegunStudy, workbench: Workbench, context: StudyContext) -> Shootout:
    """Compare the libraries of a machine in a study that was entered.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents it.
    """
    campaign = BlasCampaign(options=options, begun=begun, workbench=workbench, context=context)
    try:
        return campaign.run()
    except NodesLostError as lost:
        raise TunerError(f"{lost}: {resume_command(begun.name, context.store)} goes on once it is repaired") from lost


@dataclass(frozen=True)
class Champion:
    """The best configuration of a library.

    Attributes:
        best: with the runs of its search.
        trials: runs it.
        full_s: seconds that a run should take; None where that is not known.
    """

    best: Ranked
    trials: StudyTrials[Evaluator]
    full_s: float | None


@dataclass(kw_only=True)
class BlasCampaign:
    """One call of `hpltune blas`: searches, and then rounds.

    Attributes:
        meter: of the whole budget.
        left_out: why a library could not be compared, by its name.
        without_result: of these the libraries whose search ended without a valid run.
    """

    options: TuneOptions
    begun: BegunStudy
    workbench: Workbench
    context: StudyContext
    meter: Meter = field(init=False)
    left_out: dict[str, str] = field(default_factory=dict, init=False)
    without_result: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        budget = replace(self.options.budget, trials=None)
        self.meter = Meter(budget, RealClock(), spent_wall_s=elapsed_s(self.begun.earlier))
        for record in self.begun.earlier:
            self.meter.charge(record.cost_s or 0.0, trial=False)

    def run(self) -> Shootout:
        """Search each library, the one with the fastest dgemm first and programs last, and run the rounds.

        Raises:
            TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents it.
        """
        names = rivals(self.workbench.site)
        quiet = quiet_wait(self.options, self.workbench, self.context)
        quiet.before("the first run")
        number = next_session(self.begun.earlier)
        dgemm = self._dgemm(names)
        champions = self._champions(names, number)
        champions = self._searched_again(champions, dgemm, number + len(names))
        if len(champions) < 2 and not self.context.stop.requested:
            raise TunerError(self._too_few(champions))
        store = self.context.store
        study = store.study(self.begun.name)
        shown = shown_noise(study, store.records(study.name, kinds=(Kind.SEARCH,)))
        compared = near({name: one.best for name, one in champions.items()}, shown, dgemm)
        finalists = {name: champions[name] for name in compared}
        quiet.before("the rounds")
        ended, failed = play(finalists, self.begun.name, self.context, self.meter, number + 2 * len(names))
        return Shootout(
            study=self.begun.name,
            left_out={**self.left_out, **failed},
            ended=ended,
            interrupted=self.context.stop.requested,
        )

    def _dgemm(self, names: Sequence[str]) -> Mapping[str, float]:
        """The rate of dgemm of each library, which is kept with the study."""
        found = {name: probe.gflops for name in names if (probe := self.workbench.site.best_probe(name))}
        return self.context.store.note(
            self.begun.name, lambda notes: replace(notes, dgemm_gflops_by_blas=found or notes.dgemm_gflops_by_blas)
        ).dgemm_gflops_by_blas

    def _searched_again(
        self, champions: Mapping[str, Champion], dgemm: Mapping[str, float], number: int
    ) -> dict[str, Champion]:
        """Search again what failed early, or is slower than its dgemm promises, in the time that is left.

        Rounds have a part of this time, and where only trials are limited nothing is left.
        """
        found, best = dict(champions), {name: one.best for name, one in champions.items()}
        doubted = [*(name for name in self.without_result if name not in found), *contradicted(best, dgemm)]
        left_s = self.meter.remaining_s()
        if not doubted or not best or left_s is None or self.options.budget.trials is not None:
            return found
        N = n_of(next(iter(best.values())))
        for place, name in enumerate(doubted):
            if self.context.stop.requested:
                break
            earlier = _of_library(self.context.store.records(self.begun.name), name)
            spent_s = elapsed_s(earlier)
            options = self._options_of(name, N, 1)
            wall_s = spent_s + SECOND_PART * left_s / len(doubted)
            options = replace(options, budget=replace(options.budget, wall_s=wall_s))
            self.context.say(f"{name} is searched again: its runs are no match of what its dgemm promises, or failed.")
            again = LibrarySearch(
                blas=name,
                options=options,
                study=self.begun.name,
                number=number + place,
                whole=self.meter,
                earlier=earlier,
            )
            try:
                champion = again.run(self.workbench, self.context)
            except NodesLostError:
                raise
            except (TunerError, HplError) as error:
                self.context.say(f"{name} was not searched again: {error}.")
                continue
            if champion is not None:
                found[name] = champion
                self.left_out.pop(name, None)
        return found

    def _champions(self, names: Sequence[str], number: int) -> dict[str, Champion]:
        """The best configuration of each library that has one; the first says which N all have."""
        N, found = searched_n(self.begun.earlier), dict[str, Champion]()
        for place, name in enumerate(names):
            if self.context.stop.requested:
                break
            options = self._options_of(name, N, len(names))
            kind = "Program" if name in bringing(self.workbench.site) else "Library"
            self.context.say(f"{kind} {place + 1} of {len(names)}: {name}, {options.budget}.")
            search = LibrarySearch(
                blas=name,
                options=options,
                study=self.begun.name,
                number=number + place,
                whole=self.meter,
                earlier=_of_library(self.begun.earlier, name),
            )
            try:
                champion = search.run(self.workbench, self.context)
            except NodesLostError:
                raise
            except BudgetTooSmallError as error:
                if N is None:
                    raise TunerError(
                        f"one run takes about {duration(error.run_s)}, more than the share of each of {len(names)} "
                        f"libraries of the budget ({self.options.budget}): their comparison needs ⟦budget⟧ "
                        f"{compact(error.run_s * LEAST_RUNS * len(names) / SEARCH_PART)} or more"
                    ) from error
                self._leave_out(name, str(error))
                self.without_result.append(name)
                continue
            except (TunerError, HplError) as error:
                self._leave_out(name, str(error))
                continue
            if champion is not None:
                found[name], N = champion, n_of(champion.best) or N
            elif not self.context.stop.requested:
                runs = _of_library(self.context.store.records(self.begun.name), name)
                self._leave_out(name, " ".join(["no run of it was valid.", *uncounted(runs[-1:])]).rstrip("."))
                self.without_result.append(name)
        return found

    def _options_of(self, name: str, N: int | None, libraries: int) -> TuneOptions:
        """The options of one library's search: its share of the time, and the N of the first library."""
        budget = self.options.budget
        wall_s = None if budget.wall_s is None else SEARCH_PART / libraries * budget.wall_s
        given = {key: texts for key, texts in (self.options.overrides or {}).items() if key != PROGRAM}
        overrides = {**given, **({"N": [str(N)]} if N else {})}
        return replace(self.options, budget=replace(budget, wall_s=wall_s), overrides=overrides, blas_only=(name,))

    def _leave_out(self, name: str, reason: str) -> None:
        self.left_out[name] = reason
        self.context.say(f"{name} is left out: {reason}.")

    def _too_few(self, found: Collection[str]) -> str:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out.items())
        only = f"only {listed(list(found))} gave a result" if found else "no library gave a result"
        return f"{only}, so there is nothing to compare ({reasons})"


def play(
    champions: Mapping[str, Champion], study: str, context: StudyContext, meter: Meter, session: int
) -> tuple[str, Mapping[str, str]]:
    """Run each champion once a round, each round in an order of its own, so that no library always runs first.

    Args:
        champions: at least one, by library.
        meter: of the whole budget.
        session: its number.

    Returns:
        The sentence why the rounds ended, and the libraries that were taken out, each with the reason.

    Raises:
        NodesLostError, TunerError, ResultsError: a sentence says what prevents it.
    """
    draw = random.Random(f"{study} {session}")  # noqa: S311 - no secret
    runs_of = {name: _in_rounds(champion, meter, session) for name, champion in champions.items()}
    failures, failed = dict.fromkeys(champions, 0), dict[str, str]()
    store = context.store
    noise = shown_noise(store.study(study), store.records(study, kinds=(Kind.SEARCH,)))
    context.listener(PhaseStarted("rounds", None))
    turn, load = 0, SteadyLoad(context.say)
    while True:
        left = [name for name in champions if name not in failed]
        order = Rounds.of(store.records(study, kinds=(Kind.CONFIRMATION,)), left, noise).order()
        ended = _why_end(order, turn, [champions[name] for name in left], context, meter)
        if ended:
            return ended, failed
        turn += 1
        for name in draw.sample(left, len(left)):
            if context.stop.requested:
                break
            record = _run(champions[name], runs_of[name], meter, load)
            failures[name] = 0 if record.ranked else failures[name] + 1
            if failures[name] == MOST_FAILURES:
                failed[name] = f"its best configuration failed {MOST_FAILURES} times in a row: {record.reason}"


def _run(champion: Champion, trials: StudyTrials[Evaluator], meter: Meter, load: SteadyLoad) -> TrialRecord:
    """Run a champion, again where its run was disturbed and time is left: each of them is near the fastest."""
    session = trials.session

    def trial() -> TrialRecord:
        return trials.trial(champion.best.params, Kind.CONFIRMATION)

    def allowed() -> bool:
        return not session.stopped and meter.out_of_time(champion.full_s or 0.0) is None

    return run_again(trial(), trial, allowed, load)


def _why_end(order: Order, turns: int, left: Sequence[Champion], context: StudyContext, meter: Meter) -> str | None:
    """The sentence why no further round follows, or None."""
    if context.stop.requested:
        return "you asked for it"
    if len(left) < 2:
        return "only one library is near the fastest rate"
    if order.known:
        return f"the order is known with {100 * CLAIMED:.0f} %"
    if turns >= MOST_ROUNDS and not meter.budget.timed:
        return f"{turns} rounds do not tell the order"
    return meter.out_of_time(sum(champion.full_s or 0.0 for champion in left))


def _in_rounds(champion: Champion, meter: Meter, number: int) -> StudyTrials[Evaluator]:
    """What runs the trials of a champion's search, for which now the whole budget counts."""
    opened = OpenStudy.again(champion.trials.session, meter, number)
    limits = champion.trials.limits.of_session(opened.session)
    sites = [replace(one, left_s=meter.remaining_s) for one in champion.trials.sites]
    return replace(champion.trials, session=opened.session, sites=sites, book=opened.ledger, limits=limits)


@dataclass(frozen=True, kw_only=True)
class LibrarySearch:
    """The search of one library.

    Attributes:
        blas: the library.
        options: with its share of the budget, and the N of all libraries once that is known.
        number: of its session.
        whole: meter of the whole budget, which is charged too.
        earlier: its trials of earlier sessions of the study.
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
        evaluator = replace(workbench.evaluator, machine=with_one_blas(workbench.site, self.blas))
        space = load_space(self.options, evaluator.machine, text)
        prepare(space, evaluator, workbench, context)
        campaign = Campaign(
            options=self.options,
            compares=wants_all_blas(self.options.space, text),
            opened=self._opened(space, context),
            unavailable=UnavailableParts(context, self.study),
            evaluators=(evaluator,),
            joined=False,
            predicts=False,
        )
        study = campaign.sized()
        if study is None:
            return None
        ended = study.search(self.options.repeats, self.options.confirm)
        study.session.say(f"Search stopped: {ended}.")
        in_rounds = [one for one in self.earlier if one.kind is Kind.CONFIRMATION]
        if not in_rounds:
            study.confirm(AGAIN, Kind.SEARCH)
        tell_changes(study.session)
        champion = champions(in_rounds, study.session.ranking()).get(self.blas)
        return None if champion is None else Champion(champion, study.trials, study.run_time.full_s)

    def _opened(self, space: SearchSpace, context: StudyContext) -> OpenStudy:
        return StudyOpener(
            study=self.study,
            context=context,
            space=space,
            objective=Objective.of("gflops", context.store.study(self.study)),
            budget=self.options.budget,
            earlier=self.earlier,
            number=self.number,
            blas=self.blas,
            joinable=False,
            whole=self.whole,
        ).open()


def _of_library(records: Sequence[TrialRecord], name: str) -> list[TrialRecord]:
    """The trials of a library."""
    return [record for record in records if blas_of(record.params) == name]
