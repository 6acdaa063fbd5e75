"""Published results of real clusters, as files that come with hpltune state them."""

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
        role: "fitted" where a constant of the virtual cluster was fitted to this test, else "predicted".
        what: what was new in this test, in a phrase.
        apart: the test is so unlike the others that its error is not counted among theirs.
    """

    number: int
    gflops: float
    percent_of_peak: int
    role: str
    what: str
    params: Mapping[str, Scalar]
    apart: bool = False


@dataclass(frozen=True)
class PublishedGain:
    """A pair of tests that differ in one thing, by their numbers, and what that thing is."""

    what: str
    before: int
    after: int


@dataclass(frozen=True)
class PublishedAdvice:
    """What the authors advise, and the values of the search space that follow the advice."""

    what: str
    values: Mapping[str, Sequence[Scalar]]


@dataclass(frozen=True)
class KnownDifference:
    """A setting whose best value may be another in the simulation than in the publication, and why."""

    setting: str
    published: Scalar
    why: str


@dataclass(frozen=True)
class Published:
    """What a publication says of a cluster.

    Attributes:
        space: the search space of all settings that the authors could have changed.
        facts: what else the publication says, in sentences.
        unstated: settings that the publication does not state, with the values that the simulations take.
        best: the figures of its best configuration, by name with their units.
        differs: settings whose best published value is not the best one in the model, with the reason.
        gains: pairs of tests that differ in one thing.
        advice: what the authors advise; a second search follows it.
    """

    name: str
    cluster: str
    source: str
    space: str
    facts: Sequence[str]
    unstated: Mapping[str, Scalar]
    best: Mapping[str, float]
    tests: tuple[PublishedTest, ...]
    differs: tuple[KnownDifference, ...]
    gains: tuple[PublishedGain, ...]
    advice: PublishedAdvice

    def params(self, test: PublishedTest, ranks: int) -> dict[str, Scalar]:
        """A test as a complete point: the values that are stated, and those taken for the rest."""
        return {**self.unstated, **test.params, "layout": f"{ranks}x1"}

    def test(self, number: int) -> PublishedTest:
        """The test of that number."""
        return next(test for test in self.tests if test.number == number)


def names() -> tuple[str, ...]:
    """The names of the publications that come with hpltune."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _package().iterdir()))


def published(name: str) -> Published:
    """Read the figures of a publication.

    Raises:
        TunerError: there is none of that name.
    """
    if name not in names():
        raise UsageError(f"nothing is known of {name}: `hpltune reproduce` knows {', '.join(names())}")
    table: dict[str, Any] = tomllib.loads((_package() / f"{name}.toml").read_text(encoding="utf-8"))
    return Published(
        name=name,
        tests=tuple(PublishedTest(number=row.pop("test"), **row) for row in table.pop("tests")),
        differs=tuple(KnownDifference(**row) for row in table.pop("differs")),
        gains=tuple(PublishedGain(**row) for row in table.pop("gains")),
        advice=PublishedAdvice(table["advice"]["what"], table.pop("advice")["set"]),
        **table,
    )


def _package() -> Any:
    return files(__package__) / "published"
