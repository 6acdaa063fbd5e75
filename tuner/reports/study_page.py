"""The page of one study: the answer first, then how it was found, what matters, and how to repeat it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hpl.witness import parse_unlike
from results.record import SIMULATOR, Study, TrialRecord, TrialState
from results.report.model import (
    Beside,
    Card,
    Copied,
    Drawable,
    Figure,
    Folded,
    Heading,
    Matrix,
    Part,
    Report,
    Sentence,
    Table,
    facts_table,
)
from results.stats.ranking import is_full_run
from results.store.service.campaign_entry import LiveState

from ..explain.taught_study import TaughtStudy
from ..study.names import is_shootout
from ..words import counted
from .answer_card import answer_card, failure_card
from .configurations import configuration_table, percents_of, varying_names
from .context import TABS, machine_rows
from .explanation import explanation_parts
from .figures.messages import messages
from .figures.registry import KINDS, SHOWN, FigureSource, timelines
from .figures.runs import runs_figure
from .figures.size import whole_memory
from .library_ranking import LibraryRanking
from .lists import noted_sentences
from .machine_did import measured_sentence
from .pairs import strongest_pairs
from .published_results import known_table
from .ranks_got import ranks_got_table
from .story import full_runs, story_table
from .virtual_cluster import cluster_table, virtual_cluster_of

SYSTEM = (("os_release", "system"), ("kernel", "kernel of the system"))


def programs_table(study: Study, run: TrialRecord) -> Table:
    """List the versions of all that took part in a run, and where its files are; what is not known is left out."""
    versions = {**study.versions, **run.versions}
    facts = _simulated(versions) if study.simulated else _measured(study, run, versions)
    facts["files of the run"] = run.directory
    return facts_table(f"What trial {run.number} ran with", facts.items())


def _simulated(versions: Mapping[str, str]) -> dict[str, str]:
    """What a simulated run depends on: no BLAS, MPI or system of this machine."""
    names = (("hpltune", "hpltune"), ("HPL", "hpl"), ("simulator", SIMULATOR))
    return {what: versions.get(name, "") for what, name in names}


def _measured(study: Study, run: TrialRecord, versions: Mapping[str, str]) -> dict[str, str]:
    chosen, observed = str(run.params.get("mpi", "")), run.observed
    mpi = versions.get("mpi", "")
    return {
        "hpltune": versions.get("hpltune", ""),
        study.workload.title: versions.get("hpl", ""),
        "MPI": mpi if mpi.startswith(chosen) else chosen,
        "compiler": versions.get("compiler", ""),
        f"BLAS {run.blas}": versions.get(f"blas {run.blas}", ""),
        "library that ran": observed.library if observed else "",
        "its version": observed.version if observed else "",
        "its kernel": observed.kernel if observed else "",
        **{what: str(study.host.get(name) or "") for name, what in SYSTEM},
    }


NO_TIMELINE = "No run of it tells what the machine did second by second, so there is no figure of that."
MOST_EXPLAINED = 10_000
"""Trials of a study whose page tells what matters: with more that takes longer than all else of the page."""
HOST_FACTS = (
    ("cpu_model", "CPU"),
    ("nodes", "nodes"),
    ("physical_cores", "cores"),
    ("memory_gib", "memory in GiB"),
    ("virtual_cluster", "virtual cluster"),
    ("replay", "table"),
    ("description", "description"),
)


def _in_short(title: str, parts: Sequence[Part]) -> list[Part]:
    """The first sentence, diagram and heat map, with the rest folded below them."""
    kinds = (Sentence, Figure, Matrix)
    first = [next((part for part in parts if isinstance(part, kind)), None) for kind in kinds]
    shown = [part for part in first if part is not None]
    rest = tuple(part for part in parts if part not in shown)
    return [*shown, *([Folded(title, rest)] if rest else [])]


@dataclass(frozen=True)
class StudyPage:
    """What a page of a study is made of.

    Attributes:
        state: how it stands.
    """

    study: Study
    found: FigureSource
    state: LiveState = "complete"

    def report(self) -> Report:
        """The page as data."""
        summary, context = self.found.summary, self.found.context
        parts = [part for name, title in TABS.items() if (own := self.tab(name)) for part in (Heading(title), *own)]
        if repeated := self.repeated():
            parts += [Heading("Run it again"), *repeated]
        found = summary.to_json() if summary else {"study": self.study.name}
        title = f"{self.study.workload.title} on {self._place()}: study {self.study.marked_name}"
        page = context.page(Report(title, (*self._beside(), *parts), {**found, "cautions": context.cautions()}))
        return replace(page, parts=(*self._card(), *map(Sentence, noted_sentences(self.study)), *page.parts))

    def tab(self, name: str) -> list[Part]:
        """One of the parts of TABS below the answer at a glance; nothing where the study has none of it."""
        made: Mapping[str, Callable[[], Sequence[Part]]] = {
            "ranking": self._ranking,
            "parameters": lambda: [
                *_in_short("All that the runs tell of the parameters", self._explained()),
                *(figure for kind in KINDS if kind.name == "parallel" for figure in kind.draw(self.found)),
            ],
            "memory": lambda: whole_memory(self.found.predicted, self.found.confirmed),
            "machine": self._machine,
        }
        return self.found.context.captioned(made[name]())

    def _ranking(self) -> list[Part]:
        """The best configurations and how they were found, with what is drawn of them folded below."""
        parts = [*self._answer(others=True), *self._way()]
        drawn = tuple(part for part in parts if isinstance(part, Drawable))
        shown = [part for part in parts if part not in drawn]
        return [*shown, *([Folded("Figures of all runs", drawn)] if drawn else [])]

    def _card(self) -> list[Card]:
        """The answer at a glance; none while nothing is known."""
        if self.found.summary:
            return [answer_card(self.found.summary, self.state)]
        failed = [record for record in self.found.records if record.state is TrialState.FAILED]
        all_failed = failed and len(failed) == len(self.found.records)
        return [failure_card(self.study, failed, len(failed))] if all_failed else []

    def _beside(self) -> list[Part]:
        """All full runs, and beside them the configuration of the best."""
        best, predicted = self.found.best, self.found.predicted
        full = full_runs(self.found.records)
        if best is None or (drawn := runs_figure(self.study, self.found.records)) is None:
            return []
        taught = self._taught
        percents = percents_of(taught.explanation.effects if taught else ())
        rival = predicted.textbook if predicted else None
        ran = [record.params for record in self.found.records if rival and record.number == rival.trial]
        textbook = ran[0] if ran else taught.explanation.one_at_a_time.start if taught else {}
        return [Beside((drawn, configuration_table(best, textbook, percents, varying_names(full))))]

    def chapter(self) -> list[Part]:
        """What was found and how, in a report that tells itself what ran it and what others published."""
        parts = [Heading("The answer"), *self._answer(others=False)]
        if self.found.summary:
            parts += [Heading("The way there"), *self._way()]
        if self.found.summary and (explained := self._explained()):
            parts += [Heading("What matters"), *explained]
        return self.found.context.captioned(parts)

    def _answer(self, *, others: bool) -> list[Part]:
        """The best configuration, how sure it is, and what others published."""
        summary, best = self.found.summary, self.found.best
        if summary is None or best is None:
            return [Sentence("No run of this study was valid, so there is no best configuration.")]
        rounds: Sequence[Part] = ()
        if is_shootout(self.study):
            rounds = LibraryRanking.of(self.study, self.found.records, summary.ranking).parts()
        published = summary.published if others else None
        known = [known_table(published.machines, "Published results", cpu=False)] if published else []
        return [*rounds, *summary.parts(SHOWN, others=others, short=True), *known]

    def _way(self) -> list[Part]:
        """How the best configuration was found."""
        if self.found.summary is None:
            return []
        figures = [figure for kind in KINDS if kind.in_story for figure in kind.draw(self.found)]
        return [story_table(self.study, self.found.records), *figures]

    @cached_property
    def _taught(self) -> TaughtStudy | None:
        """What the engine learnt; None where nothing can be explained, or where that takes too long."""
        return self.found.taught() if self.found.summary and len(self.found.records) <= MOST_EXPLAINED else None

    def _explained(self) -> Sequence[Part]:
        """Which parameters matter, unless it takes too long to find out."""
        if len(self.found.records) > MOST_EXPLAINED:
            said = f"This study is large: `hpltune explain {self.study.name}` tells which parameters matter."
            return (Sentence(said),)
        taught = self._taught
        return explanation_parts(self.study, taught.explanation, strongest_pairs(taught)) if taught else ()

    def _machine(self) -> list[Part]:
        """What the machine and its programs were."""
        programs = tuple(sorted(self.study.versions.items()))
        cluster = virtual_cluster_of(self.study)
        if cluster is not None:
            described = cluster_table(cluster, self.study.rpeak_gflops)
            return [replace(described, rows=(*described.rows, *programs))]
        host = self.study.host
        rows = [
            *((label, str(host[name])) for name, label in HOST_FACTS if host.get(name)),
            ("imported from", self.study.notes.imported_from),
            *machine_rows(self.study),
        ]
        if self.study.rpeak_gflops:
            rows.append(("Rpeak in GFLOPS", f"{self.study.rpeak_gflops:.4g}"))
        network = messages(self.found.probes)
        meanwhile = (*([network] if network else []), *self._meanwhile())
        return [
            facts_table("", (*rows, *programs)),
            *([Folded("What it did during the runs", meanwhile)] if meanwhile else []),
        ]

    def _meanwhile(self) -> list[Part]:
        """What was measured of the machine during runs, and how it was over the time of some; nothing if none ran."""
        if self.study.simulated or self.study.imported or not self.found.records:
            return []
        drawn = timelines(self.found)
        said = self._drawn_of() if drawn else NO_TIMELINE
        return [Sentence(measured_sentence(self.found.records)), Sentence(said), *drawn]

    def _drawn_of(self) -> str:
        """Say whose lines of time are drawn."""
        full = [record for record in self.found.records if is_full_run(record)]
        disturbed, drawn = sum(bool(record.disturbed) for record in full), len(self.found.disturbed())
        best = "Drawn is the run that stands for the best configuration"
        if not disturbed:
            quiet = sum(record.undisturbed for record in full)
            return f"{best}; {quiet} of {counted(len(full), 'full run')} known to be undisturbed."
        if drawn == disturbed:
            return f"{best}, and each other full run that was disturbed." if drawn else f"{best}."
        return f"{best}, and of {counted(disturbed, 'disturbed full run')} the {drawn} that lost most."

    def repeated(self) -> list[Part]:
        """The command and the file that repeat the best run; nothing where there is none."""
        best = self.found.best
        if best is None:
            return []
        parts: list[Part] = []
        if best.command:
            parts.append(Copied(best.command))
        if best.hpl_dat:
            file = self.study.workload.input_name
            parts += [Sentence(f"{file} of trial {best.number}:"), Copied(best.hpl_dat.rstrip(), columns=file)]
        reached = ranks_got_table(best) if parse_unlike(best.errors_text) else None
        ran = (programs_table(self.study, best), *([reached] if reached else []))
        return [*parts, Folded("What it ran with", ran)]

    def _place(self) -> str:
        """The machine in a few words."""
        host = self.study.host
        table = f"the table {self.study.table}" if self.study.replayed else ""
        unknown = "a machine that is not known" if self.study.imported else "this machine"
        return str(table or host.get("virtual_cluster") or host.get("cpu_model") or unknown)
