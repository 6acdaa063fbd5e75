"""`hpltune check`: whether and why the machine is slower than when a stored study measured its best configuration."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Literal

from hpl.dat import HplDat, render
from hpl.errors import HplError
from hpl.log import untold_words
from results.disturbance import Disturbance
from results.errors import ResultsError
from results.record import Study, TrialRecord
from results.report.model import Column, Figure, Part, Report, Sentence, Series, Table, Tone, outcome
from results.report.text_forms import JUnitCase, to_junit
from results.stats.disturbed_runs import undisturbed
from results.stats.occasions import MOST_RUNS, SURE, Occasions, SpeedChange, runs_to_tell, speed_change
from results.store.store import Store
from runners.errors import RunnerError

from ...asks.check import CheckAsk
from ...database import open_store
from ...errors import TunerError, UsageError
from ...events import Listener, Notice
from ...machine.quiet import longest_wait_s
from ...options import TuneOptions
from ...reports.context import Context
from ...stopping import StopRequest
from ...study.cautions import cautions_of, told_cautions
from ...study.machine_changes import noise_at_first
from ...study.objective import ranking_of
from ...study.occasions import known_occasions
from ...units import gibibytes
from ...user_dirs import UserDirs
from ...user_files import require_writable_file, write_text
from ...words import counted, listed, with_options
from .run import RunRequest, RunResult, run

SUITE = "hpltune check"
"""Name of the test suite in JUnit's file."""
SPARE_S = 600.0
"""A run is ended after this time and SLOWEST times the time of the baseline: it hangs."""
SLOWEST = 10
QUIET = "Check again when the machine is quiet."

HOST_FACTS = {
    "hostname": "host",
    "node_names": "nodes",
    "cpu_model": "CPU",
    "physical_cores": "cores",
    "logical_cpus": "logical CPUs",
    "memory_total_bytes": "memory",
    "numa_nodes": "NUMA nodes",
    "governor": "frequency governor",
    "hypervisor": "virtual machine",
    "os_release": "system",
    "kernel": "kernel of the system",
}
"""Facts of a host as a study stores them, and what people call them."""
OF_ALL_NODES = ("nodes", "cores", "logical CPUs", "memory")
"""Those that are of all nodes of a cluster together."""
VERSIONS = {"hpltune": "hpltune", "hpl": "HPL", "mpi": "MPI", "compiler": "compiler"}
"""Versions as a study stores them; that of the BLAS has its name."""


class CheckVerdict(Enum):
    """What a check found."""

    NOT_SLOWER = "not-slower"
    SLOWER = "slower"
    CANNOT_TELL = "cannot-tell"
    FAILED = "failed"
    STOPPED = "stopped"


PROBLEMS: dict[CheckVerdict, Literal["failure", "error", "skipped"]] = {
    CheckVerdict.SLOWER: "failure",
    CheckVerdict.FAILED: "error",
    CheckVerdict.CANNOT_TELL: "skipped",
    CheckVerdict.STOPPED: "skipped",
}
"""What JUnit calls a verdict; a test passes without one."""
TONES = {CheckVerdict.NOT_SLOWER: Tone.GOOD, CheckVerdict.SLOWER: Tone.BAD, CheckVerdict.FAILED: Tone.BAD}


@dataclass(frozen=True)
class CheckRequest:
    """What to measure again.

    Attributes:
        junit: file for a CI service; None for none.
        db: database file or URL; None for the user's own.
        study: name of the study that holds the runs; None takes a new one after the baseline.
    """

    ask: CheckAsk
    junit: Path | None = None
    db: str | None = None
    study: str | None = None

    @property
    def tolerance(self) -> float:
        """Loss that is no reason to worry, as a part of 1."""
        return self.ask.tolerance_percent / 100


@dataclass(frozen=True)
class Baseline:
    """The best configuration of a stored study.

    Attributes:
        trial: the run that represents it.
        gflops: the rates of all its runs.
        occasions: how the machine differs between occasions, as earlier checks of it and its like tell.
    """

    study: Study
    trial: TrialRecord
    gflops: tuple[float, ...]
    occasions: Occasions = field(default_factory=Occasions)

    @property
    def name(self) -> str:
        """STUDY#TRIAL."""
        return f"{self.study.name}#{self.trial.number}"

    @property
    def hpl_dat(self) -> str:
        """The text of the HPL.dat of its trial."""
        return self.trial.hpl_dat or (render(HplDat.of(self.trial.hpl)) if self.trial.hpl else "")

    def again(self, file: Path) -> RunRequest:
        """What runs its HPL.dat as its trial ran.

        Args:
            file: holds `hpl_dat`.
        """
        trial, cores = self.trial, self.study.host.get("physical_cores")
        return RunRequest(
            file,
            TuneOptions(),
            like=self.name,
            layout=f"{trial.ranks}x{trial.threads}" if trial.ranks and trial.threads else None,
            walltime_s=SPARE_S + SLOWEST * (trial.time_s or 0.0),
            oversubscribe=isinstance(cores, int) and (trial.ranks or 0) * (trial.threads or 1) > cores,
        )


