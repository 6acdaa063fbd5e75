"""Lessons: the steps of a published tuning as questions, each with a scan of one parameter that answers it."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, Literal

from hpl.params import Scalar
from results.metrics import rate_text

from ..errors import UsageError

Asks = Literal["best", "rate", "times", "percent"]
"""What is guessed: the fastest value, GFLOPS of one value, or how much faster one value is than another."""


@dataclass(frozen=True)
class LessonStep:
    """A question of a lesson.

    Attributes:
        set: values that differ from those of the lesson's space.
        scan: the parameter that takes all `values`, the others being as they are.
        of, than: the values that a number is asked about.
        test: number of the published test to which it belongs; None for none.
    """

    name: str
    title: str
    question: str
    scan: str
    values: tuple[Scalar, ...]
    asks: Asks
    why: str
    set: Mapping[str, Scalar] = field(default_factory=dict)
    of: Scalar | None = None
    than: Scalar | None = None
    test: int | None = None

    @property
    def overrides(self) -> dict[str, list[str]]:
        """What its study replaces in the lesson's space."""
        held = {name: [str(value)] for name, value in self.set.items()}
        return {**held, self.scan: [str(value) for value in self.values]}

    @property
    def parameter(self) -> str:
        """What people call the parameter that is scanned."""
        return self.scan.removeprefix("net.")

    @property
    def unit(self) -> str:
        """That of a guess; "" where it is one of the values."""
        return {"best": "", "rate": "GFLOPS", "times": "times", "percent": "%"}[self.asks]

    @property
    def choices(self) -> str:
        """The values, of which one is to be chosen."""
        return _or([str(value) for value in self.values])

    def read_guess(self, text: str) -> str:
        """A guess as it is kept.

        Raises:
            UsageError: it is none of the values, or no number.
        """
        word = text.strip()
        if self.asks == "best":
            found = next((str(value) for value in self.values if str(value).lower() == word.lower()), None)
            if found is None:
                raise UsageError(f"{word[:40]!r} is none of them: write {self.choices}, or nothing for no guess")
            return found
        try:
            number = float(word.replace("%", "").strip())
        except ValueError:
            comma = ", with a point before decimals" if "," in word else ""
            raise UsageError(f"{word[:40]!r} is no number: write one{comma}, or nothing for no guess") from None
        if not math.isfinite(number) or (number <= 0 and self.asks != "percent"):
            which = "any number" if self.asks == "percent" else "a number above 0"
            raise UsageError(f"{word[:40]!r} cannot be: write {which}, or nothing for no guess")
        return f"{number:g}"

    def result(self, rates: Mapping[str, float]) -> str:
        """The answer that the rates give, as a guess is written."""
        if self.asks == "best":
            return max(rates, key=lambda value: rates[value])
        rate = rates[str(self.of)]
        if self.asks == "rate":
            return rate_text(rate)
        ratio = rate / rates[str(self.than)]
        return f"{ratio:.2f}" if self.asks == "times" else f"{100 * (ratio - 1):.1f}"

    def told(self, guess: str | None, rates: Mapping[str, float]) -> str:
        """A guess beside the answer, as a sentence."""
        result = self.result(rates)
        if self.asks == "best":
            best = f"{self.parameter}={result} is the fastest in the simulation"
            if guess is None:
                return f"{best}."
            if guess == result:
                return f"The guess is right: {best}."
            less = 100 * (1 - rates[guess] / rates[result])
            return f"{best}. The guess, {self.parameter}={guess}, is {less:.1f} % slower."
        told = f"The simulation: {result} {self.unit}."
        return told if guess is None else f"{told} The guess: {guess} {self.unit}."


@dataclass(frozen=True)
class Lesson:
    """Questions about a published tuning.

    Attributes:
        name: that of the publication, too.
        space: the search space with one value for each parameter, where all steps begin.
    """

    name: str
    title: str
    space: str
    steps: tuple[LessonStep, ...]

    def step(self, name: str) -> LessonStep:
        """The step of that name.

        Raises:
            UsageError: there is none.
        """
        names = [step.name for step in self.steps]
        if name not in names:
            raise UsageError(f"the lesson {self.name} has no step {name}: it has {', '.join(names)}")
        return self.steps[names.index(name)]


def lesson_names() -> tuple[str, ...]:
    """The names of the lessons that come with hpltune."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _package().iterdir()))


def lesson(name: str) -> Lesson:
    """Read a lesson.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in lesson_names():
        near = get_close_matches(name, lesson_names(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"take {_or(lesson_names())}"
        raise UsageError(f"there is no lesson {name}: {hint}")
    table: dict[str, Any] = tomllib.loads((_package() / f"{name}.toml").read_text(encoding="utf-8"))
    steps = tuple(LessonStep(**{**row, "values": tuple(row["values"])}) for row in table.pop("steps"))
    return Lesson(name=name, steps=steps, **table)


def _or(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _package() -> Any:
    return files(__package__) / "lessons"
