"""`hpltune best`: the best configurations of a study."""

from dataclasses import dataclass

from results.errors import NoValidRunError
from results.report.model import Report, Sentence, Tone
from results.store.store import Store

from ...database import db_option
from ...reports.answer_card import in_short, next_step
from ...reports.context import Context
from ...reports.library_ranking import LibraryRanking
from ...reports.summary import StudySummary
from ...study.names import is_shootout, made_by
from ...study.objective import rank_stored
from ...study.winner import command_text
from .show import state


@dataclass(frozen=True)
class BestResult:
    """The best configurations of a study.

    Attributes:
        following: what to do next.
        count: how many of them are shown, unless a front is.
        whole: with all figures of each, and what they tell of the machine.
        left_out: the sentence that not all are ranked, or None.
        order: what rounds tell of the BLAS libraries, in sentences; none where there were no rounds.
    """

    summary: StudySummary
    following: str
    count: int = 5
    whole: bool = False
    left_out: str | None = None
    order: tuple[str, ...] = ()

    def report(self) -> Report:
        """Report the ranking or the front, what speaks against it, and at the end the answer in short."""
        return self._told(page=False)

    def page(self) -> Report:
        """The same as a page, which begins with the answer and with what a reader must know first."""
        return self.context.page(self._told(page=True))

    @property
    def context(self) -> Context:
        """Where the rates are from."""
        ranking = self.summary.ranking
        runs = None if self.summary.known > len(ranking) else sum(entry.runs for entry in ranking)
        sizes = frozenset(int(entry.params["N"]) for entry in ranking if "N" in entry.params)
        return Context([self.summary.study], sizes, runs)

    def _told(self, *, page: bool) -> Report:
        cautions = self.context.cautions()
        answer = tuple(in_short(self.summary, Sentence(self.following)))
        ranking = (
            *self.summary.parts(self.count, sure=False, short=not (page or self.whole)),
            *map(Sentence, (*self.order, *filter(None, (self.left_out,)))),
        )
        told = (Sentence(caution, tone=Tone.CAUTION) for caution in cautions)
        parts = (*answer, *ranking) if page else (*ranking, *told, *answer)
        facts = {**self.summary.to_json(self.count), "cautions": cautions}
        return Report(f"Study {self.summary.study.name}", parts, facts)


def best_of_study(
    store: Store,
    study: str | None = None,
    count: int = 5,
    front: str | None = None,
    db: str | None = None,
    *,
    whole: bool = False,
) -> BestResult:
    """Rank the configurations of a study.

    Args:
        study: None for the newest that was tuned or imported.
        count: how many are shown, unless a front is.
        front: an objective; those that none beats both in GFLOPS and by it, as of a study that searched for these.
        db: where the user said that the store is; None for the user's own.
        whole: with all figures of each, and what they tell of the machine.

    Raises:
        ResultsError: there is no such study, or none of its runs was valid.
        TunerError: the other objective needs a fact of the machine that the study does not know.
    """
    tuned = (study for study in reversed(store.studies()) if made_by(study) is None)
    found = store.study(study) if study else next(tuned, None) or store.newest()
    stored = rank_stored(store, found, front=front is not None)
    if not stored.ranking:
        earlier = None if study else next((one.name for one in tuned if rank_stored(store, one).ranking), None)
        instead = f", and `hpltune best {earlier}` ranks an earlier one" if earlier else ""
        raise NoValidRunError(found.name, instead)
    summary = StudySummary.of(found, stored.ranking, front, stored.configurations, stored.fastest)
    order = tuple(LibraryRanking.stored(store, found).sentences()) if is_shootout(found) else ()
    following = next_step(summary, state(found, store), db_option(store) if db else "")
    return BestResult(summary, following, count, whole, stored.left_out, order)


def best_command(store: Store, study: str) -> str | None:
    """Write the script that repeats the best run of a study beside its HPL.dat, as `tune` leaves it.

    Returns:
        None where nothing was launched: the run was simulated, or imported.

    Raises:
        ResultsError: there is no such study, or none of its runs counts.
    """
    best = best_of_study(store, study).summary.ranking[0]
    record = store.get(study, best.best_record_number)
    return command_text(record) if record.command and not record.simulated else None
