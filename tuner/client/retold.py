"""Tells a display of this machine what a service tells of a campaign, in the events of a study that runs here."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hpl.errors import HplError
from hpl.params import HplParams, Scalar
from results.metrics import rate_text
from results.record import SIMULATOR, Kind, TrialRecord

from ..budget import Budget, Meter
from ..clock import RealClock
from ..errors import TunerError
from ..events import (
    PHASES,
    Listener,
    Notice,
    PhaseStarted,
    TrialEnded,
    TrialProgress,
    TrialStarted,
    WorkEnded,
    WorkStarted,
)
from ..messages.live import CampaignEvent, Event, ProgressEvent, TrialBegunEvent, TrialEndedEvent
from ..messages.trials import WholeTrialModel
from ..options import DEFAULT_FULL_TRIALS, DEFAULT_WALL_S
from ..study.kinds import SEARCHED, counts
from ..trial.varying_label import varying_label
from ..units import parse_duration_s
from .campaign import ServedCampaign
from .problems import ServiceError

PHASE_OF = {
    Kind.PILOT: "pilot",
    Kind.SEARCH: "search",
    Kind.SMALL: "search",
    Kind.PREFIX: "search",
    Kind.GIVEN_UP: "search",
    Kind.REFERENCE: "search",
    Kind.CONFIRMATION: "confirmation",
    Kind.EXTRAPOLATION: "extrapolation",
}
"""The part of a study that a kind of trial belongs to."""


class Retold:
    """Tells a listener of one campaign.

    Args:
        words: with which this command line asks the service, as `hpltune --server URL`.
    """

    def __init__(self, campaign: ServedCampaign, listener: Listener, words: str) -> None:
        self._campaign = campaign
        self._listener = listener
        self._words = words
        self._waiting = False
        self._phase: str | None = None
        self._meter: Meter | None = None
        self._joins_late = False
        self._seen: list[Mapping[str, Scalar]] = []
        self._ran: set[tuple[Kind, str, float]] = set()
        self.state = "queued"

    def __call__(self, event: Event) -> None:
        """Tell of an event of the service."""
        match event:
            case CampaignEvent():
                self._stands(event)
            case TrialBegunEvent(number=number, kind=kind, params=params):
                self._begin(number, kind, params)
            case ProgressEvent(number=number, fraction=fraction, elapsed_s=elapsed_s):
                self._listener(TrialProgress(number, fraction, elapsed_s))
            case TrialEndedEvent():
                self._end(event)

    def _stands(self, event: CampaignEvent) -> None:
        self.state = event.state
        self._wait_no_more()
        if event.state == "queued":
            self._wait(_position(self._campaign))
        elif event.state == "paused":
            name = self._campaign.name
            self._listener(Notice(f"Campaign {name} is paused: `{self._words} campaign resume {name}` lets it go on."))
        elif event.state == "running" and not event.trials and not event.running:
            self._wait("The service prepares the campaign")
        if event.event == "campaign" and event.trials:
            self._joins_late = True
        for number in event.running if event.event == "campaign" else ():
            known = self._campaign.trial(number)
            self._begin(number, known.kind, known.params)

    def _begin(self, number: int, kind: Kind, params: Mapping[str, Scalar]) -> None:
        self._wait_no_more()
        if self._meter is None:
            self._introduce()
        phase = PHASE_OF.get(kind)
        if phase is not None and phase != self._phase:
            self._phase = phase
            runs = self._meter.budget.trials if self._meter is not None and phase == "search" else None
            self._listener(PhaseStarted(phase, runs))
        self._seen.append(params)
        self._listener(TrialStarted(number, _label(params, self._seen), None))

    def _introduce(self) -> None:
        """Tell what the campaign's process said before its first trial, and begin to count what is spent."""
        try:
            entry = self._campaign.entry()
            said = self._campaign.log()
        except ServiceError:  # the command line of its machine began it
            self._meter = meter_of({}, None)
            return
        self._meter = meter_of(entry.document, entry.started_at)
        if self._joins_late:  # of the trials before it is not known which ones count
            self._meter.budget = replace(self._meter.budget, trials=None)
            return
        for line in _before_trials(said):
            self._listener(Notice(line))

    def _end(self, event: TrialEndedEvent) -> None:
        record = self._record(event)
        meter = self._meter or meter_of({}, None)
        meter.charge(record.cost_s or 0.0, trial=counts(record))
        same = (record.kind, record.key, record.part)
        again = record.kind in SEARCHED and same in self._ran
        self._ran.add(same)
        best = None if event.fastest_gflops is None else f"{rate_text(event.fastest_gflops)} GFLOPS"
        self._listener(TrialEnded(record, best=best, spent=meter.spent(), left=meter.left(), again=again))

    def _record(self, event: TrialEndedEvent) -> TrialRecord:
        """The trial in full, or what its event tells where the service does not answer now."""
        try:
            return record_of(self._campaign.trial(event.number), self._campaign.name)
        except TunerError:
            return record_of_event(event)

    def _wait(self, text: str) -> None:
        self._waiting = True
        self._listener(WorkStarted(text))

    def _wait_no_more(self) -> None:
        if self._waiting:
            self._waiting = False
            self._listener(WorkEnded())


