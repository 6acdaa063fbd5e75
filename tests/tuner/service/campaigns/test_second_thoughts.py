"""Somebody pauses a campaign and resumes it before its running trial has ended."""

import threading
from typing import Any

import pytest
from waiting import PATIENCE_S

from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignEntry, CampaignOrder, QueueState, WantedState
from results.store.service.queue import CampaignQueue
from results.store.store import Store
from tuner.service.campaigns.kinds.base import WorkOrder, WorkResult
from tuner.service.campaigns.kinds.registry import KINDS
from tuner.service.campaigns.kinds.tune import TuneKind
from tuner.service.campaigns.offered import Offers
from tuner.service.campaigns.process import ProcessRequest, work_on
from tuner.stopping import StopRequest
from tuner.user_dirs import UserDirs

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("people", "reason"),
    [
        (True, "it was paused and resumed; it goes on where it was"),
        (False, "its process was ended by the machine; it goes on where it was"),
    ],
    ids=["people", "the machine"],
)
def test_who_stopped_a_campaign_that_goes_on_is_told(
    monkeypatch: pytest.MonkeyPatch, *, people: bool, reason: str
) -> None:
    stopped = threading.Event()
    with Store.open(UserDirs.of_user().database) as store:

        class Interrupted(TuneKind):
            """Works until it is stopped."""

            def work(self, order: WorkOrder, *_: Any) -> WorkResult:
                if people:
                    store.queue.want(order.name, WantedState.PAUSE)
                    assert stopped.wait(PATIENCE_S), "nobody stopped it"
                    store.queue.want(order.name, WantedState.RUN)
                return WorkResult(interrupted=True)

        monkeypatch.setitem(KINDS, "tune", Interrupted())
        store.queue.add(CampaignOrder("first", "tune", {}, ("here",), "ada", 0))
        store.queue.claim("first")
        request = ProcessRequest("first", Lease.mine(), None, Offers(), lambda _now: stopped.set())
        assert work_on(request, lambda _event: None, StopRequest()) is QueueState.QUEUED
        entry = store.queue.find("first")
        assert entry is not None
        assert entry.reason == reason


def test_a_pause_is_heard_after_an_error_that_nobody_foresaw(monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks whether somebody stops a campaign looks again."""
    stopped, find, met = threading.Event(), CampaignQueue.find, threading.Event()

    def broken(queue: CampaignQueue, name: str) -> CampaignEntry | None:
        if threading.current_thread() is not threading.main_thread() and not met.is_set():
            met.set()
            raise KeyError(name)
        return find(queue, name)

    with Store.open(UserDirs.of_user().database) as store:

        class Waiting(TuneKind):
            """Works until it is stopped."""

            def work(self, order: WorkOrder, *_: Any) -> WorkResult:
                assert met.wait(PATIENCE_S), "nobody looked"
                store.queue.want(order.name, WantedState.PAUSE)
                return WorkResult(interrupted=stopped.wait(PATIENCE_S))

        monkeypatch.setattr(CampaignQueue, "find", broken)
        monkeypatch.setitem(KINDS, "tune", Waiting())
        store.queue.add(CampaignOrder("first", "tune", {}, ("here",), "ada", 0))
        store.queue.claim("first")
        request = ProcessRequest("first", Lease.mine(), None, Offers(), lambda _now: stopped.set())
        assert work_on(request, lambda _event: None, StopRequest()) is QueueState.PAUSED
