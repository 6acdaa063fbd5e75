"""Lists of studies and of trials, in pages with the line that says what more there is."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hpl.params import Scalar
from results.columns import LISTED, TABLE, cells_of, doubts, values_of
from results.disturbance import Conditions
from results.metrics import measured_watts, prefix_gflops, rate_text
from results.record import IMPORTED_FROM, SIMULATOR, Kind, Study, TrialRecord, TrialState
from results.report.model import FactColumn, Part, Sentence, Table, Wrap, facts_of, facts_table, outcome, table_of
from results.report.ranking_table import NUMBERS as NUMERIC
from results.stats.headline import NO_RATES, HeadlineRates
from results.store.rows import Row
from results.store.study_list import Tally

from ..machine.equipment import Equipment
from ..machine.peak import above_peak
from ..study.objective import merit_text, unit_of
from ..units import duration
from ..words import counted
from .figures.phases import phases_s, phases_text
from .ranking import figures


@dataclass(frozen=True)
class Page:
    """Which of many are shown.

    Attributes:
        number: from 1, which has the newest.
        count: how many a page has; None for the usual number.
    """

    number: int = 1
    count: int | None = None

    def window(self, usual: int) -> tuple[int, int]:
        """Count what is shown and the newer ones that are left out; `usual` are shown where the user gave no count."""
        count = self.count or usual
        return count, count * (self.number - 1)

    def rest(self, what: str, shown: int, before: int, whole: int) -> str | None:
        """Say in a line what more there is; None where all is shown."""
        if shown == whole:
            return None
        last = whole - before
        these = f"{what} {last - shown + 1:,} to {last:,} of {whole:,}" if shown else f"{what}: {whole:,} and no more"
        older = f"⟦page⟧ {self.number + 1} has those before, " if last > shown else ""
        return f"{these}; {older}⟦count⟧ {whole} has all."


NEWEST = Page()


@dataclass(frozen=True)
class StudyLine:
    """One study of a list.

    Attributes:
        state: how it stands.
        rates: None where no run counts.
    """

    study: Study
    state: str
    tally: Tally
    rates: HeadlineRates | None

    @property
    def is_usual(self) -> bool:
        """Whether its rates are of HPL, measured here."""
        return self.study.workload.is_hpl and not self.study.simulated

    @property
    def how(self) -> str:
        """How its rates came about, and of what."""
        return self.study.how + ("" if self.study.workload.is_hpl else f", {self.study.workload.title}")

    def to_json(self) -> dict[str, object]:
        """All that scripts are told of it."""
        return facts_of(STUDY_FIELDS, self) | (self.rates.to_json() if self.rates else NO_RATES)


STUDY_FIELDS: tuple[FactColumn[StudyLine], ...] = (
    FactColumn("study", lambda line: line.study.name, key="study", words=True),
    FactColumn("", lambda line: line.study.created_at.isoformat(), None, "created_at"),
    FactColumn("when", lambda line: line.study.created_at.astimezone(), "%Y-%m-%d %H:%M", words=True),
    FactColumn("state", lambda line: line.state, key="state", words=True, wrap=Wrap.NEVER),
    FactColumn("", lambda line: line.study.space_name, None, "space"),
    FactColumn("engine", lambda line: line.study.engine, key="engine", words=True, wrap=Wrap.NEVER, aside=True),
    FactColumn("", lambda line: line.study.how, None, "rates"),
    FactColumn("", lambda line: line.study.workload.name, None, "workload"),
    FactColumn("", lambda line: list(line.study.notes.tags), None, "tags"),
    FactColumn("", lambda line: line.study.notes.note, None, "note"),
    FactColumn("trials", lambda line: line.tally.trials, key="trials", wrap=Wrap.NEVER, aside=True),
    FactColumn("failed", lambda line: line.tally.failed, key="failed", wrap=Wrap.NEVER, aside=True),
    FactColumn("rates", lambda line: line.how, words=True, wrap=Wrap.NEVER),
    FactColumn(
        "fastest GFLOPS",
        lambda line: line.rates and line.rates.fastest_text,
        wrap=Wrap.NEVER,
        short="fastest",
    ),
    FactColumn(
        "expected GFLOPS",
        lambda line: line.rates and line.rates.expected_gflops,
        rate_text,
        wrap=Wrap.NEVER,
        short="expected",
        optional=True,
    ),
    FactColumn("tags", lambda line: " ".join(line.study.notes.tags), words=True, optional=True),
)
"""What is told of each study of a list."""


def noted_sentences(study: Study) -> list[str]:
    """What somebody keeps with a study: its note, and its tags; nothing where there is nothing."""
    said = {"Note": study.notes.note, "Tags": " ".join(study.notes.tags)}
    return [f"{what}: {text}" for what, text in said.items() if text]


def studies_table(lines: Sequence[StudyLine]) -> Table:
    """Build a table with a row for each study; how rates came about, and of what, is told where that differs."""
    estimated = any(line.rates and line.rates.expected_gflops is not None for line in lines)
    said = "Fastest: of all full runs. Expected: of one more run of no. 1, an estimate." if estimated else ""
    usual = {"rates"} if all(line.is_usual for line in lines) else frozenset[str]()
    return table_of("", [field for field in STUDY_FIELDS if field.name not in usual], lines, caption=said)


KILLED: Final = "killed"
"""How a study or a trial stands that still says it runs, though nobody works on it."""
FIRST = ("blas", "kernel", "layout", "grid", "N", "NB", "BCAST", "DEPTH", "SWAP", "RFACT", "NBMIN")
"""Parameters that a list of trials has, what matters most first; those of a program's own and settings follow."""

