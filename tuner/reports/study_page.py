"""The page of one study: the answer first, then how it was found, what matters, and how to repeat it."""

from dataclasses import dataclass

from results.record import Study, TrialRecord
from results.report.model import Column, Copied, Heading, Part, Report, Sentence, Table
from results.stats.half_rate import half_rate_n
from results.stats.ranking import Ranked

from ..machine.equipment import Equipment
from .figures.registry import KINDS, SHOWN, FigureSource
from .story import story_table

HOST_FACTS = (
    ("cpu_model", "CPU"),
    ("nodes", "nodes"),
    ("physical_cores", "cores"),
    ("memory_gib", "memory in GiB"),
    ("virtual_cluster", "virtual cluster"),
    ("description", "description"),
    ("imported_from", "imported from"),
)


@dataclass(frozen=True)
class StudyPage:
    """What a page of a study is made of."""

    study: Study
    found: FigureSource

    def report(self) -> Report:
        """The page as data."""
        summary = self.found.summary
        parts: list[Part] = [*self._answer(), *self._way()]
        if summary and (explained := self.found.explained()):
            parts += [Heading("What matters"), *explained]
        parts += [*self._machine(), *self._repeat()]
        facts = summary.to_json() if summary else {"study": self.study.name}
        simulated = " (simulated)" if self.study.simulated else ""
        return Report(f"HPL on {self._place()}: study {self.study.name}{simulated}", tuple(parts), facts)

    def _answer(self) -> list[Part]:
        """The best configuration and how sure it is."""
        summary, best = self.found.summary, self.found.best
        if summary is None or best is None:
            return [Sentence("No run of this study was valid, so there is no best configuration.")]
        headline = [] if summary.front else [self._headline(summary.ranking[0], best)]
        return [Heading("The answer"), *headline, *summary.parts(SHOWN)]

    def _headline(self, first: Ranked, best: TrialRecord) -> Table:
        """The figures that lists of machines have, of the best configuration."""
        rmax_gflops = max(first.gflops)
        merit = Equipment.of(self.study).used_on(first.hosts, first.params).merit(rmax_gflops)
        half, sure = half_rate_n(best, self.found.records), first.interval_gflops
        expected = (
            sure and f"{first.expected_gflops:.2f}, with 95 % probability between {sure[0]:.2f} and {sure[1]:.2f}"
        )
        told = {
            "Rmax in GFLOPS": f"{rmax_gflops:.2f}",
            "usual rate in GFLOPS": expected or "",
            "Nmax": str(best.hpl.N if best.hpl else best.params.get("N", "")),
            "N½": f"{half:,.0f}, between two measured N"
            if half
            else "not known: no run of it was slower than half of Rmax",
            "% of peak": "" if merit.percent_of_peak is None else f"{merit.percent_of_peak:.1f}",
            "$/GFLOPS": "" if merit.usd_per_gflops is None else f"{merit.usd_per_gflops:.2f}",
            "MFLOPS/W": "" if merit.mflops_per_watt is None else f"{merit.mflops_per_watt:.1f}",
        }
        columns = (Column("figure", words=True), Column("value", words=True))
        return Table("", columns, tuple((name, value) for name, value in told.items() if value), headless=True)

    def _way(self) -> list[Part]:
        """How the best configuration was found."""
        if self.found.summary is None:
            return []
        drawn = [kind.draw(self.found) for kind in KINDS if kind.in_story]
        figures = [figure for figure in drawn if figure is not None]
        return [Heading("The way there"), story_table(self.study, self.found.records), *figures]

    def _machine(self) -> list[Part]:
        """What the machine and its programs were."""
        host = self.study.host
        rows = [(label, str(host[name])) for name, label in HOST_FACTS if host.get(name)]
        if self.study.rpeak_gflops:
            rows.append(("Rpeak in GFLOPS", f"{self.study.rpeak_gflops:.4g}"))
        rows += [(name, value) for name, value in sorted(self.study.versions.items())]
        columns = (Column("fact", words=True), Column("value", words=True))
        return [Heading("The machine"), Table("", columns, tuple(rows), headless=True)]

    def _repeat(self) -> list[Part]:
        """The command and the file that repeat the best run."""
        best = self.found.best
        if best is None:
            return []
        parts: list[Part] = [Heading("Run it again")]
        if best.command:
            parts.append(Copied(best.command))
        if best.hpl_dat:
            parts += [Sentence(f"HPL.dat of trial {best.number}:"), Copied(best.hpl_dat.rstrip())]
        return parts

    def _place(self) -> str:
        """The machine in a few words."""
        host = self.study.host
        return str(host.get("virtual_cluster") or host.get("cpu_model") or "this machine")
