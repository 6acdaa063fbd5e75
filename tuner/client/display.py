"""Shows a campaign of a service on a display of this machine, as its process shows it there."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from hpl.errors import HplError
from hpl.params import Scalar
from results.columns import record_of
from results.metrics import rate_text
from results.record import SIMULATOR, TrialRecord

from ..errors import TunerError
from ..events import Listener, Notice, TrialEnded, TrialProgress, TrialStarted, WorkEnded, WorkStarted
from ..messages.live import CampaignEvent, Event, ProgressEvent, ShownEvent, TrialBegunEvent, TrialEndedEvent
from ..messages.shown import event_of
from .campaign import ServedCampaign
from .problems import ServiceError


class ServedDisplay:
    """Tells a listener of one campaign.

    What its process shows is told as it is. Of a campaign that the command line of its machine began, and of trials
    whose process died, only what every stream tells is known.

    Args:
        words: with which this command line asks the service, as `hpltune --server URL`.
    """

    def __init__(self, campaign: ServedCampaign, listener: Listener, words: str) -> None:
        self._campaign = campaign
        self._listener = listener
        self._words = words
        self._waiting = False
        self._ended: dict[int, TrialEnded] = {}

    def __call__(self, event: Event) -> None:
        """Tell of an event of the service."""
        match event:
            case ProgressEvent(number=number, fraction=fraction, elapsed_s=elapsed_s):
                self._listener(TrialProgress(number, fraction, elapsed_s))
            case ShownEvent(shown=shown):
                self._show(shown)
            case TrialBegunEvent(number=number, params=params):
                self._catch_up()
                self._listener(TrialStarted(number, label(params), None))
            case TrialEndedEvent(number=number, fastest_gflops=fastest):
                self._catch_up()
                best = None if fastest is None else f"{rate_text(fastest)} GFLOPS"
                self._ended[number] = TrialEnded(of_event(event), best=best)
            case CampaignEvent():
                self._catch_up()
                self._stands(event)

    def _show(self, shown: Mapping[str, object]) -> None:
        """Tell what the process shows; an end of a trial in place of the one that is held back for it."""
        event = event_of(shown, {number: ended.record for number, ended in self._ended.items()})
        if isinstance(event, TrialEnded):
            del self._ended[event.record.number]
        self._catch_up()
        if event is not None:
            self._listener(event)

    def _catch_up(self) -> None:
        """Tell the ends of trials that their process did not show."""
        if self._waiting:
            self._waiting = False
            self._listener(WorkEnded())
        for ended in self._ended.values():
            self._listener(ended)
        self._ended = {}

    def _stands(self, event: CampaignEvent) -> None:
        if event.state == "queued":
            self._wait(_position(self._campaign))
        elif event.state == "paused":
            name, why = self._campaign.name, ""
            with suppress(ServiceError):
                why = self._campaign.entry().reason
            resume = f"`{self._words} campaign resume {name}` lets it go on."
            self._listener(Notice(f"Campaign {name} is paused: {f'{why}. ' if why else ''}{resume}"))
        elif event.state == "running" and not event.trials and not event.running:
            self._wait("The service prepares the campaign")
        for number in event.running if event.event == "campaign" else ():
            with suppress(TunerError):
                self._listener(TrialStarted(number, label(self._campaign.trial(number).params), None))

    def _wait(self, text: str) -> None:
        self._waiting = True
        self._listener(WorkStarted(text))


def of_event(event: TrialEndedEvent) -> TrialRecord:
    """The record of a trial as far as its event tells of it."""
    told = event.model_dump(mode="json", exclude_unset=True)
    known = {
        "study": event.campaign,
        "key": repr(sorted(event.params.items())),
        "started_at": told.get("started_at") or datetime.now(UTC).isoformat(),
        "library": "" if event.hosts else None,
        "versions": {SIMULATOR: ""} if event.passed is None and event.gflops is not None else {},
    }
    with suppress(HplError, LookupError):
        return record_of({**event.params, **told, **known})
    return record_of({**told, **known})


def label(params: Mapping[str, Scalar]) -> str:
    """What matters most of a configuration, in one line."""
    kernel = params.get("kernel", "auto")
    blas = f"{params.get('blas', '')}{'' if kernel == 'auto' else f'/{kernel}'}"
    sizes = [f"{name}={params[name]}" for name in ("N", "NB") if name in params]
    return " ".join(word for word in (blas, str(params.get("layout", "")), str(params.get("grid", "")), *sizes) if word)


def _position(campaign: ServedCampaign) -> str:
    try:
        entry = campaign.entry()
    except ServiceError:
        return "Waiting"
    if entry.position is None:
        return "Waiting for the service to begin the campaign"
    place = "it is the next" if entry.position == 1 else f"{entry.position - 1} are before it"
    return f"Waiting until {', '.join(entry.nodes)} is free: {place}"