KIND_WORDS: Mapping[Kind, str] = {
    **dict.fromkeys((Kind.CONFIRMATION, Kind.REFERENCE), "again"),
    Kind.SMALL: "small",
    Kind.PILOT: "pilot",
    Kind.EXTRAPOLATION: "other N",
    Kind.GIVEN_UP: "given up",
}
"""What is told of kinds of trials beside their rates; nothing of the others."""
USUAL_WIDTH, UNKNOWN = 78, "disturbed? not known"
"""Characters of a line of a usual terminal that the columns of a table share; those that do not fit are aside.
And what is told where nobody knows whether a run was disturbed."""


def trials_table(title: str, records: Sequence[TrialRecord], killed: Collection[int]) -> Table:
    """Build a table with a row for each trial.

    Args:
        killed: numbers of the trials that nobody works on any more.
    """
    rates = [record.gflops if record.ranked else None for record in records]
    most = max((rate for rate in rates if rate), default=1.0)
    bars = tuple(None if rate is None else rate / most for rate in rates)
    columns, cells = list[FactColumn[Any]](), []
    heads = {name: column for name, column in TABLE.items() if column.head and column.is_public}
    known = [(cells_of(values_of(record, heads)), record) for record in records]
    for name, column in heads.items():
        told = [_told(name, values[name], record, killed) for values, record in known]
        if column.is_later and {*told} <= {"", *column.usual}:
            continue
        is_result, is_figure = name == "gflops", column.kind in {int, float} and name != "gflops"
        wrap = Wrap.NEVER if is_figure else Wrap.ANYWHERE if is_result else Wrap.AT_WORDS  # a reason may hold a path
        columns.append(FactColumn(column.head, words=not is_figure, wrap=wrap, bars=bars if is_result else ()))
        cells.append(told)
    return Table(title, tuple(columns), tuple(zip(*cells, strict=True)))


def varying_trials(records: Sequence[TrialRecord], killed: Collection[int]) -> list[Part]:
    """Tell in a line of each trial what came of it, and the parameters that differ, as far as they fit."""
    words = [own_params(record) for record in records]
    names = dict.fromkeys([*FIRST, *(name for one in words for name in one)])
    values = {name: [str(one.get(name, "")) for one in words] for name in names}
    usual = (item for item in values.items() if item[0] in FIRST or "." in item[0])
    alike = [f"{name}={own[0]}" for name, own in usual if len({*own}) == 1 and own[0]]
    rates = [record.gflops if record.ranked else prefix_gflops(record) for record in records]
    always = {
        "#": [str(record.number) for record in records],
        "GFLOPS": ["" if rate is None else rate_text(rate) for rate in rates],
        "state": [_stands(record, killed) for record in records],
    }
    columns = [
        FactColumn[int](name, own.__getitem__, words=name == "state", optional=True) for name, own in always.items()
    ]
    room = USUAL_WIDTH - sum(map(_taken, always.items()))
    for name, own in values.items():
        if len({*own}) > 1:
            fits = _taken((name, own)) <= room
            room -= _taken((name, own)) if fits else 0
            columns.append(FactColumn(name, own.__getitem__, words=name not in NUMERIC, aside=not fits))
    said = f"{'All have' if len(records) > 1 else 'It has'} {' '.join(alike)}. " if alike else ""
    more = f"{said}⟦all⟧ tells all columns, and a trial's number behind the study all of that trial."
    return [table_of("", columns, range(len(records)), wrap=Wrap.NEVER), Sentence(more)]


