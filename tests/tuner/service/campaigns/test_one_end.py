"""A campaign ends as done, failed or cancelled: it never vanishes, and no signal makes it fail."""

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from as_user import Run, program
from replayed import replaying, replaying_service
from sqlalchemy import Engine, event
from waiting import until

from results.errors import CampaignStateError, ResultsError
from results.store.lease import Lease
from results.store.service.campaign_entry import CampaignEntry, CampaignOrder, QueueState, WantedState
from results.store.service.queue import MOST_ATTEMPTS
from results.store.store import Store
from tuner.messages.documents import document_of
from tuner.options import TuneOptions
from tuner.service.campaigns import process as campaign_process
from tuner.service.campaigns.dispatcher import Dispatcher
from tuner.service.campaigns.hand_in import HandIn, hand_in
from tuner.service.campaigns.host_survey import HostSurvey
from tuner.service.campaigns.kinds.registry import KINDS
from tuner.service.campaigns.kinds.tune import TuneKind
from tuner.service.campaigns.logs import log_file
from tuner.service.campaigns.offered import Offers
from tuner.service.campaigns.process import ProcessRequest, work_on
from tuner.service.pages.queue import begun_sentences
from tuner.stopping import StopRequest
from tuner.user_dirs import UserDirs

DOCUMENT = {"kind": "tune", "space": "quick", "trials": 1, "set": {"N": [400]}, "confirm": 0, "program": "printed"}
ENDED = {QueueState.DONE, QueueState.FAILED, QueueState.CANCELLED}
pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def store() -> Iterator[Store]:
    """The database of the user, as a campaign opens it, too."""
    with Store.open(UserDirs.of_user().database) as store:
        yield store


def handed_in(store: Store, name: str = "first") -> None:
    store.queue.add(CampaignOrder(name, "tune", DOCUMENT, (os.uname().nodename,), "ada", 0))


def entry_of(store: Store, name: str = "first") -> CampaignEntry:
    found = store.queue.find(name)
    assert found is not None, "it has vanished"
    return found


def request_of(offers: Offers, name: str = "first") -> ProcessRequest:
    return ProcessRequest(name, Lease.mine(), None, offers, lambda _now: None)


