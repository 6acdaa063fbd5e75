"""`hpltune check`: whether and why the machine is slower than when a stored study measured its best configuration."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Literal

from hpl.errors import HplError
from results.disturbance import Disturbance
from results.errors import ResultsError
from results.record import Study, TrialRecord
from results.report.model import Figure, Part, Report, Sentence, Series, Table, Tone, columns, uncounted
from results.report.text_forms import JUnitCase, to_junit
from results.stats.disturbed_runs import undisturbed
from results.stats.occasions import APART, MOST_RUNS, SURE, SpeedChange, runs_to_tell, speed_change
from results.store.store import Store
from runners.errors import RunnerError

from ...asks.check import FAILABLE, CheckAsk, CheckVerdict
from ...asks.compare import CompareAsk
from ...database import open_store
from ...errors import TunerError
from ...events import OTHERS, Listener, Notice
from ...machine.quiet import longest_wait_s
from ...reports.context import Context
from ...stopping import StopRequest
from ...study.cautions import cautions_of, told_cautions
from ...study.lifecycle import SIDE
from ...study.occasions import known_occasions
from ...study.order import LEAST_ROUNDS, Order
from ...units import gibibytes
from ...user_dirs import UserDirs
from ...user_files import require_writable_file, write_text
from ...words import counted, with_options
from ..session import open_session
from .in_turn import InTurnRequest, played_in_turn
from .run import Baseline, RunResult, baseline_of, run

SUITE = "hpltune check"
"""Name of the test suite in JUnit's file."""
QUIET = "Check again when the machine is quiet."
IF_QUIET = " That is so if nothing disturbed its runs, which is not known."

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


PROBLEMS: dict[CheckVerdict, Literal["failure", "error", "skipped"]] = {
    CheckVerdict.SLOWER: "failure",
    CheckVerdict.SLOWER_TODAY: "skipped",
    CheckVerdict.FAILED: "error",
    CheckVerdict.CANNOT_TELL: "skipped",
    CheckVerdict.STOPPED: "skipped",
}
"""What JUnit calls a verdict; a test passes without one."""
TONES = {CheckVerdict.NOT_SLOWER: Tone.GOOD} | dict.fromkeys(
    (CheckVerdict.SLOWER, CheckVerdict.SLOWER_TODAY, CheckVerdict.FAILED), Tone.BAD
)


@dataclass(frozen=True)
class CheckRequest:
    """What to measure again.

    Attributes:
        junit: file for a CI service; None for none.
        fail_on: verdicts of FAILABLE that are failures of the test; None where nothing was said.
        db: database file or URL; None for the user's own.
        study: name of the study that holds the runs; None takes a new one after the baseline.
    """

    ask: CheckAsk
    junit: Path | None = None
    fail_on: tuple[CheckVerdict, ...] | None = None
    db: str | None = None
    study: str | None = None

    @property
    def tolerance(self) -> float:
        """Loss that is no reason to worry, as a part of 1."""
        return self.ask.tolerance_percent / 100