def _taken(column: tuple[str, Sequence[str]]) -> int:
    """Characters that a column takes, given its name and its cells."""
    return 3 + max(map(len, (column[0], *column[1])))


def _stands(record: TrialRecord, killed: Collection[int]) -> str:
    """How a trial stands beside its rate, without the reason of a failure."""
    if record.number in killed:
        return KILLED
    if record.state is not TrialState.COMPLETE:
        return f"failed: {record.invalidity}" if record.state is TrialState.FAILED else str(record.state)
    words = KIND_WORDS.get(record.kind, "")
    part = f"first {record.part:.0%}" if record.part < 1 and record.kind is not Kind.SMALL else words
    return ", ".join(filter(None, (part, *(UNKNOWN if one == Conditions.UNKNOWN else one for one in doubts(record)))))


def _told(name: str, value: Any, record: TrialRecord, killed: Collection[int]) -> str:
    """Write the value of a column for people; "" where there is none."""
    if name == "gflops":
        return trial_result(record, killed)
    if name == "params":
        return configuration(record)
    if value is None or (TABLE[name].usual and record.state is not TrialState.COMPLETE):
        return ""
    said = duration(value) if name == "time_s" else f"{value:g}" if isinstance(value, float) else str(value)
    return said if name == "time_s" else f"{said} {TABLE[name].unit}".rstrip()


def trial_rows(
    rows: Iterator[Row], killed: Collection[int], states: Collection[TrialState] | None
) -> Iterator[dict[str, object]]:
    """Read the facts of one trial after the other.

    Args:
        rows: of the store.
        states: only trials in these; None for all.
    """
    for values, params in rows:
        if states is None or values["state"] in states:
            yield _facts(values, params, killed)


def trial_json(record: TrialRecord, killed: Collection[int]) -> dict[str, object]:
    """The facts of one trial."""
    return {**_facts(values_of(record), record.params, killed), "phases_s": dict(phases_s(record))}


def _facts(values: Mapping[str, Any], params: Mapping[str, Scalar], killed: Collection[int]) -> dict[str, object]:
    state = KILLED if values["number"] in killed else values["state"]
    return {**{name: values[name] for name in LISTED}, "state": state, "params": dict(params)}


def trial_result(record: TrialRecord, killed: Collection[int]) -> str:
    """What came of a trial, in a few words."""
    return KILLED if record.number in killed else outcome(record).strip()


def configuration(record: TrialRecord) -> str:
    """The parameters of a trial on one line, what matters most first."""
    words = own_params(record)
    own = [name for name in words if "." in name]
    return " ".join(f"{name}={words[name]}" for name in (*FIRST, *own) if name in words)


def own_params(record: TrialRecord) -> Mapping[str, Scalar]:
    """The parameters of a trial, with the N that it really had: that of a small run is not its configuration's."""
    return dict(record.params) if record.hpl is None else {**record.params, "N": record.hpl.N}


TOGETHER = frozenset(
    {
        *("study", "number", "kind", "state", "invalidity", "reason", "conditions", "disturbed", "gflops", "rates"),
        *("residual", "passed", "simulated", "part", "time_s", "cost_s", "blas", "kernel", "ranks", "threads"),
        *("started_at", "ended_at", "file_changed_at", "command", "directory", "key", "xhpl_key", "session"),
    }
)
"""Columns that lines of the table of a trial tell in their own words, or that say nothing to people."""
LINES = tuple(
    name
    for name, column in TABLE.items()
    if column.home in {"trial", "derived"} and column.kind is not dict and name not in TOGETHER
)
"""Columns that have a line of their own in the table of a trial: new ones, which nothing above names."""


