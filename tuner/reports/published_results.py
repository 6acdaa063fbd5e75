"""Published results as a table and as facts, and where a study stands against those of the same machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from results.record import Study
from results.report.model import FactColumn, Table, Wrap, table_of
from results.stats.headline import FastestRun
from results.stats.ranking import hosts_of

from ..machine.equipment import Equipment, host_count
from ..machine.known_machines import KnownMachine, cpu_key, known_machines, same_cluster, same_cpu
from ..words import counted

MOST_NAMED = 3
"""Machines that a sentence names."""
SAME = 0.01
"""Part by which a figure may be off an end of the range and still be told as much: published ones are rounded."""
Measure = Callable[[KnownMachine], float | None]


@dataclass(frozen=True)
class PublishedStanding:
    """Published results that a study can be compared with.

    Attributes:
        machines: those of which the figure is known, at least one; lowest first.
        figures: of each machine, in `unit`: % of peak, or GFLOPS per core where a peak is not known.
        own: the same of the study's fastest run; None where it is not known.
        own_n: the N of that run; None where it is not known.
    """

    machines: tuple[KnownMachine, ...]
    figures: tuple[float, ...]
    unit: str
    own: float | None
    own_n: int | None
    simulated: bool
    virtual_machine: bool = False
    imported: bool = False

    @property
    def where(self) -> str:
        """Where the study is: below, inside or above the range, or off it by less than it is rounded: lowest, highest.

        It is "" where its own figure is not known.
        """
        if self.own is None:
            return ""
        low, high = self.figures[0], self.figures[-1]
        if self.own < low:
            return "below" if self.own < (1 - SAME) * low else "lowest"
        if self.own > high:
            return "above" if self.own > (1 + SAME) * high else "highest"
        return "inside"

    def sentence(self) -> str:
        """Tell the range, whose it is, and where the study stands."""
        if self.simulated:
            return self._simulated()
        listing = f"`hpltune known {cpu_key(self.machines[0].cpu)}` has the sources."
        return " ".join((self._published(), *self._advice(), listing))

    def to_json(self) -> dict[str, object]:
        """The same for scripts."""
        return {
            "unit": self.unit,
            "lowest": self.figures[0],
            "highest": self.figures[-1],
            "own": self.own,
            "standing": self.where or None,
            "results": [known_json(machine) for machine in self.machines],
        }

    def _published(self) -> str:
        cpu, count = self.machines[-1].cpu, len(self.machines)
        named = [machine.machine for machine in reversed(self.machines)]
        rest = f" and {count - MOST_NAMED} more" if count > MOST_NAMED else ""
        whose = f"{counted(count, 'published result')}: {', '.join(named[:MOST_NAMED])}{rest}"
        told = f"Others got {self._range()} on this CPU, {cpu}{self._cores()} ({whose})."
        return told + self._own("The fastest imported run" if self.imported else "The fastest full run here")

    def _simulated(self) -> str:
        real = self.machines[-1]
        rmax = f"{real.rmax_gflops:g} GFLOPS ({self._range()}) on the real {real.machine}"
        return f"Others published {rmax}; this study simulates it." + self._own("The fastest simulated run")

    def _own(self, what: str) -> str:
        if self.own is None:
            return ""
        one = len(self.machines) == 1
        standing = {
            "below": "below that",
            "lowest": "as much" if one else "as much as the lowest of them",
            "inside": "as much" if one else "inside that range",
            "highest": "as much" if one else "as much as the highest of them",
            "above": "above that",
        }
        return f" {what} got {_figure(self.own)} {self.unit}: {standing[self.where]}."

    def _range(self) -> str:
        low, high = _figure(self.figures[0]), _figure(self.figures[-1])
        return f"{low} {self.unit}" if low == high else f"{low} to {high} {self.unit}"

    def _cores(self) -> str:
        counts = sorted(machine.cores for machine in self.machines if machine.cores)
        if not counts:
            return ""
        low, high = f"{counts[0]:,}", f"{counts[-1]:,}"
        return f", with {low if low == high else f'{low} to {high}'} cores"

    def _advice(self) -> Iterator[str]:
        """Say what else than tuning may be why the study is below."""
        if self.where == "below" and self.own_n is not None:
            yield f"Published runs fill most of the memory, which raises the rate; here N was {self.own_n:,}."
        if self.where == "below" and self.virtual_machine:
            yield "In a virtual machine a core may be half of a real one."


def published_standing(study: Study, fastest: FastestRun | None) -> PublishedStanding | None:
    """Compare the fastest run of a study with published results; None where there are none of its machine."""
    machines = _comparable(study)
    if not machines or fastest is None:
        return None
    rate = fastest.gflops
    hosts = hosts_of(fastest.record)
    used = Equipment.of(study).used_on(hosts, fastest.record.params)
    cores = host_count(study.host, "physical_cores", hosts) if "physical_cores" in study.host else None
    measures: tuple[tuple[str, Measure, float | None], ...] = (
        ("% of peak", lambda machine: machine.percent_of_peak, used.merit(rate).percent_of_peak),
        ("GFLOPS per core", lambda machine: machine.gflops_per_core, rate / cores if cores else None),
    )
    known = [(unit, own, values) for unit, measure, own in measures if (values := _measured(machines, measure))]
    if not known:
        return None
    unit, own, values = next((each for each in known if each[1] is not None), known[0])
    figures, which = tuple(value for value, _ in values), tuple(machine for _, machine in values)
    virtual_machine = study.host.get("hypervisor") is True
    return PublishedStanding(which, figures, unit, own, fastest.N, study.simulated, virtual_machine, study.imported)


def _comparable(study: Study) -> tuple[KnownMachine, ...]:
    """The real cluster of a simulated study, or machines with exactly the study's CPU."""
    if study.replayed or not study.workload.is_hpl:
        return ()
    if study.simulated:
        name = str(study.host.get("virtual_cluster", ""))
        return same_cluster(name, study.rpeak_gflops or 0.0, known_machines())
    return same_cpu(str(study.host.get("cpu_model", "")), known_machines())


