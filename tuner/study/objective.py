"""What a study is to find the best of.

With fixed hardware % of peak, $/GFLOPS and MFLOPS/W are best where GFLOPS are: the search is the same. They part on
virtual clusters, where only the nodes that a layout uses are counted, and of several networks the one that is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from hpl.params import Scalar
from results.metrics import four_digits, measured_watts, power_by, rate_text
from results.record import Study, TrialRecord
from results.stats.confidence import Standing, rerank_by_posterior, standing
from results.stats.headline import FastestRun
from results.stats.levels import drift_corrected
from results.stats.ranking import Ranked, hosts_of, on_the_hosts_left, rank
from results.stats.unfit import unfit
from results.store.contenders import CONTENDERS
from results.store.store import Store
from search_spaces.space import SearchSpace

from ..engines.learned_power import LearnedPower
from ..engines.outcomes import Outcome
from ..errors import UsageError
from ..machine.equipment import DECIDING, NO_WATTS, Equipment, host_count
from .machine_changes import moved_during_search

NEEDS: Mapping[str, str] = {
    "gflops": "",
    "percent-of-peak": "rpeak_gflops",
    "usd-per-gflops": "price_usd",
    "mflops-per-watt": "power_w",
}
"""The objectives, and the fact of the machine that each needs."""
AGAINST = tuple(name for name in NEEDS if name != "gflops")
"""What GFLOPS can be weighed against."""
UNITS = {
    "percent_of_peak": ("% of peak", 1),
    "usd_per_gflops": ("$/GFLOPS", 2),
    "mflops_per_watt": ("MFLOPS/W", 1),
}
"""Figures of merit by their names in `results.metrics`: unit, and decimals at most."""
BETTER = {
    "percent-of-peak": "nearer to its peak",
    "usd-per-gflops": "cheaper per GFLOPS",
    "mflops-per-watt": "more efficient per watt",
}
"""What a configuration is that is better by one of AGAINST."""


def check_objective(name: str) -> str:
    """The name of an objective.

    Raises:
        TunerError: there is none of that name.
    """
    if name not in NEEDS:
        raise UsageError(f"choose one of {', '.join(NEEDS)}", field="objective", given=name)
    return name


def check_pareto(name: str | None, objective: str = "gflops") -> str | None:
    """The name of what GFLOPS are weighed against, or None.

    Args:
        objective: what else was asked for.

    Raises:
        TunerError: there is none of that name, or another objective was asked for too.
    """
    if name is not None and name not in AGAINST:
        raise UsageError(f"choose one of {', '.join(AGAINST)}", field="pareto", given=name)
    if name is not None and objective != "gflops":
        raise UsageError(
            f"⟦pareto⟧ {name} already searches for GFLOPS and that: leave ⟦objective⟧ {objective} out", field="pareto"
        )
    return name


def check_inputs(objective: str, pareto: str | None, **facts: float | None) -> None:
    """Refuse an objective before anything is built, where the user has to give what it needs.

    Raises:
        TunerError: the fact it needs is among `facts`, and None.
    """
    for option, name in _asked(objective, pareto):
        need = NEEDS[name]
        if need in facts and facts[need] is None:
            raise UsageError(f"⟦{option}⟧ {name} needs {need} of the machine: {_given(need)}", field=option)


def _given(need: str) -> str:
    """How to give a fact of the machine."""
    from ..asks.registry import field_of  # noqa: PLC0415 - only a refusal needs what all commands can be asked

    measured = ", or name what measures it with ⟦power_command⟧" if need == "power_w" else ""
    return f"give it with ⟦{field_of(need)}⟧{measured}"


def _asked(objective: str, pareto: str | None) -> tuple[tuple[str, str], ...]:
    """Objectives with the fields that asked for them."""
    return (("objective", objective), *((("pareto", pareto),) if pareto else ()))


@dataclass(frozen=True)
class Objective:
    """One objective on one machine.

    Attributes:
        against: another one, where the front of GFLOPS and that is searched.
        noise_at_first: what the machine has shown of the noise of runs before anything ran twice.
        moved: the largest relative change that it showed during the search.
        power: what its runs told of the power; nothing is learnt where that is not measured.
    """

    name: str
    machine: Equipment
    against: "Objective | None" = None
    noise_at_first: float = 0.0
    moved: float = 0.0
    power: LearnedPower = field(default_factory=LearnedPower, compare=False)

    @staticmethod
    def of(name: str, study: Study, against: str | None = None) -> "Objective":
        """The objective of a study.

        Args:
            against: what GFLOPS are weighed against.

        Raises:
            TunerError: it needs a price, a power or a peak that the study does not know.
        """
        machine = Equipment.of(study)
        for option, asked in _asked(check_objective(name), check_pareto(against)):
            need = NEEDS[asked]
            measured = need == "power_w" and machine.power_source
            if need and not measured and getattr(machine.whole, need) is None:
                where = "give it in the cluster's file" if study.how == "simulated" else _given(need)
                raise UsageError(f"⟦{option}⟧ {asked} needs {need} of the machine: {where}", field=option)
        power = LearnedPower(host_count(study.host, "physical_cores"))
        other = Objective(against, machine, power=power) if against else None
        return Objective(name, machine, other, study.notes.noise_at_first, moved_during_search(study.notes), power)

    @property
    def by_measured_power(self) -> bool:
        """Whether the measured power of each run decides, and not what the user says of the machine."""
        return self.name == "mflops-per-watt" and bool(self.machine.power_source)

    def worth(self, params: Mapping[str, Scalar], gflops: float, watts: Mapping[str, float] = NO_WATTS) -> float:
        """What an engine maximises: GFLOPS, or GFLOPS for the part in use of the machine's peak, price or power.

        Args:
            watts: the power of the run by the source that measured it.

        Returns:
            Of runs whose power decides MFLOPS/W, and 0 where the source that counts did not tell it.
        """
        need = NEEDS[self.name]
        if not need:
            return gflops
        if self.by_measured_power:
            power_w = power_by(watts, self.machine.power_source)
            return 1000.0 * gflops / power_w if power_w else 0.0
        part: float = getattr(self.machine.used(params), need) / getattr(self.machine.whole, need)
        return gflops / part

    def worths(self, space: SearchSpace) -> frozenset[float]:
        """All that a GFLOPS of a configuration of a space may be worth."""
        names = [name for name in DECIDING if name in space.parameters]
        first, choices = space.first, product(*(space.parameters[name].values for name in names))
        points = [{**first, **dict(zip(names, choice, strict=True))} for choice in choices]
        return frozenset(round(self.worth(point, 1.0), 9) for point in points)

    @property
    def unit(self) -> str:
        """What its figures are told in."""
        return "GFLOPS" if self.name == "gflops" else unit_of(self.name.replace("-", "_"), self.machine)

    def told(self, record: TrialRecord) -> str:
        """The rate of a trial by this objective, with its unit."""
        gflops = record.gflops or 0.0
        if self.name == "gflops":
            return f"{rate_text(gflops)} GFLOPS"
        name = self.name.replace("-", "_")
        used = self.machine.used_on(hosts_of(record), record.params, measured_watts(record.measurements))
        figure = getattr(used.merit(gflops), name)
        return f"no {self.unit}" if figure is None else f"{merit_text(name, figure)} {self.unit}"

    def outcome(self, record: TrialRecord, outcome: Outcome) -> Outcome:
        """An outcome in terms of this objective; the search learns from it what configurations draw.

        Where the power of a run decides and was not measured, because the run was too short, it is taken to be what
        other runs let expect of it: that guides the search alone.
        """
        power_w = power_by(measured_watts(record.measurements), self.machine.power_source or "-")
        if power_w is not None:
            self.power.learn(record.params, power_w)
        if outcome.gflops is None:
            return outcome
        if self.by_measured_power:
            part = power_w / self.power.reference_w if power_w else self.power.relative(record.params)
            return replace(outcome, gflops=outcome.gflops / part)
        return replace(outcome, gflops=self.worth(record.params, outcome.gflops))

    def standing(self, ranking: Sequence[Ranked]) -> Standing | None:
        """How sure the first of a whole ranking is the best by this objective; None where nothing was repeated."""
        told = [one for entry in ranking if (one := self._in_worth(entry)).gflops[0] > 0]
        return standing(told, self.noise_at_first, self.moved)

    def _in_worth(self, entry: Ranked) -> Ranked:
        if self.name == "gflops":
            return entry
        return replace(entry, gflops=tuple(self.worth(entry.params, rate, entry.watts) for rate in entry.gflops))

    @property
    def best(self) -> str:
        """What its best configuration is called."""
        return "the fastest" if self.name == "gflops" else f"the best by {self.name}"

    def finalists(self, ranking: Sequence[Ranked], count: int) -> Sequence[Ranked]:
        """The best by their medians, however often they ran: what a later session found has to be confirmed too.

        Where a front is searched all of it comes first.
        """
        by_median = [replace(entry, believed_gflops=None) for entry in drift_corrected(ranking, self.noise_at_first)]
        medians = {entry.key: self.worth(entry.params, entry.expected_gflops, entry.watts) for entry in by_median}
        front = {entry.key for entry in self.front(by_median)}
        best = sorted(ranking, key=lambda entry: (entry.unclear, entry.key not in front, -medians[entry.key]))
        return best[: max(count, len(front))]

    def front(self, ranking: Sequence[Ranked]) -> list[Ranked]:
        """The configurations that none beats in both objectives, fastest first; none where there is only one."""
        return [] if self.against is None else pareto(self.against, ranking)

    def ranked(self, ranking: Sequence[Ranked]) -> Sequence[Ranked]:
        """Configurations with what is expected of them, best by this objective first.

        None has an interval where the runs are outside of what one can be computed for. Where the measured power
        decides, only those are ranked of which the source that counts told it.
        """
        if self.by_measured_power:
            ranking = [entry for entry in ranking if self.worth(entry.params, 1.0, entry.watts)]
        known = {entry.key: entry for entry in ranking}
        worths = [self._in_worth(entry) for entry in ranking]
        found = [self._in_gflops(known[one.key], one) for one in rerank_by_posterior(worths, self.noise_at_first)]
        if not unfit(worths, self.noise_at_first, self.moved):
            return found
        return [replace(one, interval_gflops=None) for one in found]

    def _in_gflops(self, entry: Ranked, believed: Ranked) -> Ranked:
        """Give a configuration what is believed of its worth, as a rate."""
        worth, ends, rate = (
            self.worth(entry.params, 1.0, entry.watts),
            believed.interval_gflops,
            believed.believed_gflops,
        )
        interval = None if ends is None else (ends[0] / worth, ends[1] / worth)
        return replace(entry, believed_gflops=None if rate is None else rate / worth, interval_gflops=interval)


def pareto(objective: Objective, ranking: Sequence[Ranked]) -> list[Ranked]:
    """The configurations that none beats both in GFLOPS and by another objective, fastest first."""
    front: list[Ranked] = []
    most = 0.0
    for entry in sorted(ranking, key=lambda one: -one.expected_gflops):
        worth = objective.worth(entry.params, entry.expected_gflops, entry.watts)
        if worth > most:
            front.append(entry)
            most = worth
    return front


def of_study(study: Study) -> Objective:
    """The objective a stored study was asked for."""
    machine, against = Equipment.of(study), study.options.get("pareto")
    weighed = Objective(str(against), machine) if against else None
    name = str(study.options.get("objective", "gflops"))
    return Objective(name, machine, weighed, study.notes.noise_at_first, moved_during_search(study.notes))


def unit_of(name: str, machine: Equipment) -> str:
    """The unit of a figure of merit by its name in UNITS; of MFLOPS/W with what measured the power."""
    return f"{UNITS[name][0]}{machine.power_words if name == 'mflops_per_watt' else ''}"


def merit_text(name: str, figure: float) -> str:
    """Write a figure of merit with at most four digits that say something, and no more decimals than it has."""
    decimals = UNITS[name][1]
    return four_digits(figure) if figure >= 10 ** (4 - decimals) else f"{figure:.{decimals}f}"


@dataclass(frozen=True)
class StudyRanking:
    """The configurations of a stored study.

    Attributes:
        ranking: the fastest of them in the order of its objective, best first; empty where no run counts.
        configurations: how many have a rate; more than are ranked where the study is very large.
        placed: trials whose runs count, by their numbers, each with the place of its configuration in the ranking.
        fastest: the fastest run of the study; None where no run counts.
    """

    ranking: Sequence[Ranked]
    configurations: int
    placed: Mapping[int, int]
    fastest: FastestRun | None = None

    @property
    def left_out(self) -> str | None:
        """The sentence that not all are ranked, or None."""
        ranked, known = len(self.ranking), self.configurations
        return f"Only the fastest {ranked:,} of {known:,} configurations are ranked." if known > ranked else None


def rank_stored(store: Store, study: Study, *, front: bool = False) -> StudyRanking:
    """Rank the configurations of a stored study; of a cluster that lost nodes only what ran on those that are left.

    Args:
        front: something else than rates is to be weighed too.
    """
    objective = of_study(study)
    by_rate = objective.name == "gflops" and objective.against is None and not front
    found = store.contenders(study.name, of_each_size=not by_rate)
    left = on_the_hosts_left(found.records)
    ranking = objective.ranked(rank(left))
    places = {entry.key: place for place, entry in enumerate(ranking)}
    known = found.configurations if found.configurations > CONTENDERS else len(ranking)
    placed = {one.number: places[one.key] for one in left if one.ranked and one.key in places}
    return StudyRanking(ranking, known, placed, fastest_of(store, study))


def fastest_of(store: Store, study: Study) -> FastestRun | None:
    """The fastest full run of a stored study that counts; None without one."""
    record = store.fastest(study.name)
    return None if record is None else FastestRun.of(study, record)


def ranking_of(store: Store, study: Study) -> Sequence[Ranked]:
    """The ranking of `rank_stored`."""
    return rank_stored(store, study).ranking