def trial_table(study: Study, record: TrialRecord, killed: Collection[int], others: Sequence[int]) -> Table:
    """Build the table of one trial: its configuration, its figures, what really ran, and where its files are.

    Args:
        others: trials of the same launch.
    """
    facts = {"kind": str(record.kind), "state": KILLED if record.number in killed else str(record.state)}
    result = trial_result(record, killed)
    facts |= {"reason": record.reason} if record.reason and record.reason not in result else {}
    told = {"disturbed": str(record.disturbed or record.conditions)}
    facts |= told if record.state is TrialState.COMPLETE and not record.undisturbed else {}
    facts |= {**_figures(study, record), **_launch(record, others)}
    facts["configuration"] = " ".join(f"{name}={value}" for name, value in own_params(record).items())
    facts |= _origin(record)
    facts |= {
        name: said
        for name, value in cells_of(values_of(record, LINES)).items()
        if (said := _told(name, value, record, killed))
    }
    return facts_table(f"Study {study.name}, trial {record.number}: {result}", facts.items())


def _figures(study: Study, record: TrialRecord) -> dict[str, str]:
    """The rate with the figures of merit, and the residual."""
    if record.gflops is None:
        return {}
    machine = Equipment.of(study)
    merits = figures(machine, record.gflops, record) if record.ranked else {}
    told = [f"{merit_text(name, value)} {unit_of(name, machine)}" for name, value in merits.items()]
    rate = ", ".join([rate_text(record.gflops), *told])
    doubt = above_peak(study, [merits.get("percent_of_peak")])
    checked = f"{record.residual} ({'PASSED' if record.passed else 'not passed'})"
    residual = "none, because nothing was computed: simulated" if record.simulated else checked
    if record.rates == "replayed":
        residual = "not in the table that is replayed" if record.residual is None else f"{checked}, as the table has it"
    return {"GFLOPS": rate, **({"peak": doubt} if doubt else {}), **_power(record), "residual": residual}


def _power(record: TrialRecord) -> dict[str, str]:
    """What each source measured of the power over the solve."""
    told = [
        f"{watts:.1f} W, {record.measurements.get(f'{name}_energy_j', math.nan):.0f} J by {name}"
        for name, watts in sorted(measured_watts(record.measurements).items())
    ]
    return {"power": "; ".join(told)} if told else {}


def _launch(record: TrialRecord, others: Sequence[int]) -> dict[str, str]:
    """How long the trial took, and which trials shared its launch."""
    facts = {}
    if record.time_s is not None:
        launch = "with its part of the launch" if others else "whole launch"
        cost = "" if record.cost_s is None else f" ({launch} {duration(record.cost_s)})"
        facts["time"] = f"{duration(record.time_s)}{cost}"
    if seconds := phases_s(record):
        facts["phases"] = f"{phases_text(seconds)}; each of the rank that took longest"
    if others:
        facts["same launch"] = f"trials {', '.join(map(str, others))}"
    return facts


def _origin(record: TrialRecord) -> dict[str, str]:
    """Which library really ran, when, with which command and in which folder."""
    facts = {}
    if record.rates == "replayed":
        facts["not measured"] = f"{record.versions[SIMULATOR]}: a table told the result"
    if IMPORTED_FROM in record.versions:
        facts["imported from"] = record.versions[IMPORTED_FROM]
    if record.observed and record.rates != "replayed":
        seen = record.observed
        threads = "? threads" if seen.threads is None else counted(seen.threads, "thread")
        version = f" ({seen.version})" if seen.version else ""
        facts["really ran"] = f"{seen.library}{version}, kernel {seen.kernel or 'unknown'}, {threads} a rank"
    facts["started"] = _started(record)
    if record.command:
        facts |= {"command": record.command, "folder": record.directory}
    return facts


def _started(record: TrialRecord) -> str:
    """Say when a trial started; an imported output names no time zone, and may not tell the time at all."""
    started_at = record.started_at.astimezone()
    moment = f"{started_at:%Y-%m-%d %H:%M:%S}"
    if record.kind is not Kind.IMPORTED:
        return f"{moment} {started_at:%Z}"
    if record.known_start is None:
        return f"unknown: the output does not say it; its file is of {moment}"
    return f"{moment}, as HPL printed it without a time zone"
