"""Where rates are from: the machine, study, date, N and number of runs, on every page and below every figure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from results.record import Study, TrialRecord
from results.report.model import Beside, Drawable, Folded, Part, Report, Sentence, Tone

from ..machine.equipment import CONTAINER, MODULES, WRAP, host_count
from ..study.cautions import cautions_of, cautions_of_all, small_caution
from ..units import gibibytes
from ..words import counted
from .virtual_cluster import head_of

TABS = {
    "ranking": "Best configurations",
    "parameters": "Parameters",
    "memory": "Whole memory",
    "machine": "Machine",
}
"""What a page has below the answer at a glance, by name."""
Drawn = TypeVar("Drawn", bound=Drawable)


@dataclass(frozen=True)
class Context:
    """What rates are to be read with.

    Attributes:
        studies: at least one.
        sizes: every N of the runs.
        runs: how many count; None where that is not told.
        began, ended: the first start and the last end of the runs; None where they are not known.
    """

    studies: Sequence[Study]
    sizes: frozenset[int] = frozenset()
    runs: int | None = None
    began: datetime | None = None
    ended: datetime | None = None

    @classmethod
    def of_runs(cls, study: Study, runs: Sequence[TrialRecord]) -> "Context":
        """That of the runs of a study that count."""
        sizes = frozenset(run.hpl.N for run in runs if run.hpl)
        ends = [run.ended_at for run in runs if run.ended_at]
        known = bool(runs) and not study.imported
        began = min((run.started_at for run in runs), default=None) if known else None
        return cls([study], sizes, len(runs), began, max(ends) if known and ends else None)

    @classmethod
    def of_one(cls, study: Study, run: TrialRecord, runs: int | None = None) -> "Context":
        """That of one run, or of so many of its configuration, of which only this one is at hand."""
        return cls([study], frozenset([run.hpl.N] if run.hpl else []), runs)

    def page(self, report: Report) -> Report:
        """The page of a report: it begins with what to know first, and each figure says where it is from."""
        simulated, made = head_of(self.studies), self._where_made()
        head = [*simulated, *folded_cautions(self.cautions()), *made]
        return replace(report, parts=(*head, *self.captioned(report.parts)))

    def head(self) -> list[Sentence]:
        """What was simulated, all cautions, and where and when the runs were made."""
        cautions = [Sentence(text, tone=Tone.CAUTION) for text in self.cautions()]
        return [*head_of(self.studies), *cautions, *self._where_made()]

    def _where_made(self) -> list[Sentence]:
        return [Sentence(self._made(study)) for study in self.studies if not study.simulated]

    def cautions(self) -> list[str]:
        """What a reader of the rates must know besides them."""
        if len(self.studies) > 1:
            return cautions_of_all(self.studies)
        small = small_caution(self.studies[0], min(self.sizes)) if self.sizes else None
        return [*cautions_of(self.studies[0]), *([small] if small else [])]

    def captioned(self, parts: Iterable[Part]) -> list[Part]:
        """Parts of a report whose figures say where they are from."""
        return [self._captioned(part) for part in parts]

    def _captioned(self, part: Part) -> Part:
        if isinstance(part, Folded | Beside):
            return replace(part, parts=tuple(self.captioned(part.parts)))
        return self.figure(part) if isinstance(part, Drawable) else part

    def figure(self, drawn: Drawn) -> Drawn:
        """The figure with where it is from, unless it says so already."""
        return drawn if drawn.origin else replace(drawn, origin=self.origin())

    def origin(self) -> str:
        """The same in a line below a figure."""
        machines = dict.fromkeys(machine_words(study) for study in self.studies)
        names = ", ".join(f"{study.name} ({study.created_at.astimezone(UTC):%Y-%m-%d})" for study in self.studies)
        studies = f"{'study' if len(self.studies) == 1 else 'studies'} {names}"
        told = "; ".join([*machines, studies, *filter(None, [self._sizes(), self._runs()])])
        return f"{told[:1].upper()}{told[1:]}."

    def _made(self, study: Study) -> str:
        """Where and when the runs of a study were made, as a sentence."""
        host = str(study.host.get("hostname") or "")
        on = f" on {host}" if host else ""
        several = f"Study {study.name}: " if len(self.studies) > 1 else ""
        what = "Imported" if study.imported else "Measured"
        ran = f"; {', '.join(told)}" if len(self.studies) == 1 and (told := self._ran()) else ""
        return f"{several}{what}{on}, {machine_words(study)}; {self._when(study)}{ran}."

    def _when(self, study: Study) -> str:
        if len(self.studies) > 1 or self.began is None:
            return f"{'imported' if study.imported else 'begun'} {moment(study.created_at)} UTC"
        return f"runs made from {moment(self.began)} to {moment(self.ended or self.began)} UTC"

    def _ran(self) -> list[str]:
        return [text for text in (self._runs(), self._sizes()) if text]

    def _runs(self) -> str:
        return "" if self.runs is None else counted(self.runs, "valid full run")

    def _sizes(self) -> str:
        if not self.sizes:
            return ""
        low, high = min(self.sizes), max(self.sizes)
        return f"N={low:,}" if low == high else f"N={low:,} to {high:,}"


def folded_cautions(cautions: Sequence[str]) -> list[Part]:
    """One caution, or the first of several with the others folded below it."""
    if len(cautions) < 2:
        return [Sentence(text, tone=Tone.CAUTION) for text in cautions]
    first = cautions[0].removeprefix("Caution").lstrip(":, ")
    others = tuple(Sentence(text, tone=Tone.CAUTION) for text in cautions[1:])
    return [Folded(f"{counted(len(cautions), 'caution')}. The first: {first}", others, Tone.CAUTION)]


def machine_rows(study: Study) -> list[tuple[str, str]]:
    """What is known of the machine of a study, by name."""
    host = study.host
    memory, free = host.get("memory_total_bytes"), host.get("memory_available_bytes")
    virtual = host.get("hypervisor")
    told = {
        "host": host.get("hostname"),
        "virtual machine": {True: "yes", False: "no"}.get(virtual) if isinstance(virtual, bool) else None,
        "memory": gibibytes(memory) if isinstance(memory, int) else None,
        "free at the start": gibibytes(free) if isinstance(free, int) else None,
        "sockets": host.get("sockets"),
        "NUMA nodes": host.get("numa_nodes"),
        "hardware threads of a core": host.get("threads_per_core"),
        "frequency governor": host.get("governor"),
        "container": host.get(CONTAINER),
        "words before the program": host.get(WRAP),
        "modules": host.get(MODULES),
        "system": " ".join(str(host[name]) for name in ("os_release", "kernel") if host.get(name)),
    }
    return [(name, str(value)) for name, value in told.items() if value]


def moment(at: datetime) -> str:
    """Write a time as 2026-11-26 08:19."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def machine_words(study: Study) -> str:
    """The machine of a study in a few words."""
    if study.replayed:
        return f"replayed from the table {study.table}"
    host = study.host
    if study.simulated:
        return f"simulated on {host.get('virtual_cluster', 'a virtual cluster')}"
    nodes, cores, memory = (
        host_count(host, name, study.notes.nodes_left) if host.get(name) else None
        for name in ("nodes", "physical_cores", "memory_total_bytes")
    )
    told = [
        str(host.get("cpu_model") or "machine not known"),
        "virtual machine" if host.get("hypervisor") is True else "",
        counted(nodes, "node") if nodes else "",
        counted(cores, "core") if cores else "",
        gibibytes(memory) if memory else "",
    ]
    return ", ".join(filter(None, told))