@dataclass(frozen=True)
class ChangedFact:
    """A fact that is not what it was."""

    what: str
    before: str
    now: str


@dataclass(frozen=True)
class CheckResult:
    """How fast the machine is now, beside how fast it was.

    Attributes:
        measured: the runs of now, in a study of their own.
        change: None if no run of now counts.
        more_runs: how many more runs would probably tell; None if it can tell, or if no number would.
        changes: what else is not as it was.
        failure: JUnit's file could not be written.
    """

    request: CheckRequest
    baseline: Baseline
    measured: RunResult
    change: SpeedChange | None
    more_runs: int | None = None
    changes: tuple[ChangedFact, ...] = ()
    failure: TunerError | None = field(default=None, compare=False)

    @property
    def verdict(self) -> CheckVerdict:
        """What the check found."""
        if self.measured.interrupted:
            return CheckVerdict.STOPPED
        if self.change is None or not self.measured.all_count:
            return CheckVerdict.FAILED
        if not self.change.can_tell or self.disturbed is not None:
            return CheckVerdict.CANNOT_TELL
        return CheckVerdict.SLOWER if self.change.slower else CheckVerdict.NOT_SLOWER

    @property
    def disturbed(self) -> Disturbance | None:
        """What disturbed the last run of now, where all were disturbed; None where one was not."""
        runs = [run.disturbed for run in self.measured.records if run.ranked]
        return runs[-1] if runs and all(runs) else None

    @property
    def gflops(self) -> tuple[float, ...]:
        """The rates of now that count."""
        return rates_of(self.measured)

    @property
    def median_change_percent(self) -> float | None:
        """By how much the median of now is above that of the baseline; None without a run of now."""
        return 100 * (median(self.gflops) / median(self.baseline.gflops) - 1) if self.gflops else None

    def report(self) -> Report:
        """The verdict with its probability, the rates, what does not count, and what else changed."""
        parts: list[Part] = [Sentence(self.sentence, tone=TONES.get(self.verdict, Tone.PLAIN))]
        parts += [Sentence(text) for text in self._details()]
        parts.append(Sentence(f"Stored as study {self.measured.study.name}."))
        if self.changes:
            rows = tuple((change.what, change.before, change.now) for change in self.changes)
            heads = tuple(Column(name, words=True) for name in ("what", "before", "now"))
            parts.append(Table("What else changed", heads, rows))
        return Report(f"Check of {self.baseline.study.name}", tuple(parts), self._facts())

    def page(self) -> Report:
        """The same as a page, which begins with what a reader must know first of both times, and draws all runs."""
        report = self.report()
        both = Context([self.baseline.study, self.measured.study], runs=len(self.baseline.gflops) + len(self.gflops))
        drawn = [both.figure(self._figure())] if self.gflops else []
        return replace(report, parts=(*self._then_and_now(), *report.parts, *drawn))

    def _figure(self) -> Figure:
        """Draw the runs of both times."""
        times = {"before": self.baseline.gflops, "now": self.gflops}
        series = tuple(Series(name, (name,) * len(rates), tuple(rates)) for name, rates in times.items())
        title, caption = "Runs before and now", "Each point is a run of the same configuration."
        return Figure(title, "when", "GFLOPS", series, from_zero=True, caption=caption)

    def _then_and_now(self) -> list[Sentence]:
        """Where and when the baseline and the runs of now were made, and the cautions of both."""
        before = Context.of_baseline(self.baseline.study, self.baseline.trial, len(self.baseline.gflops))
        now = Context.of_runs(self.measured.study, [run for run in self.measured.records if run.ranked])
        return [
            replace(sentence, text=f"{when}: {sentence.text}")
            for when, context in (("Before", before), ("Now", now))
            for sentence in context.head()
        ]

    def junit(self, time_s: float) -> str:
        """The text of JUnit's file."""
        now = [f"Now: {text}." for _, text in told_cautions(self.measured.study).values()]
        text = "\n".join([self.sentence, *self._details(), *now, *map(_line, self.changes)])
        problem = PROBLEMS.get(self.verdict)
        return to_junit(JUnitCase(SUITE, self.baseline.name, problem, self.sentence, text, time_s))

    @property
    def sentence(self) -> str:
        """The answer in one sentence, or two."""
        verdict, change = self.verdict, self.change
        if verdict is CheckVerdict.STOPPED:
            return f"Stopped after {counted(len(self.gflops), 'valid run')}: there is no answer."
        if change is None or verdict is CheckVerdict.FAILED:
            failed = sum(not record.ranked for record in self.measured.records)
            return f"Failed: {counted(failed, 'run')} of {len(self.measured.records)} gave no valid result."
        if self.disturbed is not None:
            runs = counted(len(self.gflops), "run")
            return f"Cannot tell: of {runs} all were disturbed, the last one because {self.disturbed}. {QUIET}"
        limit, chance = f"{self.request.ask.tolerance_percent:g} %", _percent(change.probability_slower)
        if verdict is CheckVerdict.SLOWER:
            changed = self.median_change_percent
            lost = f"the machine lost {-(change.change_percent if changed is None else changed):.1f} % of its rate"
            chance = _percent(min(change.probability_slower, change.probability_beyond_occasions))
            return (
                f"Slower: {lost}, and with a probability of {chance} more than {limit} and than two occasions of an "
                "unchanged machine differ."
            )
        told = f"the machine is slower by more than {limit} with a probability of {chance}"
        return f"Not slower: {told}." if change.can_tell else f"Cannot tell: {told}. {self._advice()}"

    def _advice(self) -> str:
        if self.more_runs is not None:
            all_runs = len(self.gflops) + self.more_runs
            return f"About {counted(self.more_runs, 'more run')} would tell: check again with ⟦runs⟧ {all_runs}."
        if self.change and self.change.occasions:
            apart = 100 * math.expm1(self.change.occasions.reach(1 - SURE))
            return (
                "More runs now would not tell whether it is more than the occasion: two occasions of an unchanged "
                f"machine may be {apart:.1f} % apart ({self.change.occasions.words}). Checks on other days tell how "
                "much they are."
            )
        noise = 100 * self.change.noise if self.change else 0.0
        known = counted(len(self.baseline.gflops), "run")
        return (
            f"{counted(MOST_RUNS, 'run')} would not tell, if runs differ by {noise:.1f} % as estimated: the baseline "
            f"has {known} of this configuration. A quiet machine, or a baseline with more runs, may tell."
        )

    def _details(self) -> list[str]:
        """The rates, what does not count, and what speaks against the verdict."""
        told = [text for _, text in told_cautions(self.baseline.study).values()]
        before = [f"When the baseline was made: {text}." for text in told]
        return [*self._rates(), *self._left_out(), *self._failures(), *before]

    def _left_out(self) -> list[str]:
        """Say which runs do not count because they were disturbed, and others were not."""
        disturbed = [run for run in self.measured.records if run.ranked and run.disturbed]
        if self.disturbed is not None or not disturbed:
            return []
        return [f"Trial {run.number} was disturbed, so that it does not count: {run.disturbed}." for run in disturbed]

    def _rates(self) -> list[str]:
        """The rates of both times, and the change."""
        before = self.baseline.gflops
        told = f"Before: {_median(before)} ({self.baseline.name})."
        if self.change is None:
            return [told]
        low, high = self.change.interval_percent
        estimated = f"{self.change.change_percent:+.1f} % (95 % interval: {low:+.1f} % to {high:+.1f} %)"
        return [
            f"{told} Now: {_median(self.gflops)}.",
            f"The median changed by {self.median_change_percent or 0.0:+.1f} %.",
            f"Estimated from all runs, of which those far from the others count little, the change is {estimated}.",
            "This interval holds for these two occasions: a difference between occasions is not in it.",
        ]

    def _failures(self) -> list[str]:
        return [
            f"Trial {record.number} does not count: {outcome(record).strip()}"
            for record in self.measured.records
            if not record.ranked
        ]

    def _facts(self) -> dict[str, object]:
        change = self.change
        return {
            "verdict": self.verdict.value,
            "probability_slower": change.probability_slower if change else None,
            "probability_beyond_occasions": change.probability_beyond_occasions if change else None,
            "occasions_sd_percent": 100 * self.baseline.occasions.sd,
            "occasions_seen": self.baseline.occasions.seen,
            "tolerance_percent": self.request.ask.tolerance_percent,
            "median_change_percent": self.median_change_percent,
            "change_percent": change.change_percent if change else None,
            "interval_percent": list(change.interval_percent) if change else None,
            "more_runs": self.more_runs,
            "baseline": self.baseline.study.name,
            "baseline_trial": self.baseline.trial.number,
            "baseline_gflops": list(self.baseline.gflops),
            "study": self.measured.study.name,
            "gflops": list(self.gflops),
            "failures": self._failures(),
            "all_disturbed_by": str(self.disturbed) if self.disturbed else None,
            "disturbed_runs": sum(run.disturbed is not None for run in self.measured.records),
            "cautions": {
                "baseline": cautions_of(self.baseline.study),
                "now": cautions_of(self.measured.study),
            },
            "changes": [asdict(change) for change in self.changes],
        }