@pytest.mark.parametrize(
    "error", [KeyError("x"), AssertionError("no"), OSError(5, "Input/output error"), MemoryError()]
)
def test_what_nobody_foresaw_is_the_reason_of_its_end(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    class Faulty(TuneKind):
        """Fails before its first trial."""

        def work(self, *_: Any) -> Any:
            raise error

    monkeypatch.setitem(KINDS, "tune", Faulty())
    handed_in(store)
    store.queue.claim("first")
    offers = Offers(programs={"printed": replaying(home)})
    assert work_on(request_of(offers), lambda _event: None, StopRequest()) is QueueState.FAILED
    entry = entry_of(store)
    assert (entry.state, type(error).__name__ in entry.reason) == (QueueState.FAILED, True)


class Faults:
    """Lets one call of many fail: a transaction of the database, a file that is opened, or a folder that is made.

    Attributes:
        seen: calls until now.
        fails_at: the call that fails; 0 for none.
    """

    def __init__(self, folder: Path) -> None:
        self.seen = self.fails_at = 0
        self.what = ""
        self._folder = str(folder)
        self._on = False

    @contextmanager
    def at(self, number: int) -> Iterator[None]:
        """Let the call of this number fail while the block runs."""
        self.seen, self.fails_at, self.what, self._on = 0, number, "", True
        try:
            yield
        finally:
            self._on = False

    def begin(self, _connection: object) -> None:
        """See that a transaction begins."""
        self._count("a transaction", ResultsError("the database cannot be used"))

    def audit(self, name: str, given: tuple[Any, ...]) -> None:
        """See what Python's audit hooks tell."""
        if self._on and name in {"open", "os.mkdir", "os.rename", "os.remove", "subprocess.Popen", "shutil.rmtree"}:
            path = str(given[0])
            if path.startswith(self._folder) or name == "subprocess.Popen":
                self._count(f"{name} {path}", OSError(5, "Input/output error", path))

    def _count(self, what: str, error: Exception) -> None:
        if self._on:
            self.seen += 1
            if self.seen == self.fails_at:
                self.what = what
                raise error


@pytest.fixture
def faults(home: Path) -> Iterator[Faults]:
    """What lets a call fail, of this user's files and of any database."""
    made = Faults(home)
    sys.addaudithook(made.audit)
    event.listen(Engine, "begin", made.begin)
    yield made
    event.remove(Engine, "begin", made.begin)


@pytest.mark.heavy
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("mpirun")
def test_each_call_may_fail_once_and_the_campaign_has_an_end(
    store: Store, home: Path, faults: Faults, request: pytest.FixtureRequest
) -> None:
    """Where its process cannot even say so, it is found dead, and begins again."""
    offers = Offers(programs={"printed": replaying(home)})

    def works(name: str, number: int) -> None:
        handed_in(store, name)
        assert store.queue.claim(name)
        try:
            with faults.at(number):
                work_on(request_of(offers, name), lambda _event: None, StopRequest())
        except (ResultsError, OSError):
            store.queue.recover(begun=())

    works("plain", 0)
    assert entry_of(store, "plain").state is QueueState.DONE
    calls = faults.seen
    assert calls > 40
    step = max(1, calls // request.config.getoption("--kills"))
    for number in range(1, calls + 1, step):
        name = f"call-{number}"
        works(name, number)
        entry = entry_of(store, name)
        if entry.state is QueueState.QUEUED:
            assert store.queue.claim(name)
            work_on(request_of(offers, name), lambda _event: None, StopRequest())
            entry = entry_of(store, name)
        assert entry.state in ENDED, (faults.what, entry)
        assert entry.state is not QueueState.FAILED or entry.reason, faults.what


@pytest.mark.heavy
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("mpirun")
def test_each_call_may_fail_once_and_what_was_paused_is_not_done(
    store: Store, home: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Of the many runs that it asks for, the process has made a few when it is to pause."""
    monkeypatch.setattr(campaign_process, "LOOK_S", 0.01)
    offers = Offers(programs={"printed": replaying(home)})
    many = {**DOCUMENT, "trials": None, "budget": "30m", "set": {"N": [400], "NB": list(range(32, 352, 8))}}

    def pauses(number: int) -> CampaignEntry:
        name = f"pause-{number}"
        store.queue.add(CampaignOrder(name, "tune", many, (os.uname().nodename,), "ada", 0))
        assert store.queue.claim(name)
        store.queue.want(name, WantedState.PAUSE)
        stop = StopRequest()
        asked = ProcessRequest(name, Lease.mine(), None, offers, lambda now: stop.ask(at_once=now))
        try:
            with faults.at(number):
                work_on(asked, lambda _event: None, stop)
        except (ResultsError, OSError):
            store.queue.recover(begun=())
        return entry_of(store, name)

    assert pauses(0).state is QueueState.PAUSED
    for number in range(1, faults.seen + 1, max(1, faults.seen // request.config.getoption("--kills"))):
        entry = pauses(number)
        assert entry.state in {QueueState.PAUSED, QueueState.FAILED}, (faults.what, entry)
        assert entry.state is QueueState.PAUSED or "Input/output error" in entry.reason + faults.what, entry


def test_each_call_may_fail_once_from_handing_in_to_the_start(
    store: Store, home: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered is in the queue, and what could not be stored was no answer."""
    monkeypatch.setattr(sys, "executable", str(program(home / "python", "#!/bin/sh\nkill -9 $$\n")))
    offers, survey = Offers(programs={"printed": replaying(home)}), HostSurvey(UserDirs.of_user())
    options = TuneOptions(xhpl=offers.programs["printed"], overrides={"N": ["400"]})
    survey.view(options)  # the machine is looked at once in five minutes

    def begins(number: int) -> bool:
        """Whether it was handed in."""
        service, name = Dispatcher(store, UserDirs.of_user(), None, offered=offers), f"call-{number}"
        document = document_of("tune").model_validate({**DOCUMENT, "name": name})
        given = False
        with faults.at(number), suppress(ResultsError, OSError):
            hand_in(HandIn(document, "ada"), offers, store, survey)
            given = True
            service.look()
        for process, _ in service._started.values():
            process.wait()
        monkeypatch.setattr(service, "_begin", lambda entry: store.queue.end(entry.name, QueueState.QUEUED))
        service.look()
        return given

    assert begins(0)
    assert faults.seen > 5
    for number in range(faults.seen + 1):
        given = number == 0 or begins(number)
        entry = store.queue.find(f"call-{number}")
        assert (entry is not None) == given, faults.what
        if entry is not None:
            told = entry.state is QueueState.FAILED and "Input/output error" in entry.reason
            assert told or entry.state is QueueState.QUEUED, (faults.what, entry)
            store.queue.want(entry.name, WantedState.RUN if told else WantedState.CANCEL)
            store.queue.want(entry.name, WantedState.CANCEL)


@pytest.mark.heavy
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("mpirun")
def test_kills_from_the_first_millisecond_give_each_campaign_one_end(
    store: Store, home: Path, request: pytest.FixtureRequest
) -> None:
    """Each campaign is killed once, every other one just after somebody asked for a pause; then it goes on."""
    kills = request.config.getoption("--kills")
    chance = random.Random(kills)  # noqa: S311 - moments, no secrets
    config, printed = home / "serve.toml", replaying(home)
    config.write_text(f'[offers.programs]\nprinted = "{printed}"\n')
    service = Dispatcher(store, UserDirs.of_user(), None, config, Offers(programs={"printed": printed}))

    def stands(name: str, *states: QueueState) -> bool:
        service.look()
        entry = entry_of(store, name)
        assert entry.state is not QueueState.FAILED, entry.reason
        return entry.state in states

    for number in range(kills):
        name, pausing = f"kill-{number}", number % 2 == 1
        handed_in(store, name)
        until(partial(stands, name, QueueState.RUNNING))
        time.sleep(10 ** chance.uniform(-3.0, 0.6))
        process, _ = service._started[name]
        if pausing:
            with suppress(CampaignStateError):
                store.queue.want(name, WantedState.PAUSE)
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]))
        process.wait()
        measured = store.queue.is_study(name) and len(store.records(name))
        service.look()
        entry = entry_of(store, name)
        if entry.state is QueueState.DONE:
            assert measured, "what is done has measured"
        elif pausing:
            assert entry.state is QueueState.PAUSED, entry
            store.queue.want(name, WantedState.RUN)
        until(partial(stands, name, QueueState.DONE))
        assert len(store.records(name)) >= 1


