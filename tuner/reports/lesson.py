"""What a lesson shows: the runs of a step beside the guess, and how far each lesson is."""

from collections.abc import Iterator, Sequence

from results.metrics import rate_text
from results.report.model import FactColumn, Heading, Part, Report, Sentence, Table, facts_of, table_of

from ..simulation.lesson import Lesson, LessonStep
from ..simulation.lesson_book import KeptAnswer, KeptRun, LessonBook
from ..simulation.reproduction import PublishedTest, PublishedTuning
from ..words import counted


def question_parts(lesson: Lesson, step: LessonStep) -> tuple[Part, ...]:
    """The question of a step."""
    number = lesson.steps.index(step) + 1
    test = f" (test {step.test} of the article)" if step.test is not None else ""
    return (
        Heading(f"Step {number} of {len(lesson.steps)}: {step.title}{test}"),
        Sentence(step.question),
    )


def answer_parts(step: LessonStep, answer: KeptAnswer, published: PublishedTuning) -> Iterator[Part]:
    """The runs of a step, and the guess beside the answer."""
    yield runs_table(step, answer, published)
    yield Sentence(step.told(answer.guess, answer.rates))


def runs_table(step: LessonStep, answer: KeptAnswer, published: PublishedTuning) -> Table:
    """The runs of a step, simulated beside published; the fastest stands out."""
    fastest = max(range(len(answer.runs)), key=lambda place: answer.runs[place].gflops)
    tests: dict[int | None, PublishedTest] = {
        run.test: published.test(run.test) for run in answer.runs if run.test is not None
    }
    shown: tuple[FactColumn[KeptRun], ...] = (
        FactColumn(step.parameter, lambda run: run.value, words=True),
        FactColumn("simulated", lambda run: run.gflops, rate_text),
        FactColumn("published", lambda run: tests.get(run.test), lambda test: f"{test.gflops:g}", optional=True),
        FactColumn(
            "", lambda run: tests.get(run.test), lambda one: f"test {one.number}, {one.role}", words=True, optional=True
        ),
    )
    return table_of("GFLOPS", shown, answer.runs, bold=[fastest] if len(answer.runs) > 1 else ())


def guesses_table(book: LessonBook) -> Table:
    """All guesses beside their answers."""
    shown: tuple[FactColumn[tuple[LessonStep, KeptAnswer]], ...] = (
        FactColumn("step", lambda one: one[0].title, words=True),
        FactColumn("your guess", lambda one: _guessed(one[0], one[1].guess), words=True),
        FactColumn("simulated", lambda one: _guessed(one[0], one[0].result(one[1].rates)), words=True),
    )
    return table_of("Your guesses", shown, list(book.answered()))


def _guessed(step: LessonStep, text: str | None) -> str:
    """A guess or an answer with its unit."""
    if text is None:
        return "none"
    return f"{step.parameter}={text}" if step.asks == "best" else f"{text} {step.unit}"


def lessons_report(books: Sequence[LessonBook]) -> Report:
    """All lessons, and how far somebody is in each."""
    facts: list[object] = [facts_of(BOOKS, book) for book in books]
    then = Sentence(" ".join(map(_then, books)))
    return Report("Lessons", (table_of("Lessons", BOOKS, books), then), facts)


BOOKS: tuple[FactColumn[LessonBook], ...] = (
    FactColumn("lesson", lambda book: book.lesson.name, key="lesson", words=True),
    FactColumn("about", lambda book: book.lesson.title, words=True),
    FactColumn("", lambda book: len(book.lesson.steps), None, "steps"),
    FactColumn("", lambda book: len(book.answered()), None, "done"),
    FactColumn("done", lambda book: f"{len(book.answered())} of {counted(len(book.lesson.steps), 'step')}", words=True),
)
"""What is told of each lesson."""


def _then(book: LessonBook) -> str:
    """What to call next in a lesson."""
    name, done = book.lesson.name, len(book.answered())
    if done == len(book.lesson.steps):
        return f"`hpltune report ⟦as⟧ {name}` makes the report of {name}."
    return f"`hpltune learn {name}` {'goes on with' if done else 'begins'} step {done + 1}."


def book_facts(book: LessonBook) -> dict[str, object]:
    """The guesses and answers that are kept, for scripts."""
    return {
        "lesson": book.lesson.name,
        "steps": len(book.lesson.steps),
        "answers": [
            {
                "step": step.name,
                "asks": step.asks,
                "parameter": step.scan,
                "guess": answer.guess,
                "result": step.result(answer.rates),
                "study": answer.study,
                "test": step.test,
                "gflops": dict(answer.rates),
            }
            for step, answer in book.answered()
        ],
    }
