"""What a display here shows of a campaign of a service, told by the events of its stream."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from record_builders import DISTURBED, finished

from hpl.params import Scalar
from results.columns import PUBLIC, values_of
from results.record import Kind
from results.report.model import outcome
from tuner.client.campaign import ServedCampaign
from tuner.client.connection import Connection
from tuner.client.display import ServedDisplay
from tuner.client.server import Server
from tuner.events import (
    Event,
    NodesRan,
    Notice,
    PhaseStarted,
    TrialEnded,
    TrialProgress,
    TrialStarted,
    WorkEnded,
    WorkStarted,
)
from tuner.messages.live import CampaignEvent, ProgressEvent, ShownEvent, TrialBegunEvent, TrialEndedEvent
from tuner.messages.live import Event as LiveEvent
from tuner.messages.shown import shown_of

PARAMS: dict[str, Scalar] = {"N": 400, "NB": 32, "grid": "1x2", "layout": "2x1", "blas": "openblas", "kernel": "auto"}


def shown(event: Event) -> ShownEvent:
    told = shown_of(event)
    assert told is not None
    return ShownEvent(campaign="one", shown=json.loads(json.dumps(told)))


def begun(number: int) -> TrialBegunEvent:
    now = datetime.now(UTC)
    return TrialBegunEvent(campaign="one", number=number, kind=Kind.SEARCH, started_at=now, params=PARAMS)


def ended(number: int, gflops: float = 75.0, **changes: Any) -> TrialEndedEvent:
    best = {"fastest_gflops": 80.0, "best_gflops": 80.0, "best_trial": 1}
    amount: dict[str, Any] = {"trials": 1, "failed": 0, "machine_time_s": 3.0, **best}
    told = values_of(finished(number, gflops, params=PARAMS, **changes), PUBLIC)
    return TrialEndedEvent(campaign="one", **amount, **told)


def stands(state: str, kind: str = "campaign-changed") -> CampaignEvent:
    amount = {"trials": 0, "failed": 0, "machine_time_s": 0.0, "best_gflops": None, "best_trial": None}
    return CampaignEvent.model_validate({"campaign": "one", "event": kind, "state": state, "running": [], **amount})


def told(events: Sequence[LiveEvent]) -> list[Event]:
    """What the listener hears; nothing is asked of a service."""
    heard: list[Event] = []
    connection = Connection(Server.at("http://127.0.0.1:1", "token"))
    display = ServedDisplay(ServedCampaign(connection, "one"), heard.append, "hpltune --server URL")
    for event in events:
        display(event)
    connection.close()
    return heard


def test_what_the_process_shows_is_shown_as_it_is() -> None:
    start, phase = TrialStarted(1, "openblas 2x1 NB=32", 2.5), PhaseStarted("search", 2)
    end = TrialEnded(finished(1), best="75.00 GFLOPS", spent=0.5, left="1 trial", again=True)
    heard = told(
        [shown(Notice("MPI: there")), shown(phase), begun(1), shown(start), ended(1), shown(end), shown(phase)]
    )
    assert heard[:4] == [Notice("MPI: there"), phase, TrialStarted(1, "openblas 2x1 1x2 N=400 NB=32", None), start]
    last = heard[4]
    assert isinstance(last, TrialEnded)
    assert (last.best, last.spent, last.left, last.again) == ("75.00 GFLOPS", 0.5, "1 trial", True)
    assert (last.record.number, last.record.gflops, last.record.ranked) == (1, 75.0, True)
    assert heard[5:] == [phase], "each trial is told once"


def test_a_trial_that_was_disturbed_is_shown_so_as_at_the_service() -> None:
    [*_, last] = told([begun(1), ended(1, measurements=DISTURBED), stands("complete", "campaign-ended")])
    assert isinstance(last, TrialEnded)
    assert "disturbed" in outcome(last.record)
    assert last.record.disturbed == finished(1, measurements=DISTURBED).disturbed


@pytest.mark.parametrize("after", [begun(2), stands("complete", "campaign-ended"), ended(2)])
@pytest.mark.parametrize("untold", [set(), PUBLIC.keys() - {"number", "kind", "state", "params", "gflops"}])
def test_the_end_of_a_trial_that_its_process_does_not_show_is_shown_too(after: LiveEvent, untold: set[str]) -> None:
    of_an_older_service = TrialEndedEvent.model_validate(ended(1).model_dump(exclude=untold))
    heard = told([begun(1), of_an_older_service, after])
    (end,) = [event for event in heard if isinstance(event, TrialEnded)]
    assert (end.record.number, end.record.gflops, end.best, end.left) == (1, 75.0, "80.00 GFLOPS", None)


def test_the_wait_for_the_first_trial_is_shown_until_something_is_heard() -> None:
    paused = "Campaign one is paused: `hpltune --server URL campaign resume one` lets it go on."
    heard = told([stands("running"), shown(Notice("MPI: there")), stands("paused"), stands("running"), begun(1)])
    assert heard[:3] == [WorkStarted("The service prepares the campaign"), WorkEnded(), Notice("MPI: there")]
    assert heard[3:6] == [Notice(paused), WorkStarted("The service prepares the campaign"), WorkEnded()]


def test_a_pause_that_nobody_asked_for_is_shown_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SimpleNamespace(reason="it ran for 30 d, the most that this service gives a campaign at a time")
    monkeypatch.setattr(ServedCampaign, "entry", lambda _: entry)
    assert told([stands("paused")]) == [
        Notice(f"Campaign one is paused: {entry.reason}. `hpltune --server URL campaign resume one` lets it go on.")
    ]


def test_progress_is_shown_and_what_is_not_known_here_is_not() -> None:
    progress = ProgressEvent(
        campaign="one", number=1, fraction=0.5, elapsed_s=2.0, left_s=2.0, gflops=70.0, panel_gflops=None
    )
    unknown = [{}, {"kind": "OfTheFuture"}, {"kind": "Notice", "words": 1}, {"kind": "TrialEnded", "record": 9}]
    shown_here = [ShownEvent.model_validate({"campaign": "one", "shown": one}) for one in unknown]
    assert told([progress, *shown_here]) == [TrialProgress(1, 0.5, 2.0)]
    assert shown_of(NodesRan(())) is None
