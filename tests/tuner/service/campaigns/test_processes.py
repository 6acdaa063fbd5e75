"""Campaigns are processes of their own: neither the end of the service nor their own death loses anything."""

import os
import platform
import random
import resource
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from needs import skip_without
from present import present
from replayed import OFFERED, replaying_service
from running_service import RunningService
from waiting import until

from results.record import TrialState
from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignEntry, CampaignOrder, QueueState
from results.store.store import Store
from tuner.service.campaigns.dispatcher import Dispatcher
from tuner.user_dirs import UserDirs

CAMPAIGNS = "/api/v1/campaigns"
SIZES = {"N": [400], "NB": list(range(32, 352, 8))}
"""So many configurations that no search tries all of them while a test looks on."""
SMALL = {"kind": "tune", "program": OFFERED, "space": "quick", "set": SIZES, "confirm": 0}
pytestmark = [pytest.mark.service, pytest.mark.usefixtures("home", "mpirun")]


def entry_of(name: str) -> CampaignEntry:
    with Store.open(UserDirs.of_user().database) as store:
        found = store.queue.find(name)
    assert found is not None
    return found


def owner_of(name: str) -> Lease | None:
    """The process that works on a campaign, not the service that starts it."""
    entry = entry_of(name)
    return entry.owner if entry.owner is not None and "campaign" in _command(entry.owner.pid) else None


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


def trials_of(name: str) -> list[tuple[int, str]]:
    """The numbers and states of a campaign's trials."""
    with Store.open(UserDirs.of_user().database) as store:
        return [(r.number, r.state) for r in store.records(name)] if store.queue.is_study(name) else []


def named(host: str) -> list[str]:
    """What starts a program on a host that is called so."""
    before = ["unshare", "--uts", "sh", "-c", f'hostname {host} && exec "$@"', "sh"]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
        skip_without("the right to make namespaces")
    return before


def hand_in(service: RunningService, name: str, **changes: Any) -> None:
    answer = service.client.post(CAMPAIGNS, json={**SMALL, "name": name, **changes})
    assert answer.status_code == 201, answer.text


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """End what a failed test left at work."""
    yield
    for process in (name for name in os.listdir("/proc") if name.isdecimal()):  # noqa: PTH208
        if str(UserDirs.of_user().data) in _environment(process) and "campaign" in _command(int(process)):
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGTERM)


