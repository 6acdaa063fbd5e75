"""A sheet for the TOP500 and the Green500: what a study knows, what is to fill in, and what the rules would not accept.

Fields: the TOP500's call for participation (top500.org/project/call-for-participation) and the power measurement
methodology of the EE HPC WG (text of 8 November 2024), whose levels of quality the Green500 takes over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from hpl.params import HplParams
from results.metrics import measured_watts, mflops_per_watt, rate_text, too_efficient
from results.record import Kind, Study, TrialRecord
from results.report.model import Heading, Part, Report, Sentence, Table, columns
from results.stats.headline import ADVISED, LEAST_FILLED, FastestRun, half_rate_n, percent_text
from results.stats.ranking import hosts_of, is_full_run

from ..machine.equipment import Equipment, UsedNodes, host_count
from ..units import gibibytes
from ..words import counted, listed
from .power_levels import CORE_PHASE_S, PowerLevels

TO_FILL_IN = "to fill in"
THRESHOLD = 16.0
"""The largest residual of HPL's own HPL.dat."""
SPREAD = 0.05
"""Part by which the fastest run may be above the slowest before the sheet says so."""
MOST_TOLD = 5
"""Runs whose rates are all told."""
CURRENT_HPL = "2.3"
"""The newest HPL of netlib.org, of 2018."""
CHECKED = (
    "how the run was made",
    "the residual and its threshold",
    "what disturbed the run",
    "N against the memory",
    "the time of the run",
    "the spread of its repeats",
    "the version of HPL",
    "Rpeak",
    "where the power is from",
)
"""What is looked at, in words."""
Field = tuple[str, str | None]