def check(request: CheckRequest, listener: Listener, stop: StopRequest) -> CheckResult:
    """Measure the best configuration of a stored study again, and compare.

    Raises:
        TunerError, HplError, RunnerError, ResultsError: a sentence says what prevents the runs. JUnit's file has it
            too, unless the baseline or the file itself is what is wrong.
    """
    if request.junit is not None:
        require_writable_file(request.junit, "junit")
    with open_store(request.db, UserDirs.of_user(to_read=True), create=False) as store:
        before = _before(store, request.ask)
    listener(Notice(f"Measuring no. 1 of {before.name} again, which gave {_median(before.gflops)}."))
    began_s = time.monotonic()
    expected_s = request.ask.runs * (before.trial.cost_s or before.trial.time_s or 0.0)
    limit_s = longest_wait_s(request.ask.wait_for_quiet, expected_s)
    try:
        measured = _measured(request, before, limit_s, listener, stop)
    except (TunerError, HplError, RunnerError, ResultsError) as error:
        if request.junit is not None:
            said = with_options(str(error))
            case = JUnitCase(SUITE, before.name, "error", said, said, time.monotonic() - began_s)
            write_text(request.junit, to_junit(case))
        raise
    return _written(_compared(request, before, measured), time.monotonic() - began_s)


def check_of_study(store: Store, ask: CheckAsk, name: str) -> CheckResult:
    """What a check found whose runs are in a study of this name.

    Raises:
        TunerError, ResultsError: its baseline cannot be compared with any more, or it ran in another study.
    """
    records = tuple(store.records(name))
    if len(records) < ask.runs:
        raise TunerError(f"check {name} was stopped; where it began anew, its log says what it found")
    return _compared(CheckRequest(ask), _before(store, ask), RunResult(store.study(name), records, interrupted=False))


