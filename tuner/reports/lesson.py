"""What a lesson shows: the runs of a step beside the guess, and how far each lesson is."""

from collections.abc import Iterator, Sequence

from results.metrics import rate_text
from results.report.model import Heading, Part, Report, Sentence, Table, columns

from ..simulation.lesson import Lesson, LessonStep
from ..simulation.lesson_book import KeptAnswer, KeptRun, LessonBook
from ..simulation.reproduction import PublishedTuning
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
    told = any(run.test is not None for run in answer.runs)
    names = (step.parameter, "simulated", "published", "")[: 4 if told else 2]
    rows = tuple(_cells(run, published)[: len(names)] for run in answer.runs)
    return Table(
        "GFLOPS", columns(*names, words={step.parameter, ""}), rows, bold=frozenset({fastest} if len(rows) > 1 else ())
    )


def _cells(run: KeptRun, published: PublishedTuning) -> tuple[str, ...]:
    """A run as a row, with the published test that has the same values."""
    if run.test is None:
        return run.value, rate_text(run.gflops), "", ""
    test = published.test(run.test)
    return run.value, rate_text(run.gflops), f"{test.gflops:g}", f"test {test.number}, {test.role}"


def guesses_table(book: LessonBook) -> Table:
    """All guesses beside their answers."""
    rows = tuple(
        (step.title, _guessed(step, answer.guess), _guessed(step, step.result(answer.rates)))
        for step, answer in book.answered()
    )
    return Table("Your guesses", columns("step", "your guess", "simulated"), rows)


def _guessed(step: LessonStep, text: str | None) -> str:
    """A guess or an answer with its unit."""
    if text is None:
        return "none"
    return f"{step.parameter}={text}" if step.asks == "best" else f"{text} {step.unit}"


def lessons_report(books: Sequence[LessonBook]) -> Report:
    """All lessons, and how far somebody is in each."""
    rows = tuple(
        (book.lesson.name, book.lesson.title, f"{len(book.answered())} of {counted(len(book.lesson.steps), 'step')}")
        for book in books
    )
    facts: list[object] = [
        {"lesson": book.lesson.name, "steps": len(book.lesson.steps), "done": len(book.answered())} for book in books
    ]
    then = Sentence(" ".join(map(_then, books)))
    return Report("Lessons", (Table("Lessons", columns("lesson", "about", "done"), rows), then), facts)


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