def _measured(machines: Sequence[KnownMachine], measure: Measure) -> list[tuple[float, KnownMachine]]:
    """Machines with their figure, lowest first; those without one are left out."""
    figures = [(value, machine) for machine in machines if (value := measure(machine)) is not None]
    return sorted(figures, key=lambda each: each[0])


def _figure(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def known_table(
    machines: Sequence[KnownMachine], title: str = "", *, cpu: bool = True, watts: bool = False, caption: str = ""
) -> Table:
    """Build the table of some published results; the name of each leads to its source.

    Args:
        cpu: whether CPUs are told, which need not be where all have the same.
        watts: whether MFLOPS/W are told too.
    """
    shown = [column for column in KNOWN if {"CPU": cpu, "MFLOPS/W": watts}.get(column.name, True)]
    return replace(table_of(title, shown, machines, caption=caption), links=tuple(one.source for one in machines))


def known_json(machine: KnownMachine) -> dict[str, object]:
    """A published result as JSON can hold it."""
    return {**asdict(machine), "percent_of_peak": machine.percent_of_peak, "mflops_per_watt": machine.mflops_per_watt}


def _rate(gflops: float) -> str:
    return f"{gflops:,.0f}" if gflops >= 10_000 else f"{gflops:,.4g}" if gflops < 100 else f"{gflops:,.1f}"


KNOWN: tuple[FactColumn[KnownMachine], ...] = (
    FactColumn("machine", lambda one: one.machine, words=True, wrap=Wrap.ANYWHERE),
    FactColumn("CPU", lambda one: one.cpu, words=True, wrap=Wrap.ANYWHERE),
    FactColumn("cores", lambda one: one.cores or None, ","),
    FactColumn("GFLOPS", lambda one: one.rmax_gflops, _rate),
    FactColumn("% of peak", lambda one: one.percent_of_peak, ",.1f", short="% peak"),
    FactColumn("MFLOPS/W", lambda one: one.mflops_per_watt, ",.0f"),
)
"""What a table tells of each published result."""