def _before(store: Store, ask: CheckAsk) -> Baseline:
    """The baseline, with what other checks tell of its occasions."""
    before = baseline_of(store, ask.baseline)
    return replace(before, occasions=known_occasions(store, [(before.study, before.trial)]))


def _median(rates: Sequence[float]) -> str:
    """What runs of one configuration gave, in the words of all reports."""
    if len(rates) == 1:
        return f"{rates[0]:.2f} GFLOPS, 1 run"
    return f"{median(rates):.2f} GFLOPS, the median of {counted(len(rates), 'run')}"


def baseline_of(store: Store, name: str, *, command: str = "check", field: str = "baseline") -> Baseline:
    """The best configuration of a stored study.

    Args:
        command: what asks for it.
        field: of what was asked that names it; "" for none.

    Raises:
        TunerError: it was simulated or replayed, no run of it counts, or an imported output does not tell all of it.
        ResultsError: there is no such study.
    """
    study = store.study(name)
    given = study.name if field else None
    head = "" if field else f"{study.name}: "
    if study.simulated:
        asked = f"⟦{field}⟧ {study.name}" if field else study.name
        raise UsageError(f"{command} measures real machines: {asked} was {study.how}", field=field)
    if not study.workload.is_hpl:
        of = f"{head}that study is of {study.workload.title}, which reads no HPL.dat: only `hpltune tune` runs it"
        raise UsageError(of, field=field, given=given)
    ranking = ranking_of(store, study)
    if not ranking:
        raise UsageError(f"{head}that study has no valid run to compare with", field=field, given=given)
    trial = store.get(study.name, ranking[0].best_record_number)
    if not trial.hpl_dat and trial.hpl is None:
        untold = listed(untold_words(trial.params)) or "what HPL.dat says"
        raise UsageError(
            f"{head}the output of {study.name}#{trial.number} does not tell {untold}: "
            "import it beside its HPL.dat as another ⟦study⟧, or write one for `hpltune run`",
            field=field,
            given=given,
        )
    return Baseline(study, trial, ranking[0].gflops)


