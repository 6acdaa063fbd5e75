"""What somebody guessed in a lesson and what came out, kept in the user's data folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import TunerError
from ..user_dirs import UserDirs
from ..user_files import read_text, write_text
from .lesson import Lesson, LessonStep


@dataclass(frozen=True)
class KeptRun:
    """A run of a scan: the value of its parameter, its rate, and the published test with the same values."""

    value: str
    gflops: float
    test: int | None = None


@dataclass(frozen=True)
class KeptAnswer:
    """What is kept of a step.

    Attributes:
        guess: None where none was made.
        study: the study of its runs.
        runs: empty while the scan is not at its end.
    """

    guess: str | None
    study: str = ""
    runs: tuple[KeptRun, ...] = ()

    @property
    def rates(self) -> Mapping[str, float]:
        """GFLOPS by the value of the scanned parameter."""
        return {run.value: run.gflops for run in self.runs}


@dataclass(frozen=True)
class LessonBook:
    """The answers of one lesson, by the names of its steps.

    Guesses are a person's own, so they are beside the database and not in it: a class may share that.
    """

    lesson: Lesson
    place: Path
    answers: Mapping[str, KeptAnswer] = field(default_factory=dict)

    @classmethod
    def open(cls, lesson: Lesson, dirs: UserDirs, *, anew: bool = False) -> "LessonBook":
        """The book of a lesson; an empty one where nothing is kept.

        Args:
            anew: what is kept is not read; the next answer replaces all of it.

        Raises:
            TunerError: what is kept cannot be read.
        """
        place = dirs.data / "lessons" / f"{lesson.name}.json"
        if anew or not place.exists():
            return cls(lesson, place)
        try:
            kept = json.loads(read_text(place, f"the guesses in {place}"))
            answers = {
                name: KeptAnswer(row["guess"], row["study"], tuple(KeptRun(**run) for run in row["runs"]))
                for name, row in kept.items()
                if name in {step.name for step in lesson.steps}
            }
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            remedy = f"`hpltune learn {lesson.name} ⟦again⟧` begins the lesson anew"
            raise TunerError(f"{place}, which keeps your guesses, is damaged: {remedy}") from error
        return cls(lesson, place, answers)

    def answered(self) -> Sequence[tuple[LessonStep, KeptAnswer]]:
        """The steps that are done, with what is kept of them, in the order of the lesson."""
        return [(step, self.answers[step.name]) for step in self.lesson.steps if self.is_done(step)]

    def is_done(self, step: LessonStep) -> bool:
        """Whether the scan of a step is at its end."""
        return step.name in self.answers and bool(self.answers[step.name].runs)

    def keep(self, step: LessonStep, answer: KeptAnswer) -> "LessonBook":
        """Write what is known of a step; the book with it.

        Raises:
            TunerError: it cannot be written.
        """
        answers = {**self.answers, step.name: answer}
        write_text(self.place, json.dumps({name: asdict(one) for name, one in answers.items()}, indent=1) + "\n")
        return LessonBook(self.lesson, self.place, answers)
