"""Lists the figures of a study: a new one is one file and one line here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from results.record import Study, TrialRecord
from results.report.model import Drawable, Figure, Gantt, Matrix, Part, Timeline
from results.store.networks import NetworkProbe

from ...explain.taught_study import TaughtStudy
from ...study.sizing.prediction import NotedPrediction
from ..context import Context
from ..pairs import strongest_pairs
from ..story import full_runs
from ..summary import StudySummary
from .best_nb import best_nb
from .conditions import conditions
from .effects import shares, values
from .front import front
from .libraries import libraries
from .messages import messages
from .parallel import parallel
from .phases import phases
from .rank_timeline import NEEDS, can_have_lanes
from .repeats import repeats
from .runs import growth_of_study, runs_figure
from .size import size

CONDITIONS, TIMELINE = "conditions", "timeline"
"""The kinds that draw single runs."""
SHOWN = 10
"""Configurations in the ranking of a page, and in its figure."""


@dataclass(frozen=True)
class FigureSource:
    """What a study has for its figures.

    Attributes:
        study: the study itself.
        records: all its trials, in the order they were begun.
        best: the trial that stands for the best configuration; None where no run counts, as `summary` is then.
        taught: teaches the engine the study, which may be slow; None where nothing can be explained.
        predicted: what the whole memory should give, as told when the study ended.
        probes: measurements of messages that belong to it.
        disturbed: reads the disturbed runs that are worth a figure, with what ranks said.
        confirmed: runs of `first` at a larger N, by `hpltune run --like`.
        lanes: draws what each rank of the best run did; None where nothing tells, or where that would take long.
        first: the trial of which the whole memory is predicted, else that of the best.
    """

    study: Study
    records: Sequence[TrialRecord]
    best: TrialRecord | None
    summary: StudySummary | None
    taught: Callable[[], TaughtStudy | None]
    predicted: NotedPrediction | None = None
    confirmed: Sequence[TrialRecord] = ()
    probes: Sequence[NetworkProbe] = ()
    disturbed: Callable[[], Sequence[TrialRecord]] = tuple
    lanes: Callable[[], Gantt | None] = lambda: None
    first: TrialRecord | None = None

    @property
    def context(self) -> Context:
        """Where its rates are from."""
        return Context.of_runs(self.study, full_runs(self.records))


@dataclass(frozen=True)
class FigureKind:
    """A figure by its name.

    Attributes:
        shows: in a few words.
        needs: what a study must have for it.
        make: makes the figure, or several of its kind, without where it is from; None or nothing where the study has
            no data for it.
        in_story: a page shows it where it tells how the best was found.
        there: says whether there is data for it, where to draw it takes time; None for a figure that is drawn at once.
    """

    name: str
    shows: str
    needs: str
    make: Callable[[FigureSource], Drawable | Sequence[Drawable] | None]
    in_story: bool = True
    there: Callable[[FigureSource], bool] | None = None

    def can_be_drawn(self, source: FigureSource) -> bool:
        """Whether a study has data for it."""
        return self.there(source) if self.there else bool(self.draw(source))

    def draw(self, source: FigureSource) -> list[Drawable]:
        """Make the figure of a study, or several, with where it is from; none where the study has no data for it."""
        made = self.make(source)
        several = [made] if isinstance(made, Drawable) else made or ()
        return [source.context.figure(one) for one in several]


def timelines(source: FigureSource) -> list[Timeline]:
    """Draw what the machine did during the best run, and during those that were disturbed most."""
    runs = [*([source.best] if source.best else []), *source.disturbed()]
    drawn = [(run, conditions(run)) for run in runs]
    return [Context.of_one(source.study, run).figure(line) for run, line in drawn if line is not None]


def _explained(make: Callable[[TaughtStudy], Drawable | None]) -> Callable[[FigureSource], Drawable | None]:
    return lambda source: make(taught) if (taught := source.taught()) else None


def _first(parts: Sequence[Part]) -> Drawable | None:
    """Return the first figure among the parts of a report."""
    return next((part for part in parts if isinstance(part, Figure | Matrix)), None)


KINDS = (
    FigureKind(
        "runs",
        "all full runs over time, and the best so far",
        "a full run",
        lambda of: runs_figure(of.study, of.records),
        in_story=False,
    ),
    FigureKind(
        "libraries",
        "the best of each BLAS and MPI, and how sure it is",
        "runs of two libraries",
        lambda of: libraries(of.study, of.summary.ranking) if of.summary else None,
    ),
    FigureKind(
        "nb",
        "the best rate at each NB, by BLAS and kernel",
        "runs at two NB",
        lambda of: best_nb(of.records),
    ),
    FigureKind(
        "size",
        "the rate of the best configuration at each N, and what is predicted",
        "runs of it at two N",
        lambda of: size(of.records, of.first, of.predicted, of.confirmed) if of.first else None,
    ),
    FigureKind(
        "phases",
        "how long each phase of HPL took in the best run",
        "an output of HPL with them",
        lambda of: phases(of.best) if of.best else None,
    ),
    FigureKind(
        TIMELINE,
        "what each rank of a simulated run does at each time: panel, broadcast, update, wait",
        NEEDS,
        lambda of: of.lanes(),
        there=lambda of: of.best is not None and can_have_lanes(of.study, of.best),
    ),
    FigureKind(
        "parallel",
        "all configurations as lines across their parameters, the best in colour",
        "four configurations that differ in two parameters",
        lambda of: parallel(of.summary.ranking) if of.summary else None,
        in_story=False,
    ),
    FigureKind("repeats", "noise and drift of repeated runs", "a repeated run", lambda of: repeats(of.records)),
    FigureKind(
        "convergence",
        "the best rate so far against machine time",
        "a full run",
        lambda of: growth_of_study(of.study, of.records),
        in_story=False,
    ),
    FigureKind(
        "ranking",
        "the best configurations",
        "a full run",
        lambda of: _first(of.summary.parts(SHOWN)) if of.summary else None,
        in_story=False,
    ),
    FigureKind(
        "front",
        "GFLOPS against peak, $ or W: what none beats in both",
        "a trade-off",
        lambda of: front(of.summary) if of.summary else None,
        in_story=False,
    ),
    FigureKind(
        "effects",
        "what each parameter explains",
        "a search",
        _explained(lambda of: shares("What matters", found) if (found := of.explanation.effects) else None),
        in_story=False,
    ),
    FigureKind(
        "values",
        "how far each value is behind the best one",
        "a search",
        _explained(lambda of: values(of.explanation.effects)),
        in_story=False,
    ),
    FigureKind(
        "messages",
        "the time of messages by their size",
        "a ping-pong",
        lambda of: messages(of.probes),
        in_story=False,
    ),
    FigureKind(
        CONDITIONS,
        "rate, clock, heat, power and CPU of others over the time of the best and of disturbed runs",
        "a run during which the machine was watched",
        timelines,
        in_story=False,
    ),
    FigureKind(
        "pair",
        "the two parameters that depend on each other most",
        "such a pair",
        _explained(lambda of: next(iter(strongest_pairs(of, 1)), None)),
        in_story=False,
    ),
)
"""All figures, in the order in which pages show them."""
