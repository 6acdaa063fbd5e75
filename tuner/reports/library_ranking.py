"""The ranking of BLAS libraries that ran in rounds, for people and for scripts."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from results.disturbance import Conditions
from results.record import SMALLER_RUNS, Study, TrialRecord
from results.report.model import FactColumn, Figure, Part, Sentence, Series, Table, Wrap, table_of
from results.report.ranking_table import named_values, parameter_columns
from results.stats.disturbed_runs import DisturbedRuns
from results.stats.ranking import Ranked, varying
from results.store.store import Store

from ..machine.equipment import PROGRAM, Equipment
from ..machine.peak import above_peak
from ..study.objective import ranking_of
from ..study.order import (
    CLAIMED,
    DOUBT,
    LEAST_ROUNDS,
    LibraryPlace,
    Order,
    champions,
    contradicted,
    near,
    shown_noise,
)
from ..study.shootout import RIVAL, blas_of, memory_n, n_of, small_n
from ..words import counted, listed

TOLD_APART = frozenset({"blas", "N"})
"""Parameters that the table tells elsewhere: they are not listed with those of a library's best."""


FEWEST = 3
"""Configurations of a library from which its best says something of the library, where its dgemm is not known."""


@dataclass(frozen=True)
class LibraryRanking:
    """The libraries of a study, each by its best configuration.

    Attributes:
        order: of those that ran in rounds.
        best: of all libraries, by name, fastest first.
        ran: the valid runs of each library, by the configuration.
        shown: noise of the machine, as its repeated runs show it.
        disturbed: how many runs were disturbed, or may have been.
    """

    study: Study
    order: Order
    best: Mapping[str, Ranked]
    ran: Mapping[str, Counter[str]]
    shown: float = 0.0
    disturbed: DisturbedRuns = field(default_factory=lambda: DisturbedRuns(0, 0, 0))

    @classmethod
    def of(cls, study: Study, records: Sequence[TrialRecord], ranking: Sequence[Ranked]) -> "LibraryRanking":
        """What the trials of a study tell, and the ranking of all its configurations."""
        shown, ran = shown_noise(study, records), defaultdict[str, Counter[str]](Counter)
        for record in records:
            if record.ranked and record.kind not in SMALLER_RUNS:
                ran[blas_of(record.params)][record.key] += 1
        order = Order.of(records, shown=shown)
        return cls(study, order, champions(records, ranking), ran, shown, DisturbedRuns.of(records))

    @classmethod
    def stored(cls, store: Store, study: Study) -> "LibraryRanking":
        """What a stored study tells."""
        return cls.of(study, store.records(study.name), ranking_of(store, study))

    @property
    def programs(self) -> list[str]:
        """Those of the libraries that programs bring."""
        called = self.study.host.get(PROGRAM)
        return [name for name in self.best if isinstance(called, Mapping) and name in called]

    @property
    def kind(self) -> str:
        """What each of them is, in words."""
        return "BLAS or program" if self.programs else "BLAS"

    @property
    def title(self) -> str:
        """What is compared, and in which study."""
        return f"BLAS libraries{' and programs' if self.programs else ''} in study {self.study.name}"

    @property
    def others(self) -> list[str]:
        """Libraries without rounds, fastest first."""
        placed = {place.blas for place in self.order.places}
        return [name for name in self.best if name not in placed]

    def parts(self) -> list[Part]:
        """Report the ranking, how sure it is, and what it holds for."""
        if not self.best:
            return []
        return [self._table(), *self._figure(), *map(Sentence, self.sentences())]

    def sentences(self) -> list[str]:
        """How sure the order is, and what it holds for."""
        N = n_of(next(iter(self.best.values())))
        small = small_n(N, memory_n(self.study)) if N else None
        doubt = above_peak(self.study, self._percents())
        told = [*self._how_sure(), *self._without_rounds(), *filter(None, (small, doubt))]
        return [*told, *filter(None, (self.disturbed.sentence(),))]

    def to_json(self) -> dict[str, object]:
        """The ranking by name."""
        return {
            "study": self.study.name,
            "rounds": len(self.order.whole),
            "undisturbed_rounds": len(self.order.quiet),
            "order_is_known": self.order.known,
            "confidence": CLAIMED,
            "tied": [place.blas for place in self.order.tied],
            "ranking": [place.to_json() for place in self.order.places],
            "without_rounds": {name: self.best[name].expected_gflops for name in self.others},
            "disturbed_runs": self.disturbed.to_json(),
            "sentences": self.sentences(),
        }

    def _how_sure(self) -> list[str]:
        places, rounds = self.order.places, len(self.order.whole)
        if not places:
            alone = len(self._compared()) < 2
            return [] if alone else ["No round was whole, so the order is only that of the searches."]
        quiet = len(self.order.quiet)
        if quiet < min(rounds, LEAST_ROUNDS):
            told = f"is {'one' if quiet == 1 else quiet or 'none'} of {counted(rounds, 'round')}"
            need = f"{LEAST_ROUNDS} would be needed. Run it again when the machine is quiet."
            return [f"Which is the fastest cannot be told: known to be undisturbed {told}, and {need}"]
        if rounds < LEAST_ROUNDS:
            return [f"{counted(rounds, 'round')} cannot tell the order: {LEAST_ROUNDS} or more can."]
        said = []
        tied = self.order.tied
        if len(tied) == 1:
            said.append(
                f"{places[0].blas} is the fastest with {100 * CLAIMED:.0f} % confidence: it is {_ahead(places[1])}."
            )
        else:
            named = listed([place.blas for place in tied])
            said.append(f"{named} are a tie: {counted(quiet, 'round')} show no sure difference. {_at_most(tied)}")
        said += [
            f"{place.blas} is slower than {before.blas} with {100 * CLAIMED:.0f} % confidence."
            for before, place in pairwise(places[1:])
            if place.surely_behind
        ]
        return said

    def _compared(self) -> list[str]:
        """The libraries that are worth rounds."""
        return near(self.best, self.shown, self.study.notes.dgemm_gflops_by_blas)

    def _without_rounds(self) -> list[str]:
        """Say of the libraries without rounds what was found out, and what was not."""
        compared = self._compared()
        unknown = [name for name in self.others if name != next(iter(self.best)) and not self._says_something(name)]
        slow = [name for name in self.others if name not in compared and name not in unknown]
        said = []
        if slow and any(one.conditions is not Conditions.UNDISTURBED for one in self.best.values()):
            said.append(f"How far {listed(slow)} {'is' if len(slow) == 1 else 'are'} behind cannot be told.")
        elif slow and len(self.best) == len(slow) + 1:
            said.append(
                f"{compared[0]} is the fastest: {listed(slow)} reached less than half of its rate, which is more than "
                f"{DOUBT:.0f} times what runs differ."
            )
        elif slow:
            said.append(f"{listed(slow)} {'is' if len(slow) == 1 else 'are'} far behind: no round was needed.")
        return [*said, *map(self._not_found_out, unknown)]

    def _says_something(self, name: str) -> bool:
        """Whether the runs of a library without rounds say that it is slow: its dgemm is too, or it was searched."""
        dgemm, first = self.study.notes.dgemm_gflops_by_blas, next(iter(self.best))
        if name in contradicted(self.best, dgemm):
            return False
        if dgemm.get(name) and dgemm.get(first):
            return dgemm[name] <= RIVAL * dgemm[first] or len(self.ran[name]) >= FEWEST
        return len(self.ran[name]) >= FEWEST

    def _not_found_out(self, name: str) -> str:
        """Say that too little ran of a library."""
        dgemm, first, own = self.study.notes.dgemm_gflops_by_blas, next(iter(self.best)), self.ran[name]
        said = (
            f"{name} ran {counted(own.total(), 'run')} of {counted(len(own), 'configuration')}; "
            f"this says nothing of {name}"
        )
        if not (dgemm.get(name) and dgemm.get(first)):
            return f"{said}."
        return f"{said}: its dgemm has {100 * dgemm[name] / dgemm[first]:.0f} % of the rate of {first}."

    def _table(self) -> Table:
        names = [place.blas for place in self.order.places] + self.others
        entries = [self.best[name] for name in names]
        built = {str(self.best[name].params.get(PROGRAM)) for name in names if name not in self.programs}
        apart = TOLD_APART | ({PROGRAM} if len(built) < 2 else frozenset())
        params = [name for name in varying(entries) if name not in apart] if len(entries) > 1 else []
        percents, rounds = self._percents(), self.order.counted or None
        shown: list[FactColumn[int]] = [
            FactColumn("", lambda at: at + 1),
            FactColumn(self.kind, lambda at: names[at], words=True),
            FactColumn(
                "GFLOPS", lambda at: f"{'at least ' if entries[at].disturbance else ''}{self._gflops(names[at]):.2f}"
            ),
            FactColumn("rounds", lambda at: None if names[at] in self.others else rounds, optional=True),
            FactColumn("slower by %", lambda at: self._behind(names[at]) if at else ""),
            FactColumn("% of peak", lambda at: percents[at] if all(percents) else None, ".1f", optional=True),
            *parameter_columns(entries, params, aside=True),
        ]
        alike = [name for name in entries[0].params if name not in {*params, "blas", PROGRAM, "threshold"}]
        said = "All have " + named_values(entries[0].params, alike) if alike else ""
        title, places = f"{self.title}, each at its own best", range(len(names))
        return replace(table_of(title, shown, places, bold=[0], wrap=Wrap.NEVER, caption=said), below=bool(params))

    def _figure(self) -> list[Figure]:
        """The rates of each library, round by round; nothing without rounds."""
        turns = tuple(range(1, 1 + self.order.counted))
        series = tuple(Series(place.blas, turns, place.rates, line=True) for place in self.order.places)
        caption, title = "Each point is one run.", f"The best of each {self.kind}, round by round"
        return [Figure(title, "round", "GFLOPS", series, x_whole=True, caption=caption)] if series else []

    def _gflops(self, name: str) -> float:
        rates = {place.blas: place.gflops for place in self.order.places}
        return rates.get(name, self.best[name].expected_gflops)

    def _percents(self) -> list[float | None]:
        machine = Equipment.of(self.study)
        names = [*(place.blas for place in self.order.places), *self.others]
        return [
            machine.used_on(self.best[name].hosts, self.best[name].params).merit(self._gflops(name)).percent_of_peak
            for name in names
        ]

    def _behind(self, name: str) -> str:
        lead = next((place.behind for place in self.order.places if place.blas == name), None)
        quiet = all(one.conditions is Conditions.UNDISTURBED for one in self.best.values())
        if lead is None and (name not in self.others or not quiet):
            return ""
        if lead is None:
            fastest = max(map(self._gflops, self.best))
            return f"{100 * (1 - self._gflops(name) / fastest):.1f}"
        low, high = (_slower(percent) for percent in lead.interval_percent)
        return f"{_slower(lead.percent):.1f} ({low:.1f} to {high:.1f})"


def _slower(percent: float) -> float:
    """By how many percent the other is slower than one that is so many percent faster than it."""
    return 100 * (1 - 1 / (1 + percent / 100))


def _ahead(other: LibraryPlace) -> str:
    lead = other.behind
    if lead is None:
        return ""
    low, high = lead.interval_percent
    return f"{lead.percent:.1f} % faster than {other.blas} (95 % interval: {low:.1f} to {high:.1f} %)"


def _at_most(tied: Sequence[LibraryPlace]) -> str:
    """How large a difference may still be."""
    far = max((abs(end) for place in tied if place.behind for end in place.behind.interval_percent), default=0.0)
    return f"If there is one, it is below {far:.1f} %."
