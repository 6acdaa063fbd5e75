"""Lists the figures of a study: a new one is one file and one line here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from results.record import TrialRecord
from results.report.model import Drawable, Figure, Matrix, Part

from ..story import convergence, rate_by_size
from ..summary import StudySummary
from .best_nb import best_nb
from .libraries import libraries
from .repeats import repeats

SHOWN = 10
"""Configurations in the ranking of a page, and in its figure."""


@dataclass(frozen=True)
class FigureSource:
    """What a study has for its figures.

    Attributes:
        records: all its trials, in the order they were begun.
        best: the trial that stands for the best configuration; None where no run counts, as `summary` is then.
        explained: makes the parts that say which parameters matter; empty where none can be told. It may be slow.
    """

    records: Sequence[TrialRecord]
    best: TrialRecord | None
    summary: StudySummary | None
    explained: Callable[[], Sequence[Part]]


@dataclass(frozen=True)
class FigureKind:
    """A figure by its name.

    Attributes:
        shows: in a few words.
        needs: what a study must have for it.
        draw: makes the figure; None where the study has no data for it.
        in_story: a page shows it where it tells how the best was found.
    """

    name: str
    shows: str
    needs: str
    draw: Callable[[FigureSource], Drawable | None]
    in_story: bool = True


def _ranking(source: FigureSource) -> Drawable | None:
    return _first(source.summary.parts(SHOWN)) if source.summary else None


def _libraries(source: FigureSource) -> Figure | None:
    return libraries(source.summary.study, source.summary.ranking) if source.summary else None


def _size(source: FigureSource) -> Figure | None:
    return rate_by_size(source.records, source.best.params) if source.best else None


def _first(parts: Sequence[Part]) -> Drawable | None:
    """Return the first figure among the parts of a report."""
    return next((part for part in parts if isinstance(part, Figure | Matrix)), None)


KINDS = (
    FigureKind("convergence", "the best rate against machine time", "a full run", lambda of: convergence(of.records)),
    FigureKind("libraries", "the best of each BLAS and MPI, and how sure it is", "runs of two libraries", _libraries),
    FigureKind("nb", "the best rate at each NB, by BLAS and kernel", "runs at two NB", lambda of: best_nb(of.records)),
    FigureKind("size", "the rate of the best configuration against N", "runs of it at two N", _size),
    FigureKind("repeats", "noise and drift of repeated runs", "a repeated run", lambda of: repeats(of.records)),
    FigureKind("ranking", "the best configurations", "a full run", _ranking, in_story=False),
    FigureKind(
        "effects", "what each parameter explains", "a search", lambda of: _first(of.explained()), in_story=False
    ),
)
"""All figures, in the order in which pages show them."""