def test_a_campaign_whose_processes_die_waits_and_says_how(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is resumed by who knows why; a process that said a word has not died without one."""
    takes = (
        "from sys import argv; from results.store.store import Store; from results.store.lease import Lease\n"
        f"with Store.open({str(store.place)!r}) as store: store.queue.take_over('first', Lease.parse(argv[1]))\n"
    )
    script = f'echo no room for ranks\n{sys.executable} -c "{takes}" "$7"; exit 3'
    monkeypatch.setattr(sys, "executable", str(program(home / "python", f"#!/bin/sh\n{script}\n")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    service = Dispatcher(store, UserDirs.of_user(), None, offered=Offers())
    handed_in(store)
    for _ in range(MOST_ATTEMPTS):
        service.look()
        process, _ = service._started["first"]
        process.wait()
    service.look()
    entry = entry_of(store)
    assert entry.state is QueueState.PAUSED
    assert entry.reason.startswith("its process died and said last: no room for ranks; 5 of its processes died, so it")
    [told] = begun_sentences(store, entry, lambda _: True)
    assert told.startswith("Why it waits: its process died and said last: no room for ranks;")


def starts(store: Store, home: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Callable[[], CampaignEntry]:
    """Let a campaign's process be a script; what is given looks at the queue once that has ended."""
    monkeypatch.setattr(sys, "executable", str(program(home / "python", f"#!/bin/sh\n{script}\n")))
    service = Dispatcher(store, UserDirs.of_user(), None)
    handed_in(store)
    log = log_file(store, UserDirs.of_user(), "first")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("the word of another process\n")
    service.look()
    assert entry_of(store).state is QueueState.RUNNING

    def ended() -> CampaignEntry:
        for process, _ in service._started.values():
            process.wait()
        monkeypatch.setattr(service, "_begin", lambda entry: store.queue.end(entry.name, QueueState.QUEUED))
        service.look()
        return entry_of(store)

    return ended


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_process_that_a_signal_ends_in_its_first_second_goes_on_later(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    assert starts(store, home, monkeypatch, f"kill -{number.value} $$")().state is QueueState.QUEUED


def test_one_that_a_signal_let_leave_in_order_goes_on_later(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert starts(store, home, monkeypatch, f"exit {128 + signal.SIGTERM}")().state is QueueState.QUEUED


@pytest.mark.parametrize(
    ("script", "reason"),
    [("exit 3", "its process could not begin"), ("echo there is no such file; exit 3", "there is no such file")],
)
def test_the_reason_of_its_end_is_a_word_of_its_own_process(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    entry = starts(store, home, monkeypatch, script)()
    assert (entry.state, entry.reason) == (QueueState.FAILED, reason)


def test_a_campaign_whose_start_was_not_stored_is_no_longer_running(store: Store) -> None:
    """The database was away for a moment after the campaign was claimed."""
    service = Dispatcher(store, UserDirs.of_user(), None)
    handed_in(store)
    store.queue.claim("first")
    service._pause.begin()
    service.look()
    assert entry_of(store).state is QueueState.QUEUED


def test_a_configuration_that_cannot_be_read_fails_no_campaign(hpltune: Run, home: Path) -> None:
    """What stands in it is the operator's: readers see the log of a campaign."""
    file = home / "serve.toml"
    file.write_text("secret = x[\n")
    done = hpltune("campaign-process", "first", "--starter", str(Lease.mine()), "--config", str(file))
    assert done.returncode == os.EX_TEMPFAIL
    assert done.stderr.startswith("hpltune: the configuration of the service cannot be used now")
    assert "secret" not in done.stderr


def test_no_campaign_starts_while_another_file_is_in_the_place_of_the_database(store: Store) -> None:
    file = Path(store.place)
    service = Dispatcher(store, UserDirs.of_user(), None, offered=Offers(), opened=file.stat())
    handed_in(store)
    kept = file.rename(file.with_name("kept.db"))
    service.look()
    assert (entry_of(store).state, service._started) == (QueueState.QUEUED, {})
    with pytest.raises(ResultsError):
        work_on(request_of(Offers()), lambda _: None, StopRequest())
    assert not file.exists(), "a campaign's process makes no database"
    kept.rename(file)
    service.look()
    assert set(service._started) == {"first"}
    service._started["first"][0].kill()
    service._started["first"][0].wait()


@pytest.mark.service
@pytest.mark.usefixtures("mpirun")
def test_a_campaign_is_paused_where_the_service_ignores_ctrl_c(store: Store) -> None:
    """As one does that a script started in the background."""
    with replaying_service(before=["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]) as service:
        sizes = {"N": [400], "NB": list(range(32, 352, 8))}
        document = {**DOCUMENT, "name": "first", "set": sizes, "budget": "30m", "trials": None}
        assert service.client.post("/api/v1/campaigns", json=document).status_code == 201
        until(lambda: store.queue.is_study("first") and len(store.records("first")) >= 2)
        service.client.post("/api/v1/campaigns/first/pause")
        until(lambda: entry_of(store).state is not QueueState.RUNNING)
    assert entry_of(store).state is QueueState.PAUSED