@dataclass(frozen=True)
class Control:
    """A fixed reference that ran in turn with the configuration, which tells the machine from the configuration.

    Attributes:
        name: of its study.
        own: its change.
        against: the change of the configuration in parts of the reference's rate, from undisturbed rounds.
    """

    name: str
    own: SpeedChange
    against: SpeedChange

    @property
    def sentence(self) -> str:
        """What it says of the change."""
        told = f"In parts of the rate of the reference {self.name} the change is {_estimate(self.against)}"
        if self.against.slower:
            return f"{told}: the configuration became slower, not only the machine."
        if self.own.probability_slower > SURE:
            return f"{told}, and the reference changed by {_estimate(self.own)}: the machine is slower, not only this."
        return f"{told}."


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
        control: what the reference tells; None without one, and where too few rounds were undisturbed.
        failure: JUnit's file could not be written.
    """

    request: CheckRequest
    baseline: Baseline
    measured: RunResult
    change: SpeedChange | None
    more_runs: int | None = None
    changes: tuple[ChangedFact, ...] = ()
    control: Control | None = None
    failure: TunerError | None = field(default=None, compare=False)

    @property
    def verdict(self) -> CheckVerdict:
        """What the check found."""
        if self.measured.interrupted:
            return CheckVerdict.STOPPED
        if self.change is None or not self.measured.all_count:
            return CheckVerdict.FAILED
        if self.disturbed is not None or self.unknown_on_busy:
            return CheckVerdict.CANNOT_TELL
        if self.change.slower or (self.control and self.control.against.slower):
            return CheckVerdict.SLOWER_TODAY if self.unknown else CheckVerdict.SLOWER
        if self.change.slower_now:
            return CheckVerdict.SLOWER_TODAY
        return CheckVerdict.NOT_SLOWER if self.change.can_tell else CheckVerdict.CANNOT_TELL

    @property
    def problem(self) -> Literal["failure", "error", "skipped"] | None:
        """What JUnit calls the verdict; None where the test passes."""
        fail_on = self.request.fail_on
        if fail_on is not None and self.verdict in FAILABLE:
            return "failure" if self.verdict in fail_on else "skipped"
        return PROBLEMS.get(self.verdict)

    @property
    def unknown(self) -> bool:
        """Whether it is known of no run of now that nothing disturbed it."""
        return not any(run.undisturbed for run in self.measured.records if run.ranked)

    @property
    def unknown_on_busy(self) -> bool:
        """Whether that is so, and other programs were busy when the check began."""
        return self.unknown and OTHERS in told_cautions(self.measured.study)

    @property
    def disturbed(self) -> Disturbance | None:
        """What disturbed the last run of now, where all were disturbed; None where one was not."""
        runs = [run.disturbed for run in self.measured.records if run.ranked]
        return runs[-1] if runs and all(runs) else None

    @property
    def gflops(self) -> tuple[float, ...]:
        """The rates of now that count."""
        ran = (record for record in undisturbed(self.measured.records) if record.ranked)
        return tuple(record.gflops for record in ran if record.gflops is not None)

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
            parts.append(Table("What else changed", columns("what", "before", "now"), rows))
        return Report(f"Check of {self.baseline.study.name}", tuple(parts), self._facts())

    def page(self) -> Report:
        """The same as a page, which begins with what a reader must know first of both times, and draws all runs."""
        report = self.report()
        both = Context([self.baseline.study, self.measured.study], runs=len(self.baseline.gflops) + len(self.gflops))
        times = {"before": self.baseline.gflops, "now": self.gflops}
        series = tuple(Series(name, (name,) * len(rates), tuple(rates)) for name, rates in times.items())
        title, caption = "Runs before and now", "Each point is a run of the same configuration."
        figure = both.figure(Figure(title, "when", "GFLOPS", series, from_zero=True, caption=caption))
        return replace(report, parts=(*self._then_and_now(), *report.parts, *([figure] if self.gflops else [])))

    def _then_and_now(self) -> list[Sentence]:
        """Where and when the baseline and the runs of now were made, and the cautions of both."""
        before = Context.of_one(self.baseline.study, self.baseline.trial, len(self.baseline.gflops))
        now = Context.of_runs(self.measured.study, [run for run in self.measured.records if run.ranked])
        return [
            replace(sentence, text=f"{when}: {sentence.text}")
            for when, context in (("Before", before), ("Now", now))
            for sentence in context.head()
        ]

    def junit(self, time_s: float) -> str:
        """The text of JUnit's file."""
        now = [f"Now: {text}." for _, text in told_cautions(self.measured.study).values()]
        changes = [f"{one.what}: {one.before} before, {one.now} now" for one in self.changes]
        text = "\n".join([self.sentence, *self._details(), *now, *changes])
        return with_options(to_junit(JUnitCase(SUITE, self.baseline.name, self.problem, self.sentence, text, time_s)))

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
        if self.unknown_on_busy:
            return f"Cannot tell: other programs were busy, and whether they disturbed the runs is not known. {QUIET}"
        return f"{self._answer(change)}{IF_QUIET if self.unknown else ''}"

    def _answer(self, change: SpeedChange) -> str:
        """What the rates say, in one sentence or two."""
        verdict = self.verdict
        limit, chance = f"{self.request.ask.tolerance_percent:g} %", _percent(change.probability_slower)
        changed = self.median_change_percent
        lost = f"the machine lost {-(change.change_percent if changed is None else changed):.1f} % of its rate"
        if verdict is CheckVerdict.SLOWER and change.slower:
            chance = _percent(min(change.probability_slower, change.probability_beyond_occasions))
            return (
                f"Slower: {lost}, and with a probability of {chance} more than {limit} and than two occasions of an "
                "unchanged machine differ."
            )
        if verdict is CheckVerdict.SLOWER and self.control:
            chance = _percent(self.control.against.probability_slower)
            return f"Slower: against {self.control.name} it lost more than {limit} with a probability of {chance}."
        if verdict is CheckVerdict.SLOWER_TODAY:
            return f"Slower today: {lost}, with a probability of {chance} more than {limit}. {self._advice()}"
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
        control = [self.control.sentence] if self.control else []
        left_out = [
            f"Trial {run.number} was disturbed, so that it does not count: {run.disturbed}."
            for run in self.measured.records
            if run.ranked and run.disturbed and self.disturbed is None
        ]
        return [*self._rates(), *control, *left_out, *uncounted(self.measured.records), *before]

    def _rates(self) -> list[str]:
        """The rates of both times, and the change: only the two medians where all runs of now were disturbed."""
        before = self.baseline
        told = f"Before: {_median(before.gflops, before.doubt)} ({before.name})."
        if self.change is None:
            return [told]
        estimated = [
            f"Estimated from all runs, those far from the others counting little, it is {_estimate(self.change)}.",
            "This interval holds for these two occasions: a difference between occasions is not in it.",
        ]
        return [
            f"{told} Now: {_median(self.gflops)}.",
            f"The median changed by {self.median_change_percent or 0.0:+.1f} %.",
            *(estimated if self.disturbed is None else []),
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
            "interval_percent": list(change.interval_percent) if change and not self.disturbed else None,
            "more_runs": self.more_runs,
            "reference": self.request.ask.reference,
            "reference_change_percent": self.control.own.change_percent if self.control else None,
            "against_reference_percent": self.control.against.change_percent if self.control else None,
            "probability_slower_than_reference": self.control.against.probability_slower if self.control else None,
            "baseline": self.baseline.study.name,
            "baseline_trial": self.baseline.trial.number,
            "baseline_gflops": list(self.baseline.gflops),
            "study": self.measured.study.name,
            "gflops": list(self.gflops),
            "failures": uncounted(self.measured.records),
            "all_disturbed_by": str(self.disturbed) if self.disturbed else None,
            "disturbed_runs": sum(run.disturbed is not None for run in self.measured.records),
            "undisturbed_runs": sum(run.undisturbed for run in self.measured.records),
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
    listener(Notice(f"Measuring no. 1 of {before.name} again, which gave {_median(before.gflops, before.doubt)}."))
    began_s = time.monotonic()
    expected_s = request.ask.runs * (before.trial.cost_s or before.trial.time_s or 0.0)
    limit_s = longest_wait_s(request.ask.wait_for_quiet, expected_s)
    try:
        measured = _measured(request, before, limit_s, listener, stop)
    except (TunerError, HplError, RunnerError, ResultsError) as error:
        if request.junit is not None:
            case = JUnitCase(SUITE, before.name, "error", str(error), str(error), time.monotonic() - began_s)
            write_text(request.junit, with_options(to_junit(case)))
        raise
    with open_store(request.db, UserDirs.of_user(to_read=True), create=False) as store:
        result = _compared(request, before, measured, store)
    return _written(result, time.monotonic() - began_s)


def check_of_study(store: Store, ask: CheckAsk, name: str) -> CheckResult:
    """What a check found whose runs are in a study of this name.

    Raises:
        TunerError, ResultsError: its baseline cannot be compared with any more, or it ran in another study.
    """
    study = store.study(name)
    if study.state != "complete":
        raise TunerError(f"check {name} was stopped; where it began anew, its log says what it found")
    ran = RunResult(study, tuple(store.records(name)), interrupted=False)
    return _compared(CheckRequest(ask), _before(store, ask), ran, store)


def _before(store: Store, ask: CheckAsk) -> Baseline:
    """The baseline, with what other checks tell of its occasions."""
    before = baseline_of(store, ask.baseline)
    return replace(before, occasions=known_occasions(store, [(before.study, before.trial)]))


def _median(rates: Sequence[float], doubt: str = "") -> str:
    """What runs of one configuration gave, in the words of all reports."""
    runs = "1 run" if len(rates) == 1 else f"the median of {counted(len(rates), 'run')}"
    return ", ".join(filter(None, (f"{median(rates):.2f} GFLOPS", runs, doubt)))


def _measured(
    request: CheckRequest, before: Baseline, quiet_s: float, listener: Listener, stop: StopRequest
) -> RunResult:
    """Run the baseline's HPL.dat as its trial ran, once the machine is quiet or that time is over."""
    ask = request.ask
    if ask.reference:
        compared = CompareAsk((before.study.name, ask.reference))
        sides = InTurnRequest(compared, ask.runs, study=request.study, quiet_s=quiet_s)
        with open_session(request.db, listener, stop) as session:
            study, _, played = played_in_turn(sides, session, before.trial)
            return RunResult(session.store.study(study), tuple(played.records), stop.requested)
    with TemporaryDirectory(prefix="hpltune-") as folder:
        file = Path(folder) / f"{before.study.name.removeprefix('run-')}.dat"
        file.write_text(before.hpl_dat, encoding="utf-8")
        asked = replace(before.again(file), repeats=ask.runs, db=request.db, study=request.study, quiet_s=quiet_s)
        return run(asked, listener, stop)


def _compared(request: CheckRequest, before: Baseline, measured: RunResult, store: Store) -> CheckResult:
    """What the runs of now say beside those of the baseline."""
    every, name = measured.records, before.study.name
    measured = replace(measured, records=tuple(one for one in every if one.params.get(SIDE, name) == name))
    last = next((record for record in measured.records if record.ranked), None)
    changes = tuple(changed_facts((before.study, before.trial), (measured.study, last)))
    found = CheckResult(request, before, measured, None, changes=changes)
    now = found.gflops
    if not now:
        return found
    shown = before.study.notes.noise_at_first
    change = speed_change(before.gflops, now, request.tolerance, shown, before.occasions)
    open_still = not (change.can_tell or change.slower_now)
    more = runs_to_tell(before.gflops, now, request.tolerance, shown, before.occasions) if open_still else None
    return replace(found, change=change, more_runs=more, control=_control(request, before, every, store))


def _control(request: CheckRequest, before: Baseline, records: Sequence[TrialRecord], store: Store) -> Control | None:
    """What the reference tells; None without one, and where too few rounds were undisturbed.

    What the runs of one round lose alike is in both rates, and so not in their ratio. It is in the ratio of before only
    where both were not measured on one occasion.
    """
    if not request.ask.reference:
        return None
    reference, name = baseline_of(store, request.ask.reference, field="reference"), before.study.name
    rounds = Order.of(records, (name, reference.study.name), rival_of=lambda params: str(params.get(SIDE, ""))).quiet
    if len(rounds) < LEAST_ROUNDS:
        return None
    now = [(one[name].gflops or 0.0, one[reference.study.name].gflops or 0.0) for one in rounds]
    then = [own / other for own, other in zip(before.gflops, reference.gflops, strict=False)]
    together = abs(before.trial.started_at - reference.trial.started_at) < APART
    shown = before.study.notes.noise_at_first
    own = speed_change(reference.gflops, [other for _, other in now], request.tolerance, shown, before.occasions)
    ratios = [one / other for one, other in now]
    against = speed_change(then, ratios, request.tolerance, shown, None if together else before.occasions)
    return Control(reference.study.name, own, against)


def _written(result: CheckResult, time_s: float) -> CheckResult:
    """The result, with JUnit's file written where one was asked for."""
    if result.request.junit is None:
        return result
    try:
        write_text(result.request.junit, result.junit(time_s))
    except TunerError as error:
        return replace(result, failure=error)
    return result


def _estimate(change: SpeedChange) -> str:
    low, high = change.interval_percent
    return f"{change.change_percent:+.1f} % (95 % interval: {low:+.1f} % to {high:+.1f} %)"


def _percent(probability: float) -> str:
    if 0.001 <= probability <= 0.999:
        return f"{100 * probability:.1f} %"
    return "less than 0.1 %" if probability < 0.5 else "more than 99.9 %"


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
    own, listed_nodes = observed.hosts if observed else (), study.host.get("node_names")
    named_nodes = listed_nodes if isinstance(listed_nodes, list | tuple) else ()
    if own and "nodes" in host and set(own) != set(map(str, named_nodes)):
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


def _told(name: str, value: object) -> str:
    """A fact of a host as people read it."""
    if name == "memory_total_bytes" and isinstance(value, int):
        return gibibytes(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)