def record_of(trial: WholeTrialModel, study: str) -> TrialRecord:
    """The record of a trial, without its outputs and paths."""
    return TrialRecord(
        study=study,
        number=trial.number,
        params=trial.params,
        key=_key(trial.params),
        started_at=trial.started_at,
        ended_at=trial.ended_at,
        kind=trial.kind,
        state=trial.state,
        invalidity=trial.invalidity,
        reason=trial.reason,
        blas=trial.blas,
        kernel=trial.kernel,
        ranks=trial.ranks,
        threads=trial.threads,
        hpl=_hpl(trial.hpl),
        gflops=trial.gflops,
        time_s=trial.time_s,
        residual=trial.residual,
        passed=trial.passed,
        cost_s=trial.cost_s,
        part=trial.part,
        session=trial.session,
        versions={SIMULATOR: ""} if trial.passed is None and trial.gflops is not None else {},
    )


def record_of_event(event: TrialEndedEvent) -> TrialRecord:
    """The record of a trial as far as its event tells of it."""
    now = datetime.now(UTC)
    return TrialRecord(
        study=event.campaign,
        number=event.number,
        params=event.params,
        key=_key(event.params),
        started_at=now,
        ended_at=now,
        kind=event.kind,
        state=event.state,
        invalidity=event.invalidity,
        reason=event.reason,
        gflops=event.gflops,
        time_s=event.time_s,
        cost_s=event.cost_s,
        residual=event.residual,
        passed=event.passed,
        versions={SIMULATOR: ""} if event.passed is None and event.gflops is not None else {},
    )


def _key(params: Mapping[str, Scalar]) -> str:
    return repr(sorted(params.items()))


def _hpl(words: Mapping[str, Scalar] | None) -> HplParams | None:
    try:
        return None if words is None else HplParams.from_words(words)
    except HplError:
        return None


def _label(params: Mapping[str, Scalar], seen: Sequence[Mapping[str, Scalar]]) -> str:
    """A configuration in one line: what matters most, and what differs among the trials that were seen."""
    varying = [name for name in params if len({str(other.get(name)) for other in seen}) > 1]
    kernel = params.get("kernel", "auto")
    blas = f"{params.get('blas', '')}{'' if kernel == 'auto' else f'/{kernel}'}"
    sizes = [f"{name}={params[name]}" for name in ("N", "NB") if name in params]
    words = [blas, str(params.get("layout", "")), str(params.get("grid", "")), *sizes]
    with suppress(HplError, KeyError):
        words.append(varying_label(params, varying))
    return " ".join(word for word in words if word)


def _position(campaign: ServedCampaign) -> str:
    try:
        entry = campaign.entry()
    except ServiceError:
        return "Waiting"
    if entry.position is None:
        return "Waiting for the service to begin the campaign"
    place = "it is the next" if entry.position == 1 else f"{entry.position - 1} are before it"
    return f"Waiting until {', '.join(entry.nodes)} is free: {place}"


def _before_trials(lines: Sequence[str]) -> list[str]:
    """What the log of a process has before its first trial; what is being worked at for a while is left out."""
    found = []
    for line in lines:
        if line.startswith(("#", *PHASES.values())):
            break
        if not line.endswith("…"):
            found.append(line)
    return found


def meter_of(document: Mapping[str, Any], started_at: datetime | None) -> Meter:
    """Make the meter of a campaign that was begun then; without limits where only its service knows what they mean."""
    begun = started_at or datetime.now(UTC)
    spent_s = max(0.0, (datetime.now(UTC) - begun).total_seconds())
    return Meter(_budget(document), RealClock(), spent_s)


def _budget(document: Mapping[str, Any]) -> Budget:
    trials = document.get("trials")
    if document.get("kind") != "tune":
        return Budget()
    if document.get("cluster") is not None:
        return Budget(trials=trials)  # its time may be a simulated one, or of several nodes
    wall_s, run_s = _seconds(document.get("budget")), _seconds(document.get("run_time"))
    if document.get("full") and document.get("budget") is None and run_s is None:
        return Budget(trials=trials or DEFAULT_FULL_TRIALS)
    if trials is None and run_s is None and document.get("budget") is None:
        wall_s = DEFAULT_WALL_S
    return Budget(trials=trials, wall_s=wall_s, run_s=run_s)


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else parse_duration_s(text, "budget")
    except TunerError:
        return None