@dataclass(frozen=True)
class Sheet:
    """What a submission is made of.

    Attributes:
        fastest: the fastest full run that counts; its rate is the Rmax, where its N is large enough.
        records: all trials of the study.
    """

    study: Study
    fastest: FastestRun
    records: Sequence[TrialRecord]

    @property
    def best(self) -> TrialRecord:
        """The fastest run."""
        return self.fastest.record

    @property
    def rmax_gflops(self) -> float:
        """The rate of the fastest run."""
        return self.fastest.gflops

    def report(self) -> Report:
        """The fields of each list, and what its rules would not accept."""
        lists = {"TOP500": self._top500(), "Green500": self._green500()}
        parts: list[Part] = [Sentence(self._which())]
        for name, fields in lists.items():
            parts += [Heading(name), _table(fields)]
        parts += [Heading("The power, by the levels of the Green500"), self._levels.table()]
        refused = self.objections()
        parts += [
            Heading("What the rules would not accept"),
            *map(Sentence, refused or [f"hpltune found nothing; it looked at {listed(CHECKED)}, and at nothing else."]),
        ]
        facts = {
            "study": self.study.name,
            "trial": self.best.number,
            "fastest_run": self.fastest.to_json(),
            "objections": refused,
            "checked": list(CHECKED),
            "levels": {f"level {level}": self._levels.missing(level) for level in (1, 2, 3)},
        }
        return Report(f"Submission sheet of study {self.study.name}", tuple(parts), {**facts, **_facts(lists)})

    def objections(self) -> list[str]:
        """What speaks against a submission: what no rule allows first."""
        best, power = self.best, None if self._source else self.study.power_w
        found = []
        if best.simulated:
            how = "replayed from a table" if best.rates == "replayed" else "simulated"
            found.append(f"The run was {how}: only a run on the machine itself is a result.")
        if not best.simulated and not best.passed:
            found.append("The residual was not checked.")
        if best.hpl is not None and best.hpl.threshold > THRESHOLD:
            found.append(f"The residual was compared with {best.hpl.threshold:g}, not with HPL's {THRESHOLD:g}.")
        if best.disturbed:
            found.append(f"The run was disturbed: {best.disturbed}. Its rate is not that of the machine alone.")
        found += [*self._size(), *self._time(), *self._spread(), *self._version()]
        if best.kind is Kind.IMPORTED:
            found.append("The result was imported: hpltune did not see which program ran, with which library.")
        peak = self._used.rpeak_gflops
        if peak and self.rmax_gflops > peak:
            found.append(f"The rate is above Rpeak ({self.rmax_gflops:.4g} and {peak:.4g} GFLOPS): check Rpeak.")
        if power:
            found.append(
                "The power was given by the user, not measured by hpltune: it counts only as the average over the core "
                "phase of this run, at one of the levels 1 to 3."
            )
        found += filter(None, [too_efficient(self._used.merit(self.rmax_gflops).mflops_per_watt or 0.0)])
        if any(record.kind is Kind.EXTRAPOLATION for record in self.records):
            found.append(
                "The rate that hpltune predicts for the whole memory is not a result: the one here was measured."
            )
        return found

    def _which(self) -> str:
        """The run that the sheet tells of."""
        alike = [record for record in self._repeats if record.number != self.best.number]
        others = f", which ran {counted(len(alike) + 1, 'time')}" if alike else ", which ran once"
        return (
            f"All figures of a run are of trial {self.best.number}, the fastest full run of study {self.study.name}. "
            f"It is one run of its configuration{others}."
        )

    @property
    def _repeats(self) -> list[TrialRecord]:
        """The full runs of the same configuration that count."""
        return [record for record in self.records if is_full_run(record) and record.key == self.best.key]

    def _size(self) -> Iterator[str]:
        """Say that N is small, or that nothing is known of the memory."""
        if self.best.too_short:
            yield self.fastest.no_rmax
        elif self.fastest.filled is not None and self.fastest.filled < LEAST_FILLED * ADVISED:
            yield (
                f"N={self.fastest.N:,} is small: its matrix takes {percent_text(self.fastest.filled)} of the "
                f"memory, and HPL's advice is {percent_text(ADVISED)}. An Rmax is a rate at the N that gives the most."
            )
        elif self.fastest.filled is None and not self.best.simulated:
            yield "hpltune does not know the memory of the machine, so it cannot tell whether N is large enough."

    def _time(self) -> Iterator[str]:
        """Say that the run is short, or that nobody knows how long it took."""
        if self.best.simulated:
            return
        if self.best.time_s is None:
            yield "The time of the run is not known."
        elif self.best.time_s < CORE_PHASE_S:
            yield (
                f"The run took {self.best.time_s:.2f} s: the Green500 takes the average power over the whole core "
                "phase, which is HPL's solve, of at least a minute, from one sample a second (EE HPC WG, 2024)."
            )

    def _spread(self) -> Iterator[str]:
        """Say by how much the runs of the configuration differ, or that none was repeated."""
        rates = sorted(record.gflops or 0.0 for record in self._repeats)
        if len(rates) < 2:
            if not self.best.simulated:
                yield "Its configuration ran once: nothing shows that the rate can be reached again."
            return
        if rates[-1] > (1 + SPREAD) * rates[0]:
            told = ", ".join(map(rate_text, rates if len(rates) <= MOST_TOLD else (rates[0], median(rates), rates[-1])))
            what = "runs" if len(rates) <= MOST_TOLD else "slowest, middle and fastest runs"
            yield (
                f"The {what} of its configuration gave {told} GFLOPS: the fastest of {len(rates)} may be due to luck, "
                "and others will not reach it as a rule."
            )

    def _version(self) -> Iterator[str]:
        """Say that another HPL of netlib's than the current one ran; vendors count versions of their own."""
        version = (self._hpl or "").removeprefix("HPLinpack").strip()
        if version[:1].isdigit() and not version.startswith(CURRENT_HPL):
            yield f"HPL {version} ran, and HPL {CURRENT_HPL} is the current one: check whether the list still takes it."

    @property
    def _hpl(self) -> str | None:
        """The version of HPL that ran."""
        return self.best.versions.get("hpl") or self.study.versions.get("hpl")

    @property
    def _used(self) -> UsedNodes:
        watts = measured_watts(self.best.measurements)
        return Equipment.of(self.study).used_on(hosts_of(self.best), self.best.params, watts)

    @property
    def _source(self) -> str:
        """What measured the power of the run; "" where nothing did."""
        source = Equipment.of(self.study).power_source
        return source if self._used.power_w and source else ""

    @property
    def _levels(self) -> PowerLevels:
        return PowerLevels(
            self._source,
            self._used.power_w,
            host_count(self.study.host, "nodes", hosts_of(self.best)),
            self.best.time_s,
        )

    def _top500(self) -> list[Field]:
        study, best, host = self.study, self.best, self.study.host
        cpu, used = host.get("cpu_model"), hosts_of(best) or study.notes.nodes_left
        nodes, cores, memory = (
            host_count(host, name, used) if host.get(name) else None
            for name in ("nodes", "physical_cores", "memory_total_bytes")
        )
        peak, half = self._used.rpeak_gflops, half_rate_n(best, self.records)
        return [
            ("site", None),
            ("manufacturer", None),
            ("computer (type, model)", None),
            ("year of installation", None),
            ("segment, field of application", None),
            ("nodes", str(nodes) if nodes else None),
            ("total cores", str(cores) if cores else None),
            ("accelerators, their cores", None),
            ("processor, GHz", str(cpu) if cpu else None),
            ("memory", gibibytes(memory) if memory else None),
            ("interconnect", None),
            ("operating system", _joined(host.get("os_release"), host.get("kernel"))),
            ("compiler", study.versions.get("compiler")),
            ("math library", _joined(best.blas, best.observed and best.observed.version)),
            ("MPI", study.versions.get("mpi")),
            ("HPL", self._hpl),
            *self._rate(),
            ("Rpeak in GFLOPS", f"{peak:.6g}" if peak else None),
            ("N½", f"{half:,.0f} (between measured sizes)" if half else None),
            ("NB, P x Q", _blocks(best)),
            ("time in s", f"{best.time_s:.2f}" if best.time_s else None),
            ("trial", str(best.number)),
            ("residual", f"{best.residual:.6g}" if best.residual is not None else None),
        ]

    def _rate(self) -> list[Field]:
        """The rate and its N; where N is small, or the memory not known, an Rmax is still to be measured."""
        rate, N = f"{self.rmax_gflops:.6g}", f"{self.fastest.N:,}" if self.fastest.N else None
        if self.fastest.is_rmax:
            return [("Rmax in GFLOPS", rate), ("Nmax", N)]
        return [("Rmax in GFLOPS", None), ("Nmax", None), (f"{self.fastest.called} in GFLOPS", rate)]

    def _green500(self) -> list[Field]:
        power = self._used.power_w
        how = f"measured by {self._source}" if self._source else "given by the user"
        efficiency = f"{mflops_per_watt(self.rmax_gflops, power) / 1000:.4g}" if power else None
        return [
            ("power in kW, average over the core phase", f"{power / 1000:.4g} ({how})" if power else None),
            ("level of measurement (1, 2 or 3)", None),
            (
                "power source, meter and its accuracy",
                f"{self._source}; accuracy {TO_FILL_IN}" if self._source else None,
            ),
            ("part of the machine that was measured", None),
            ("subsystems included (network, storage, cooling)", None),
            ("GFLOPS/W", efficiency),
        ]


def _table(fields: Sequence[Field]) -> Table:
    return Table("", columns("field", "value"), tuple((name, value or TO_FILL_IN) for name, value in fields))


def _facts(lists: dict[str, list[Field]]) -> dict[str, object]:
    return {name.lower(): dict(fields) for name, fields in lists.items()}


def _joined(*words: object) -> str | None:
    return " ".join(str(word) for word in words if word) or None


def _blocks(best: TrialRecord) -> str | None:
    hpl: HplParams | None = best.hpl
    return f"{hpl.NB}, {hpl.P} x {hpl.Q}" if hpl else _joined(best.params.get("NB"), best.params.get("grid"))
