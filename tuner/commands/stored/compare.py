"""`hpltune compare`: the best of several studies, or the values of one parameter within a study."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from itertools import combinations

import numpy as np

from hpl.params import Scalar
from results.errors import NoValidRunError
from results.printed_run import PrintedRun
from results.record import SMALLER_RUNS, Study, TrialRecord
from results.report.model import Figure, Report, Sentence, Tone
from results.stats.compare import Contrast, RateSample, contrasts, corrected_for_many, of_lead
from results.stats.levels import change, drift_corrected
from results.stats.noise import Noise, noise_of
from results.stats.ranking import Ranked, on_the_hosts_left, rank
from results.store.store import Store

from ...asks.compare import CompareAsk
from ...database import open_store
from ...errors import UsageError
from ...machine.equipment import PROGRAM
from ...reports.comparison import Comparison, InTurn, Side
from ...reports.context import Context
from ...reports.figures.runs import growth
from ...study.lifecycle import SIDE
from ...study.names import is_shootout
from ...study.objective import of_study, ranking_of
from ...study.occasions import known_occasions
from ...study.order import Order, champions, shown_noise
from ...study.shootout import blas_of
from ...user_dirs import UserDirs
from ...words import listed

MOST_HELD = 200
"""Runs of a side that are held against those of the others, to find the same run on two sides."""
MOST_DRAWN = 10_000
"""Trials of a study whose growth is drawn: to read more takes longer than all else."""
BLAS = "blas"
DATE = "date"
"""Stands where a parameter would: the day in UTC on which a run began."""


@dataclass(frozen=True)
class CompareResult:
    """What was compared, and how it differs.

    Attributes:
        grown: how the best rates of the studies grew; None where that is not known of two.
    """

    comparison: Comparison
    by: str | None
    grown: Figure | None = None

    def report(self) -> Report:
        """Report the pairs, what can be shown, all runs as a figure, and what speaks against the rates."""
        told = [Sentence(caution, tone=Tone.CAUTION) for caution in self.context.cautions()]
        report = self._found()
        return replace(report, parts=(*report.parts, *told))

    def page(self) -> Report:
        """The same as a page, which begins with the verdict, and tells last where the rates are from."""
        found, context = self._found(), self.context
        verdict, *parts = self.comparison.page_parts(*([self.grown] if self.grown else []))
        head = context.page(replace(found, parts=())).parts
        made = [part for part in head if isinstance(part, Sentence) and part.tone is Tone.PLAIN]
        known = [part for part in head if part not in made]
        return replace(found, parts=(verdict, *known, *context.captioned(parts), *made))

    @property
    def context(self) -> Context:
        """Where the rates are from."""
        sides = self.comparison.sides
        sizes = frozenset(side.N for side in sides if side.N)
        studies = {side.study.name: side.study for side in sides}
        return Context(list(studies.values()), sizes, sum(side.best.runs for side in sides))

    def _found(self) -> Report:
        """The pairs, what can be shown, and all runs as a figure."""
        sides = self.comparison.sides
        what = listed([side.name for side in sides])
        turns = ", measured in turn" if self.comparison.in_turn else ""
        title = f"{self.by} in study {sides[0].study.name}: {what}" if self.by else f"Studies {what}{turns}"
        cautions = {"cautions": self.context.cautions()}
        facts: list[object] = [{**pair, **cautions} for pair in self.comparison.facts()]
        return Report(title, tuple(self.comparison.parts()), facts)


def compare(store: Store, request: CompareAsk) -> CompareResult:
    """Compare studies, or the values of a parameter, each at its best configuration.

    Raises:
        UsageError: the request names too few studies or too many, or a parameter without several values.
        ResultsError: there is no such study, or one has no valid run.
    """
    require_comparable(request)
    if request.by:
        study = store.study(request.studies[0]) if request.studies else store.newest()
        found = _days(store, study) if request.by == DATE else _values(store, study, request.by)
    else:
        found = [_named(store, name) for name in request.studies]
    sides, samples = [side for side, _ in found], [sample for _, sample in found]
    _refuse_workloads(sides)
    _refuse_copies(sides)
    several = request.by in {None, DATE} and any(not side.study.simulated for side in sides)
    occasions = (
        known_occasions(
            store, [(one.study, store.get(one.study.name, one.best.best_record_number)) for one in _ours(store, sides)]
        )
        if several
        else None
    )
    differences: Sequence[Contrast] = contrasts(samples, request.difference_percent / 100.0, occasions)
    if request.by in {BLAS, PROGRAM} and is_shootout(sides[0].study):
        differences = _as_rounds_tell(store, sides, differences, request.difference_percent / 100.0)
    grown = _grown(store, sides) if request.by is None else None
    return CompareResult(Comparison(sides, differences, request.difference_percent), request.by, grown)


def _grown(store: Store, sides: Sequence[Side]) -> Figure | None:
    """Draw how the best rates of several studies of this database grew; very large ones are left out."""
    names = dict.fromkeys(side.study.name for side in _ours(store, sides))
    drawn = {name: store.records(name) for name in names if store.count(name) <= MOST_DRAWN}
    grown = growth(drawn, "study", least=2)
    return Context(list(map(store.study, drawn))).figure(grown) if grown else None


def compared_in_turn(
    store: Store, study: Study, names: Sequence[str], in_turn: InTurn, difference_percent: float
) -> CompareResult:
    """Compare configurations that ran in turn, within one occasion.

    Args:
        study: holds their runs.
        names: of the sides in their order; each has a valid run.
        difference_percent: as of a request.
    """
    by_name = {str(side.best.params[SIDE]): (side, sample) for side, sample in _values(store, study, SIDE)}
    found = [by_name[name] for name in names]
    sides = [replace(side, name=name) for name, (side, _) in zip(names, found, strict=True)]
    differences = contrasts([sample for _, sample in found], difference_percent / 100.0)
    return CompareResult(Comparison(sides, differences, difference_percent, in_turn), None)


def _ours(store: Store, sides: Sequence[Side]) -> list[Side]:
    """The sides that are studies of this database."""
    here = {study.name: study for study in store.studies()}
    return [side for side in sides if here.get(side.study.name) == side.study]


def _refuse_workloads(sides: Sequence[Side]) -> None:
    """Refuse sides of several workloads.

    Raises:
        UsageError: there are.
    """
    first = sides[0].study
    for side in sides[1:]:
        one, other = first.workload, side.study.workload
        if one is not other:
            both = f"study {first.name} is of {one.title} and study {side.study.name} of {other.title}"
            raise UsageError(f"{both}, whose rates count other work: they are never compared")


def _refuse_copies(sides: Sequence[Side]) -> None:
    """Refuse sides whose runs are all the same ones, by row, residual and time stamps.

    Raises:
        UsageError: there is nothing to compare.
    """
    for one, other in combinations(sides, 2):
        dated = all(run.stamps is not None for side in (one, other) for run in side.printed)
        same = len(one.printed) == len(other.printed) == one.shared_with(other)
        if one.printed and same and dated:
            runs = "run is" if len(one.printed) == 1 else "runs are"
            raise UsageError(
                f"studies {one.name} and {other.name}: the {runs} the same (same row, residual and time stamps), so "
                "there is nothing to compare"
            )


def _as_rounds_tell(
    store: Store, sides: Sequence[Side], found: Sequence[Contrast], difference: float
) -> Sequence[Contrast]:
    """Differences of libraries, of those that ran in rounds by the statistic by which `hpltune blas` ranks them."""
    study, records = sides[0].study, store.records(sides[0].study.name)
    noise = shown_noise(study, records)
    rounds = Order.of(records, shown=noise)
    pairs = list(combinations([blas_of(side.best.params) for side in sides], 2))
    told = rounds.leads_of(pairs)
    return corrected_for_many(
        [
            of_lead(told[pair], len(rounds.quiet), noise, difference, len(pairs)) if pair in told else contrast
            for pair, contrast in zip(pairs, found, strict=True)
        ]
    )


def require_comparable(request: CompareAsk) -> None:
    """Refuse a request that says too little or too much.

    Raises:
        UsageError: a sentence says what.
    """
    if not request.difference_percent > 0:
        raise UsageError("it must be above 0", field="difference", given=f"{request.difference_percent:g}%")
    if request.by and len(request.studies) > 1:
        raise UsageError("⟦by⟧ compares values within one study: name only one, or leave ⟦by⟧ out", field="by")
    if not request.by and len(request.studies) < 2:
        raise UsageError("compare needs two studies or more, or one and ⟦by⟧ with a parameter such as NB")
    twice = [name for name in request.studies if request.studies.count(name) > 1]
    if twice:
        raise UsageError(f"study {twice[0]} is named twice: compare it with another one")


@dataclass(frozen=True)
class ComparedStudy:
    """A study with what its runs tell of the machine.

    Attributes:
        ranking: its configurations, best first, at least one.
        gflops: the rates of each configuration by its key, corrected to the last speed of the machine.
        changed: relative change of that speed during the study; 0 for none.
    """

    study: Study
    ranking: Sequence[Ranked]
    gflops: Mapping[str, tuple[float, ...]]
    changed: float
    noise: Noise

    @classmethod
    def of(cls, study: Study, ranking: Sequence[Ranked]) -> "ComparedStudy":
        """Correct the rates of a study, and compute their noise from all that ran twice.

        Raises:
            NoValidRunError: no run is valid.
        """
        if not ranking:
            raise NoValidRunError(study.name)
        known = study.notes.noise_at_first
        gflops = {entry.key: entry.gflops for entry in drift_corrected(ranking, known)}
        quiet = [gflops[entry.key] for entry in ranking if entry.repeats]
        noise = noise_of([np.log(rates) for rates in quiet], known)
        return cls(study, ranking, gflops, change(ranking, known), noise)

    def side(self, store: Store, best: Ranked, name: str, *, in_rounds: bool = False) -> tuple[Side, RateSample]:
        """Make a side of one of its configurations.

        Args:
            in_rounds: the other sides are of this study too, so that runs of one round belong together.
        """
        hpl = store.get(self.study.name, best.best_record_number).hpl
        rates = self.gflops[best.key]
        seen = any(len(own) > 1 for own in self.gflops.values())
        side = Side(name, self.study, replace(best, gflops=rates), hpl.N if hpl else None, self.changed, seen)
        times = best.times if in_rounds else ()
        return side, RateSample(rates, self.noise, self.study.how == "simulated", times, seen)


def _named(store: Store, name: str) -> tuple[Side, RateSample]:
    """Find the best configuration of a study, of this database or of another.

    Raises:
        ResultsError: there is no such database or study, or no run of it is valid.
    """
    place, mark, study = name.rpartition("#")
    if not mark:
        return _best(store, store.study(name), name)
    with open_store(place, UserDirs.of_user(to_read=True), create=False) as other:
        return _best(other, other.study(study), f"{study} ({place.rsplit('/', 1)[-1]})")


def _best(store: Store, study: Study, name: str) -> tuple[Side, RateSample]:
    """Find the best configuration of a study."""
    compared = ComparedStudy.of(study, ranking_of(store, study))
    best = compared.ranking[0]
    side, sample = compared.side(store, best, name)
    runs = [] if study.simulated else store.contenders(study.name).records
    of_best = [record for record in runs if record.key == best.key and record.ranked]
    printed = tuple(PrintedRun.of(store.get(study.name, record.number)) for record in of_best[:MOST_HELD])
    return replace(side, printed=printed), sample


def _days(store: Store, study: Study) -> list[tuple[Side, RateSample]]:
    """Find the best configuration of each day, the first day first; what a day's runs gave is not corrected."""
    by_day: dict[str, list[TrialRecord]] = {}
    for record in on_the_hosts_left(store.records(study.name)):
        if record.ranked and record.kind not in SMALLER_RUNS:
            by_day.setdefault(f"{record.started_at.astimezone(UTC):%Y-%m-%d}", []).append(record)
    if len(by_day) < 2:
        ran = (
            f"all valid runs of study {study.name} are of {next(iter(by_day))}"
            if by_day
            else (f"no full run of study {study.name} is valid")
        )
        raise UsageError(f"{ran}: there is nothing to compare", field="by", given=DATE)
    found = []
    for day, records in sorted(by_day.items()):
        compared = ComparedStudy.of(study, of_study(study).ranked(rank(records)))
        found.append(compared.side(store, compared.ranking[0], day))
    return found


def _values(store: Store, study: Study, name: str) -> list[tuple[Side, RateSample]]:
    """Find the best configuration with each value of a parameter, the best value first."""
    records = on_the_hosts_left(store.records(study.name))
    compared = ComparedStudy.of(study, of_study(study).ranked(rank(records)))
    bests: dict[Scalar, Ranked] = {}
    if name in {BLAS, PROGRAM} and is_shootout(study):
        for one in champions(records, compared.ranking).values():
            bests.setdefault(one.params.get(name, ""), one)
        bests.pop("", None)
    for entry in compared.ranking:
        if name in entry.params:
            bests.setdefault(entry.params[name], entry)
    if not bests:
        known = sorted({known for entry in compared.ranking for known in entry.params})
        raise UsageError(f"study {study.name} has no such parameter; it has {listed(known)}", field="by", given=name)
    if len(bests) == 1:
        (value,) = bests
        raise UsageError(
            f"all valid runs of study {study.name} have {value}: there is nothing to compare", field="by", given=name
        )
    return [compared.side(store, entry, f"{name}={value}", in_rounds=True) for value, entry in bests.items()]