def _measured(
    request: CheckRequest, before: Baseline, quiet_s: float, listener: Listener, stop: StopRequest
) -> RunResult:
    """Run the baseline's HPL.dat as its trial ran, once the machine is quiet or that time is over."""
    with TemporaryDirectory(prefix="hpltune-") as folder:
        file = Path(folder) / f"{before.study.name.removeprefix('run-')}.dat"
        file.write_text(before.hpl_dat, encoding="utf-8")
        asked = before.again(file)
        asked = replace(asked, repeats=request.ask.runs, db=request.db, study=request.study, quiet_s=quiet_s)
        return run(asked, listener, stop)


def _compared(request: CheckRequest, before: Baseline, measured: RunResult) -> CheckResult:
    """What the runs of now say beside those of the baseline."""
    last = next((record for record in measured.records if record.ranked), None)
    changes = tuple(changed_facts((before.study, before.trial), (measured.study, last)))
    now = rates_of(measured)
    if not now:
        return CheckResult(request, before, measured, None, changes=changes)
    shown = noise_at_first(before.study.host)
    change = speed_change(before.gflops, now, request.tolerance, shown, before.occasions)
    more = None
    if not (change.can_tell or change.slower_now):
        more = runs_to_tell(before.gflops, now, request.tolerance, shown, before.occasions)
    return CheckResult(request, before, measured, change, more, changes)


def _written(result: CheckResult, time_s: float) -> CheckResult:
    """The result, with JUnit's file written where one was asked for."""
    if result.request.junit is None:
        return result
    try:
        write_text(result.request.junit, result.junit(time_s))
    except TunerError as error:
        return replace(result, failure=error)
    return result


def rates_of(measured: RunResult) -> tuple[float, ...]:
    """The rates that count."""
    return tuple(
        record.gflops for record in undisturbed(measured.records) if record.ranked and record.gflops is not None
    )


def _percent(probability: float) -> str:
    if 0.001 <= probability <= 0.999:
        return f"{100 * probability:.1f} %"
    return "less than 0.1 %" if probability < 0.5 else "more than 99.9 %"


def _line(change: ChangedFact) -> str:
    return f"{change.what}: {change.before} before, {change.now} now"


def changed_facts(before: tuple[Study, TrialRecord], now: tuple[Study, TrialRecord | None]) -> list[ChangedFact]:
    """Compare what is stored of two trials and their studies; what only one of them has is not compared.

    Args:
        now: the trial is None if none of today counts.
    """
    old, new = _facts(*before), _facts(*now)
    return [ChangedFact(what, old[what], new[what]) for what in old if what in new and old[what] != new[what]]


def _facts(study: Study, trial: TrialRecord | None) -> dict[str, str]:
    """What is known of a trial, in the words of the table."""
    host = {what: _told(name, study.host[name]) for name, what in HOST_FACTS.items() if name in study.host}
    versions = {**study.versions, **(trial.versions if trial else {})}
    if trial is None:
        return {**host, **{what: versions[name] for name, what in VERSIONS.items() if name in versions}}
    named = {**VERSIONS, f"blas {trial.blas}": f"BLAS {trial.blas}"}
    programs = {what: versions[name] for name, what in named.items() if name in versions}
    observed = trial.observed
    own = observed.hosts if observed else ()
    if own and "nodes" in host and set(own) != set(_names(study.host["node_names"])):
        # The study's other facts are of all its nodes, some of which this trial no longer had.
        host = {what: told for what, told in host.items() if what not in OF_ALL_NODES} | {"nodes": ", ".join(own)}
    ran = {
        "program": trial.xhpl_key,
        "library that ran": observed.library if observed else "",
        "its version": observed.version if observed else "",
        "its kernel": observed.kernel if observed else "",
        "its threads": str(observed.threads or "") if observed else "",
    }
    return {**host, **programs, **{what: value for what, value in ran.items() if value}}


def _names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list | tuple) else []


def _told(name: str, value: object) -> str:
    """A fact of a host as people read it."""
    if name == "memory_total_bytes" and isinstance(value, int):
        return gibibytes(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)
