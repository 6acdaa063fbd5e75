"""`hpltune learn`: one step of a lesson after the other is guessed, simulated and kept."""

from collections.abc import Iterator
from dataclasses import dataclass

from results.record import Kind, TrialRecord
from results.report.model import Part, Report, Sentence
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import load_cluster

from ..budget import Budget
from ..errors import TunerError
from ..events import Listener
from ..options import TuneOptions
from ..reports.lesson import answer_parts, book_facts, guesses_table, lessons_report
from ..simulation.cluster import SimulatedCluster, cluster_dict
from ..simulation.lesson import Lesson, LessonStep, lesson, lesson_names
from ..simulation.lesson_book import KeptAnswer, KeptRun, LessonBook
from ..simulation.plan import NETWORK
from ..simulation.reproduction import PublishedTuning, published
from ..simulation.session import virtual_session
from ..stopping import StopRequest
from ..study.names import free_name
from ..study.session import StudyContext
from ..user_dirs import UserDirs
from .session import open_session


@dataclass(frozen=True)
class TeachResult:
    """What came of a step.

    Attributes:
        answer: its runs, which are none where somebody stopped it.
        book: all that is kept of the lesson now.
    """

    step: LessonStep
    answer: KeptAnswer
    published: PublishedTuning
    book: LessonBook

    @property
    def interrupted(self) -> bool:
        """Somebody stopped it; the guess is kept."""
        return not self.answer.runs

    def report(self) -> Report:
        """The guess beside the runs, and why it is so."""
        parts: tuple[Part, ...] = ()
        if not self.interrupted:
            why = Sentence(f"Why: {self.step.why}")
            parts = (*answer_parts(self.step, self.answer, self.published), why)
        return Report(self.step.title, parts)


def opened_book(name: str, *, anew: bool = False) -> LessonBook:
    """What somebody has guessed in a lesson so far.

    Raises:
        TunerError: there is no such lesson, or what is kept cannot be read.
    """
    return LessonBook.open(lesson(name), UserDirs.of_user(to_read=True), anew=anew)


def book_report(book: LessonBook) -> Report:
    """All guesses beside their answers."""
    parts = (guesses_table(book),) if book.answered() else (Sentence("Nothing is guessed yet."),)
    return Report(book.lesson.title, parts, book_facts(book))


def all_lessons() -> Report:
    """The lessons that come with hpltune, and how far each is."""
    return lessons_report([opened_book(name) for name in lesson_names()])


def teach(
    book: LessonBook, step: LessonStep, guess: str | None, listener: Listener, stop: StopRequest, db: str | None = None
) -> TeachResult:
    """Keep a guess, simulate its step as a study, and keep what came out.

    Args:
        book: what is kept of the lesson.
        guess: as it is kept; None for none.
        db: a file or a URL; None for the user's own database.

    Raises:
        TunerError: a run gave no rate, or nothing can be kept.
        hpl.errors.HplError: SimGrid or HPL's source is missing.
        results.errors.ResultsError: the database cannot be used.
    """
    taught, answer = book.lesson, KeptAnswer(guess)
    figures, kept = published(taught.name), book.keep(step, answer)
    with open_session(db, listener, stop) as session:
        with stop.preparing():
            site = SimulatedCluster.open(load_cluster(figures.cluster), session.user_dirs, None, listener)
        name = free_name(session.store, f"{taught.name}-{step.name}")
        records = _simulated(taught, step, site, name, session)
        if stop.requested:
            return TeachResult(step, answer, figures, kept)
        answer = KeptAnswer(guess, name, tuple(_kept(records, step, figures, site.cluster)))
        if len(answer.runs) < len(step.values):
            reasons = [record.reason for record in records if record.gflops is None]
            raise TunerError(f"a run of this step gave no rate: {reasons[-1]}")
    return TeachResult(step, answer, figures, kept.keep(step, answer))


def answered(name: str, step: str, guess: str = "") -> TeachResult:
    """Simulate a step of a lesson and keep it with a guess: the way of a notebook.

    Args:
        guess: as somebody types it; "" for none.

    Raises:
        UsageError: there is no such lesson or step, or the guess is none of the values and no number.
        TunerError, HplError, ResultsError: as of `teach`.
    """
    book = opened_book(name)
    asked = book.lesson.step(step)
    return teach(book, asked, asked.read_guess(guess) if guess else None, lambda _: None, StopRequest())


def _simulated(
    taught: Lesson, step: LessonStep, site: SimulatedCluster, name: str, context: StudyContext
) -> list[TrialRecord]:
    """Run all values of a step."""
    options = TuneOptions(
        space=taught.space,
        engine="grid",
        budget=Budget(trials=len(step.values)),
        overrides=step.overrides,
        cluster=cluster_dict(site.cluster),
    )
    with virtual_session(name, options, site, context, lesson=taught.name) as study:
        first = study.session.space.first
        study.try_all([{**first, step.scan: value} for value in step.values], Kind.SEARCH)
        return list(study.session.records((Kind.SEARCH,)))


def _kept(
    records: list[TrialRecord], step: LessonStep, figures: PublishedTuning, cluster: VirtualCluster
) -> Iterator[KeptRun]:
    """The runs of a step that gave a rate, in the order of its values."""
    rates = {record.params[step.scan]: record for record in records if record.gflops is not None}
    asked = {*step.set, step.scan}
    assumed = {name: value for name, value in figures.unstated.items() if name in asked}
    for value in step.values:
        record = rates.get(value)
        if record is not None and record.gflops is not None:
            usual = {f"net.{NETWORK}": cluster.default_network, **assumed}
            same = [test.number for test in figures.tests if {**usual, **test.params}.items() <= record.params.items()]
            yield KeptRun(str(value), record.gflops, same[0] if same else None)
