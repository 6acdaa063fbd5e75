"""The page of one study: the answer first, then how it was found, what matters, and how to repeat it."""

from dataclasses import dataclass

from results.record import Study
from results.report.model import Column, Copied, Heading, Part, Report, Sentence, Table

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
        if self.found.summary is None:
            return [Sentence("No run of this study was valid, so there is no best configuration.")]
        return [Heading("The answer"), *self.found.summary.parts(SHOWN)]

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
