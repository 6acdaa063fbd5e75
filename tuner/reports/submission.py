"""A sheet for the TOP500 and the Green500: what a study knows, what is to fill in, and what the rules would not accept.

Fields: the TOP500's call for participation (top500.org/project/call-for-participation) and the power measurement
methodology of the EE HPC WG, whose levels of quality the Green500 takes over.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hpl.params import HplParams
from results.metrics import mflops_per_watt
from results.record import Kind, Study, TrialRecord
from results.report.model import Column, Heading, Part, Report, Sentence, Table
from results.stats.half_rate import half_rate_n
from results.stats.ranking import hosts_of

from ..machine.equipment import Equipment, Used, host_count
from ..units import gibibytes

TO_FILL_IN = "to fill in"
THRESHOLD = 16.0
"""The largest residual of HPL's own HPL.dat."""
Field = tuple[str, str | None]


@dataclass(frozen=True)
class Sheet:
    """What a submission is made of.

    Attributes:
        best: the fastest full run that counts; its rate is the Rmax.
        records: all trials of the study.
    """

    study: Study
    best: TrialRecord
    records: Sequence[TrialRecord]

    @property
    def rmax_gflops(self) -> float:
        """The rate of the best run."""
        return self.best.gflops or 0.0

    def report(self) -> Report:
        """The fields of each list, and what its rules would not accept."""
        lists = {"TOP500": self._top500(), "Green500": self._green500()}
        parts: list[Part] = []
        for name, fields in lists.items():
            parts += [Heading(name), _table(fields)]
        refused = self.objections()
        parts += [
            Heading("What the rules would not accept"),
            *map(Sentence, refused or ["Nothing that is known here."]),
        ]
        facts = {"study": self.study.name, "trial": self.best.number, "objections": refused}
        return Report(f"Submission sheet of study {self.study.name}", tuple(parts), {**facts, **_facts(lists)})

    def objections(self) -> list[str]:
        """What speaks against a submission: what no rule allows first."""
        best, power = self.best, self.study.power_w
        found = []
        if best.simulated:
            how = "replayed from a table" if best.replayed else "simulated"
            found.append(f"The run was {how}: only a run on the machine itself is a result.")
        if not best.simulated and not best.passed:
            found.append("The residual was not checked.")
        if best.hpl is not None and best.hpl.threshold > THRESHOLD:
            found.append(f"The residual was compared with {best.hpl.threshold:g}, not with HPL's {THRESHOLD:g}.")
        if best.kind is Kind.IMPORTED:
            found.append("The result was imported: hpltune did not see which program ran, with which library.")
        peak = self._used.rpeak_gflops
        if peak and self.rmax_gflops > peak:
            found.append(f"Rmax is above Rpeak ({self.rmax_gflops:.4g} and {peak:.4g} GFLOPS): check Rpeak.")
        if power:
            found.append(
                "The power was given by the user, not measured by hpltune: it counts only as the average over the core "
                "phase of this run, at one of the levels 1 to 3."
            )
        if any(record.kind is Kind.EXTRAPOLATION for record in self.records):
            found.append(
                "The rate that hpltune predicts for the whole memory is not a result: Rmax here is a measured run."
            )
        return found

    @property
    def _used(self) -> Used:
        return Equipment.of(self.study).used_on(hosts_of(self.best), self.best.params)

    def _top500(self) -> list[Field]:
        study, best, host = self.study, self.best, self.study.host
        cpu, memory = host.get("cpu_model"), host.get("memory_total_bytes")
        cores = host.get("physical_cores")
        peak, half = self._used.rpeak_gflops, half_rate_n(best, self.records)
        return [
            ("site", None),
            ("manufacturer", None),
            ("computer (type, model)", None),
            ("year of installation", None),
            ("segment, field of application", None),
            ("nodes", str(host_count(host, "nodes")) if "nodes" in host else None),
            ("total cores", str(cores) if cores else None),
            ("accelerators, their cores", None),
            ("processor, GHz", str(cpu) if cpu else None),
            ("memory", gibibytes(memory) if isinstance(memory, int) else None),
            ("interconnect", None),
            ("operating system", _joined(host.get("os_release"), host.get("kernel"))),
            ("compiler", study.versions.get("compiler")),
            ("math library", _joined(best.blas, _library_version(best))),
            ("MPI", study.versions.get("mpi")),
            ("HPL", best.versions.get("hpl") or study.versions.get("hpl")),
            ("Rmax in GFLOPS", f"{self.rmax_gflops:.6g}"),
            ("Rpeak in GFLOPS", f"{peak:.6g}" if peak else None),
            ("Nmax", _size(best)),
            ("N½", f"{half:,.0f} (between measured sizes)" if half else None),
            ("NB, P x Q", _blocks(best)),
            ("time in s", f"{best.time_s:.2f}" if best.time_s else None),
            ("residual", f"{best.residual:.6g}" if best.residual is not None else None),
        ]

    def _green500(self) -> list[Field]:
        power = self._used.power_w
        efficiency = f"{mflops_per_watt(self.rmax_gflops, power) / 1000:.4g}" if power else None
        return [
            ("power in kW, average over the core phase", f"{power / 1000:.4g} (given by the user)" if power else None),
            ("level of measurement (1, 2 or 3)", None),
            ("power source, meter and its accuracy", None),
            ("part of the machine that was measured", None),
            ("subsystems included (network, storage, cooling)", None),
            ("GFLOPS/W", efficiency),
        ]


def _table(fields: Sequence[Field]) -> Table:
    columns = (Column("field", words=True), Column("value", words=True))
    return Table("", columns, tuple((name, value or TO_FILL_IN) for name, value in fields))


def _facts(lists: dict[str, list[Field]]) -> dict[str, object]:
    return {name.lower(): dict(fields) for name, fields in lists.items()}


def _joined(*words: object) -> str | None:
    return " ".join(str(word) for word in words if word) or None


def _library_version(best: TrialRecord) -> str:
    return best.observed.version if best.observed else ""


def _size(best: TrialRecord) -> str | None:
    N = best.hpl.N if best.hpl else best.params.get("N")
    return f"{N:,}" if isinstance(N, int) else None


def _blocks(best: TrialRecord) -> str | None:
    hpl: HplParams | None = best.hpl
    return f"{hpl.NB}, {hpl.P} x {hpl.Q}" if hpl else _joined(best.params.get("NB"), best.params.get("grid"))
