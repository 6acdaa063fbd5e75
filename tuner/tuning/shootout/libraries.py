"""`hpltune blas`: each BLAS is searched by itself for the same time, then the best of all run in rounds."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hpl.errors import HplError

from ...budget import Meter
from ...clock import RealClock
from ...errors import NodesLostError, TunerError
from ...options import TuneOptions
from ...study.lifecycle import Begun, elapsed_s
from ...study.rounds import near
from ...study.session import StudyContext
from ...study.shootout import n_of
from ...trial.workbench import Workbench
from ...units import compact, duration
from ...words import listed
from ..sizing import BudgetTooSmallError
from ..space import searched_n
from .library_search import Champion, LibrarySearch
from .playing import play

SEARCH_PART = 0.65
"""Part of the time for the searches; the rest is for the rounds."""
LEAST_RUNS = 10
"""Runs for which the share of each library should have room, where a budget is called too small."""


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


def compare_blas(options: TuneOptions, begun: Begun, workbench: Workbench, context: StudyContext) -> Shootout:
    """Compare the libraries of a machine in a study that was entered.

    Raises:
        TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents it.
    """
    campaign = BlasCampaign(options=options, begun=begun, workbench=workbench, context=context)
    try:
        return campaign.run()
    except NodesLostError as lost:
        on = f"`hpltune blas --resume --study {shlex.quote(begun.name)}` goes on once it is repaired"
        raise TunerError(f"{lost}: {on}") from lost


@dataclass(kw_only=True)
class BlasCampaign:
    """One call of `hpltune blas`: searches, and then rounds.

    Attributes:
        meter: of the whole budget.
        left_out: why a library could not be compared, by its name.
    """

    options: TuneOptions
    begun: Begun
    workbench: Workbench
    context: StudyContext
    meter: Meter = field(init=False)
    left_out: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        budget = replace(self.options.budget, trials=None)
        self.meter = Meter(budget, RealClock(), spent_wall_s=elapsed_s(self.begun.earlier))
        for record in self.begun.earlier:
            self.meter.charge(record.cost_s or 0.0, trial=False)

    def run(self) -> Shootout:
        """Search each library, the one with the fastest dgemm first, and run the rounds.

        Raises:
            TunerError, SpaceError, HplError, ResultsError: a sentence says what prevents it.
        """
        names = [entry.name for entry in self.workbench.site.ranked_blas()]
        number = 1 + max((record.session for record in self.begun.earlier), default=-1)
        champions = self._champions(names, number)
        if len(champions) < 2 and not self.context.stop.requested:
            raise TunerError(self._too_few(champions))
        rivals = {name: champions[name] for name in near({name: one.best for name, one in champions.items()})}
        played = play(rivals, self.begun.name, self.context, self.meter, number + len(names))
        stopped = self.context.stop.requested
        self.context.store.end_study(self.begun.name, "interrupted" if stopped else "complete")
        return Shootout(
            study=self.begun.name,
            left_out={**self.left_out, **played.failed},
            ended=played.ended,
            interrupted=stopped,
        )

    def _champions(self, names: Sequence[str], number: int) -> dict[str, Champion]:
        """The best configuration of each library that has one; the first says which N all have."""
        N, found = searched_n(self.begun.earlier), dict[str, Champion]()
        for place, name in enumerate(names):
            if self.context.stop.requested:
                break
            options = self._options_of(name, N, len(names))
            self.context.say(f"Library {place + 1} of {len(names)}: {name}, {options.budget}.")
            search = LibrarySearch(
                blas=name,
                options=options,
                study=self.begun.name,
                number=number + place,
                whole=self.meter,
                earlier=self.begun.earlier,
            )
            try:
                champion = search.run(self.workbench, self.context)
            except NodesLostError:
                raise
            except BudgetTooSmallError as error:
                if N is None:
                    raise TunerError(self._budget_needed(error.run_s, len(names))) from error
                self._leave_out(name, str(error))
                continue
            except (TunerError, HplError) as error:
                self._leave_out(name, str(error))
                continue
            if champion is not None:
                found[name], N = champion, n_of(champion.best) or N
            elif not self.context.stop.requested:
                self._leave_out(name, "no run of it was valid")
        return found

    def _options_of(self, name: str, N: int | None, libraries: int) -> TuneOptions:
        """The options of one library's search: its share of the time, and the N of the first library."""
        budget = self.options.budget
        wall_s = None if budget.wall_s is None else SEARCH_PART / libraries * budget.wall_s
        overrides = {**(self.options.overrides or {}), **({"N": [str(N)]} if N else {})}
        return replace(self.options, budget=replace(budget, wall_s=wall_s), overrides=overrides, blas_only=(name,))

    def _leave_out(self, name: str, reason: str) -> None:
        self.left_out[name] = reason
        self.context.say(f"{name} is left out: {reason}.")

    def _budget_needed(self, run_s: float, libraries: int) -> str:
        needed_s = run_s * LEAST_RUNS * libraries / SEARCH_PART
        return (
            f"one run takes about {duration(run_s)}, more than the share of each of {libraries} libraries of the "
            f"budget ({self.options.budget}): their comparison needs --budget {compact(needed_s)} or more"
        )

    def _too_few(self, found: Collection[str]) -> str:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.left_out.items())
        only = f"only {listed(list(found))} gave a result" if found else "no library gave a result"
        return f"{only}, so there is nothing to compare ({reasons})"
