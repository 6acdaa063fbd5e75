"""Published results of real clusters, to be set beside simulated ones."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from hpl.params import Scalar

from ...errors import UsageError


@dataclass(frozen=True)
class PublishedTest:
    """One row of a published table.

    Attributes:
        percent_of_peak: as published, a whole number.
        role: "fitted" where a constant of the virtual cluster was fitted to it, else "predicted".
        what: what was new in it, in a phrase.
        apart: it is so unlike the others that its error is not counted among theirs.
    """

    number: int
    gflops: float
    percent_of_peak: int
    role: str
    what: str
    params: Mapping[str, Scalar]
    apart: bool = False


@dataclass(frozen=True)
class Gain:
    """What made one test faster than another, by their numbers."""

    what: str
    before: int
    after: int


@dataclass(frozen=True)
class Advice:
    """What readers are told to do, and the values of the space that it leaves."""

    what: str
    values: Mapping[str, Sequence[Scalar]]


@dataclass(frozen=True)
class Differs:
    """A setting of which a simulation may find another best value than the authors did, and the sentences why."""

    setting: str
    published: Scalar
    why: str


@dataclass(frozen=True)
class Published:
    """What a publication says of a cluster.

    Attributes:
        facts: what else it says, in sentences.
        unstated: settings the publication does not give, with the values taken.
        best: its summary, by name with units.
        space: the search space of all that could have been turned.
        differs: settings whose best published value the model does not find, with the reason.
        gains: pairs of tests that differ in one thing.
        advice: to be weighed against a free search.
    """

    name: str
    cluster: str
    source: str
    space: str
    facts: Sequence[str]
    unstated: Mapping[str, Scalar]
    best: Mapping[str, float]
    tests: tuple[PublishedTest, ...]
    differs: tuple[Differs, ...]
    gains: tuple[Gain, ...]
    advice: Advice

    def params(self, test: PublishedTest, ranks: int) -> dict[str, Scalar]:
        """A test as a point: what is stated, what was taken for the rest."""
        return {**self.unstated, **test.params, "layout": f"{ranks}x1"}

    def test(self, number: int) -> PublishedTest:
        """The row of that number."""
        return next(test for test in self.tests if test.number == number)


def names() -> tuple[str, ...]:
    """Publications that come with hpltune."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _package().iterdir()))


def published(name: str) -> Published:
    """A publication's figures.

    Raises:
        TunerError: there is none of that name.
    """
    if name not in names():
        raise UsageError(f"nothing is known of {name}: `hpltune reproduce` knows {', '.join(names())}")
    table: dict[str, Any] = tomllib.loads((_package() / f"{name}.toml").read_text(encoding="utf-8"))
    return Published(
        name=name,
        tests=tuple(PublishedTest(number=row.pop("test"), **row) for row in table.pop("tests")),
        differs=tuple(Differs(**row) for row in table.pop("differs")),
        gains=tuple(Gain(**row) for row in table.pop("gains")),
        advice=Advice(table["advice"]["what"], table.pop("advice")["set"]),
        **table,
    )


def _package() -> Any:
    return files(__package__) / "published"
