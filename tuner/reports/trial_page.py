"""The page of one trial: what came of it, how it differs from the best, what the machine did, and how to repeat it."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from results.columns import TABLE
from results.disturbance import Conditions
from results.metrics import rate_text
from results.record import MEASURED, Kind, Study, TrialRecord, TrialState
from results.report.model import Copied, Gantt, Heading, Part, Report, Sentence, Table, Tone, Wrap, columns

from ..engines.registry import ENGINES
from .context import Context
from .figures.conditions import conditions
from .lists import trial_result, trial_table
from .machine_did import machine_did_table
from .ranks_got import ranks_got_table

WHY: Mapping[Kind, str] = {
    Kind.SMALL: "The engine asked for it at a smaller N, where it tells much for its time.",
    Kind.PREFIX: "The engine asked for its first columns only, which tell much for their time.",
    Kind.PILOT: "A small run, which shows how long runs take.",
    Kind.REFERENCE: "The same configuration again every so often, to see whether the machine changes.",
    Kind.CONFIRMATION: "One of the best runs again, to be sure which is the best.",
    Kind.EXTRAPOLATION: "One of the best, or the textbook, at another N, to tell what is best with the whole memory.",
    Kind.RUN: "A run of the HPL.dat that was given.",
}
ELSEWHERE = frozenset({"configuration", "command", "folder"})
"""Facts that have a part of their own on the page, or that say nothing to whoever reads it elsewhere."""
PRIVATE = frozenset(name for name, column in TABLE.items() if not column.is_public)
"""Columns that a page does not show, for a service has it too."""
REPORTS = "hpltune-"
"""How lines of standard error begin that ranks wrote for us."""
MOST_OUTPUT = 20_000
"""Characters of what HPL printed that are shown; more are left out in the middle."""


def why(study: Study, record: TrialRecord, best: TrialRecord | None) -> str:
    """Say why a trial runs."""
    if record.kind in WHY:
        return WHY[record.kind]
    if study.engine == "hpl" and best is None:
        return "One of the first runs, chosen by what is known of HPL before any full run."
    return ENGINES[study.engine][-1] if study.engine in ENGINES else f"The engine {study.engine} asked for it."


@dataclass(frozen=True)
class TrialReport:
    """All that is known of one trial.

    Attributes:
        killed: numbers of the study's trials that nobody works on any more.
        others: trials of the same launch.
        best: the run that stands for the best configuration of the study; None where none counts.
        lanes: what each rank did; None where it was not simulated, or where to draw that takes long.
    """

    study: Study
    record: TrialRecord
    killed: Collection[int] = ()
    others: Sequence[int] = ()
    best: TrialRecord | None = None
    lanes: Gantt | None = None

    def report(self) -> Report:
        """The page, its answer first."""
        table = trial_table(self.study, self.record, self.killed, self.others)
        context = Context.of_one(self.study, self.record)
        parts = (
            *self._answer(table),
            *self._beside_the_best(),
            *context.captioned(self._meanwhile()),
            *self._again(),
            Heading("Its study"),
            *context.head(),
            *self._printed(),
        )
        return Report(f"Trial {self.record.number} of study {self.study.name}", parts)

    def _answer(self, table: Table) -> Iterator[Part]:
        """What came of it, whether it counts, and its figures."""
        record = self.record
        yield Heading("What came of it")
        result = trial_result(record, self.killed)
        how = f", {self.study.how}" if record.ranked and self.study.how != MEASURED else ""
        yield Sentence(f"{result[:1].upper()}{result[1:]}{how}.", tone=_tone(record))
        if record.disturbed:
            yield Sentence(f"It was disturbed: {record.disturbed}.", tone=Tone.CAUTION)
        elif record.conditions is Conditions.UNKNOWN and record.state is TrialState.COMPLETE:
            yield Sentence("Whether something disturbed it is not known: too little was measured meanwhile.")
        if not (record.simulated or record.kind is Kind.IMPORTED):
            yield Sentence(why(self.study, record, self.best))
        yield replace(table, title="", rows=tuple(row for row in table.rows if row[0] not in ELSEWHERE | PRIVATE))

    def _beside_the_best(self) -> Iterator[Part]:
        """Its configuration, beside that of the best."""
        record, best = self.record, self.best
        if not record.params:
            return
        yield Heading("Its configuration")
        name, value = columns("parameter", "value", wrap=Wrap.ANYWHERE)
        if best is None or best.key == record.key:
            if best is not None:
                yield Sentence("It is the best configuration of the study.", tone=Tone.GOOD)
            yield Table("", (name, value), tuple((key, str(told)) for key, told in record.params.items()))
            return
        keys = list(dict.fromkeys([*record.params, *best.params]))
        rows = [(key, str(record.params.get(key, "")), str(best.params.get(key, ""))) for key in keys]
        differs = [place for place, (_, own, other) in enumerate(rows) if own != other]
        rate = f", {rate_text(best.gflops)} GFLOPS" if best.gflops else ""
        heads = (name, replace(value, name="here"), replace(value, name=f"the best: trial {best.number}{rate}"))
        caption = "In bold: what differs." if differs else ""
        yield Table("", heads, tuple(rows), bold=frozenset(differs), caption=caption)

    def _meanwhile(self) -> Iterator[Part]:
        """What the machine did during it, and what its ranks had."""
        told = [self.lanes, conditions(self.record), machine_did_table(self.record), ranks_got_table(self.record)]
        parts = [part for part in told if part is not None]
        if parts:
            yield Heading("What the machine did")
            yield from (replace(one, title="") if one is told[2] and isinstance(one, Table) else one for one in parts)

    def _again(self) -> Iterator[Part]:
        """The file and the command that repeat it."""
        record = self.record
        if not (record.hpl_dat or record.command):
            return
        yield Heading("Run it again")
        if record.command and not record.simulated:
            if self.study.workload.is_hpl:
                yield Copied(f"hpltune run HPL.dat ⟦like⟧ {shlex.quote(f'{record.study}#{record.number}')}")
            yield Sentence("What was started:")
            yield Copied(record.command)
        if record.hpl_dat:
            yield Sentence(f"Its {self.study.workload.input_name}:")
            yield Copied(record.hpl_dat.rstrip(), columns=self.study.workload.input_name)

    def _printed(self) -> Iterator[Part]:
        """What HPL printed, or what was said on standard error where it printed nothing."""
        record = self.record
        said = (line for line in record.errors_text.splitlines() if not line.startswith(REPORTS))
        text = (record.output or "\n".join(said)).strip()
        if not text:
            return
        printed = f"What {self.study.workload.title} printed"
        title = printed if record.output else "What was said on standard error"
        yield Heading(title)
        if len(text) > MOST_OUTPUT:
            half = MOST_OUTPUT // 2
            left_out = f"… {len(text) - 2 * half:,} characters are left out here …"
            text = f"{text[:half]}\n{left_out}\n{text[-half:]}"
        yield Copied(text, columns=title)


def _tone(record: TrialRecord) -> Tone:
    if record.state is TrialState.FAILED or record.passed is False:
        return Tone.BAD
    return Tone.GOOD if record.ranked else Tone.PLAIN