def _environment(process: str) -> str:
    try:
        with open(f"/proc/{process}/environ", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


def test_a_campaign_is_measured_and_its_hpl_dat_comes_home() -> None:
    with replaying_service() as service:
        hand_in(service, "first", trials=3)
        until(lambda: entry_of("first").state == "done")
        assert service.client.get(f"{CAMPAIGNS}/first").json()["state"] == "complete"
        assert "HPLinpack benchmark input file" in service.client.get(f"{CAMPAIGNS}/first/HPL.dat").text
        assert any("Search" in line for line in service.client.get("/api/v1/queue/first/log").json()["lines"])


def test_campaigns_of_one_machine_run_one_after_another() -> None:
    with replaying_service() as service:
        for name in ("one", "two"):
            hand_in(service, name, trials=2)
        until(lambda: entry_of("one").state == "done")
        until(lambda: entry_of("two").state == "done")
    one, two = entry_of("one"), entry_of("two")
    assert one.ended_at is not None
    assert two.started_at is not None
    assert one.ended_at <= two.started_at


def test_a_paused_campaign_goes_on_where_it_was() -> None:
    with replaying_service() as service:
        hand_in(service, "long", budget="30m")
        until(lambda: len(trials_of("long")) >= 2)
        service.client.post(f"{CAMPAIGNS}/long/pause")
        until(lambda: entry_of("long").state == "paused")
        before = trials_of("long")
        service.client.post(f"{CAMPAIGNS}/long/resume")
        until(lambda: len(trials_of("long")) > len(before))
        service.client.post(f"{CAMPAIGNS}/long/cancel")
        until(lambda: entry_of("long").state == "cancelled")
    assert trials_of("long")[: len(before)] == before


def test_a_campaign_of_many_trials_makes_room_for_others_when_it_ran_as_long_as_one_may() -> None:
    with replaying_service(limits="most_budget = 0.001") as service:
        hand_in(service, "long", trials=10_000)
        until(lambda: entry_of("long").state == "paused")
        assert entry_of("long").reason.startswith("it ran for 3.6 s, the most that this service gives")
        before = len(trials_of("long"))
        service.client.post(f"{CAMPAIGNS}/long/resume")
        until(lambda: entry_of("long").attempts == 1 and entry_of("long").state == "paused")
    assert 0 < before < len(trials_of("long"))


def test_the_end_of_a_service_ends_no_campaign_and_the_next_one_finds_it() -> None:
    with replaying_service() as service:
        hand_in(service, "long", budget="30m")
        until(lambda: owner_of("long") is not None)
        owner = owner_of("long")
        service.end(signal.SIGKILL)
    count = len(trials_of("long"))
    until(lambda: len(trials_of("long")) > count)
    with replaying_service() as service:
        told = service.client.get("/api/v1/queue").json()
        assert [entry["name"] for entry in told["running"]] == ["long"]
        assert owner_of("long") == owner, "it is not started again"
        service.client.post(f"{CAMPAIGNS}/long/cancel")
        until(lambda: entry_of("long").state == "cancelled")
    assert entry_of("long").attempts == 1


def test_a_host_that_gets_another_name_loses_no_campaign() -> None:
    """As a container does that is made anew: what ran and what waited for it goes on."""
    with replaying_service(before=named("pod-a")) as service:
        hand_in(service, "long", budget="30m")
        until(lambda: len(trials_of("long")) >= 2)
        hand_in(service, "waits", trials=1)
        assert entry_of("waits").order.node_set == ("pod-a",)
        owner = present(owner_of("long"))
        service.end(signal.SIGKILL)
        os.kill(owner.pid, signal.SIGKILL)
    count = len(trials_of("long"))
    with replaying_service(before=named("pod-b")) as service:
        until(lambda: len(trials_of("long")) > count)
        assert present(owner_of("long")).host == "pod-b"
        assert "It waits for long" in service.client.get("/campaigns/waits").text
        service.client.post(f"{CAMPAIGNS}/long/cancel")
        until(lambda: entry_of("waits").state == "done")
    assert entry_of("long").state == "cancelled"


@pytest.mark.timeout(0)
def test_kills_at_random_moments_lose_no_trial_and_run_none_twice(request: pytest.FixtureRequest) -> None:
    """Each time the campaign is killed, and then the service; each trial that was stored as ended stays so."""
    kills = request.config.getoption("--kills")
    chance = random.Random(kills)  # noqa: S311 - moments, no secrets
    known: dict[int, str] = {}
    for kill in range(kills):
        with replaying_service() as service:
            if kill == 0:
                hand_in(service, "long", budget="60m")
            service.client.post(f"{CAMPAIGNS}/long/resume")  # after five deaths it waits for that
            time.sleep(chance.uniform(0.0, 4.0))
            owner = owner_of("long")
            if owner is not None:
                with suppress(ProcessLookupError):
                    os.kill(owner.pid, signal.SIGKILL)
            time.sleep(chance.uniform(0.0, 3.0))
            service.end(signal.SIGKILL)
        known = unchanged(known)
    with replaying_service() as service:

        def works() -> bool:
            service.client.post(f"{CAMPAIGNS}/long/resume")  # it waits if the death found just now was the fifth
            owner = owner_of("long")
            alive = owner is not None and Path(f"/proc/{owner.pid}").exists()
            return alive and len(trials_of("long")) > len(known)

        until(works)
        service.client.post(f"{CAMPAIGNS}/long/cancel")
        until(lambda: entry_of("long").state == "cancelled")
    assert TrialState.RUNNING not in dict(trials_of("long")).values()


def unchanged(known: dict[int, str]) -> dict[int, str]:
    """Make sure that trials that had ended are as they were; return those that have ended by now."""
    states = dict(trials_of("long"))
    ended = {number: state for number, state in states.items() if state != TrialState.RUNNING}
    assert {number: ended.get(number) for number in known} == known
    assert Counter(states.values())[TrialState.RUNNING] <= 2, "one runs, and one was not found lost yet"
    return ended


@contextmanager
def without_open_files() -> Iterator[None]:
    """Let this process open no further file while the block runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    last = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, hard))
    held = []
    try:
        with suppress(OSError):
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        yield
    finally:
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_machine_that_is_short_of_something_loses_no_campaign() -> None:
    folders = UserDirs.of_user()
    with Store.open(folders.database) as store:
        store.queue.add(CampaignOrder("first", "tune", SMALL, (platform.node(),), "ada", 0))
        dispatcher = Dispatcher(store, folders, None)
        dispatcher.store.lists.version()
        dispatcher.store.queue.entries([QueueState.QUEUED])
        with without_open_files():
            dispatcher.look()
        entry = entry_of("first")
        assert (entry.state, entry.attempts) == (QueueState.QUEUED, 0)
        assert entry.reason == "its process cannot be started now: Too many open files"
        dispatcher.look()
        assert entry_of("first").state is QueueState.QUEUED, "it is tried again after a pause"


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount 12 MiB at a folder while the block runs, or skip the test where that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "small", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        skip_without("root")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_loses_no_campaign_and_is_told(tmp_path: Path) -> None:
    place = tmp_path / "small"
    with small_disk(place), replaying_service("--db", str(place / "hpltune.db")) as service:

        def told(address: str) -> Any:
            return service.client.get(f"/api/v1{address}").json()

        hand_in(service, "long", trials=12)
        until(lambda: told("/queue/long")["state"] == "running" and told("/campaigns/long")["trials"] >= 2)
        filler = place / "filler"
        with suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(bytes(4096))
        until(lambda: service.client.get("/readyz").status_code == 503, "that the service is not ready")
        assert service.client.get("/readyz").json()["detail"] == "Nothing can be stored: No space left on device."
        until(lambda: "the disk is full" in str(told("/queue/long/log")), "that the process meets the full disk")
        filler.unlink()
        until(lambda: told("/queue/long")["state"] == "done", "the end of the campaign")
        assert service.client.get("/readyz").status_code == 200
        with Store.open(place / "hpltune.db") as store:
            records = store.records("long")
    numbers = [record.number for record in records]
    assert numbers == sorted(set(numbers))
    assert sum(record.state is TrialState.COMPLETE for record in records) >= 12


def test_what_ends_a_campaign_before_its_end_is_no_success(home: Path) -> None:
    """What it found until then is told and kept, but it is not done."""
    with replaying_service() as service:
        hand_in(service, "long", budget="30m")
        until(lambda: len(trials_of("long")) >= 2)
        (home / "xhpl").write_text("#!/bin/sh\nexit 3\n")
        until(lambda: entry_of("long").state != "running", "the end of the campaign")
    entry = entry_of("long")
    assert (entry.state, bool(entry.reason)) == ("failed", True)
