"""PostgreSQL is the same store; and on a server that hosts share, a study has one writer and outlives it."""

import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from postgresql_server import Server
from record_builders import a_study, begun, finished
from sqlalchemy import MetaData, Table, create_engine, insert, text
from store_contract import StoreContract
from waiting import PATIENCE_S, until

from results.errors import StoreWarning, StudyBusyError
from results.record import Kind, TrialState
from results.store import migrations
from results.store.rows import study_row, trial_row
from results.store.store import Store

ROOT = Path(__file__).parents[3]
ELSEWHERE = """
import platform, sys
here, platform.node = platform.node(), lambda: sys.argv[2]
from results.store import lease
if platform.node() != here:
    lease._boot_id = lambda: f"boot of {platform.node()}"
from record_builders import begun
from results.errors import ResultsError
from results.store.store import Store

with Store.open(sys.argv[1]) as store:
    for line in sys.stdin:
        try:
            print(getattr(store, line.split()[0])(*map(eval, line.split()[1:])), flush=True)
        except ResultsError as error:
            print(error, flush=True)
"""
TAKE, BEGIN = "take 'study'", "begin begun()"


class TestPostgresqlStore(StoreContract):
    @pytest.fixture
    def store(self, server: Server) -> Iterator[Store]:
        with Store.open(server.new_database()) as store:
            yield store


class Other:
    """A process that works on a store as if it ran on another host."""

    def __init__(self, url: str, host: str) -> None:
        environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'contracts'}"}
        line = [sys.executable, "-c", ELSEWHERE, url, host]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, line: str) -> str:
        """What a method of its store returned, or the sentence why it did not."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def other(url: str, host: str = "elsewhere") -> Iterator[Other]:
    found = Other(url, host)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.communicate()


@pytest.fixture
def url(server: Server) -> str:
    """A database with a study that nobody works on."""
    url = server.new_database()
    with Store.open(url) as store:
        store.create_study(a_study())
        store.end_study("study", "interrupted")
    return url


def soon(take: Callable[[], object]) -> object:
    """Try until the server has noticed that a process has ended."""
    give_up_at = time.monotonic() + PATIENCE_S
    while True:
        try:
            return take()
        except StudyBusyError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.01)


def test_a_study_of_a_living_process_of_another_host_is_not_taken(url: str) -> None:
    busy = r"study study is being run by process \d+ on elsewhere: .*; if that host died, the server notices"
    with other(url) as first, Store.open(url) as store:
        assert first.ask(TAKE).startswith("Study(")
        with pytest.raises(StudyBusyError, match=busy):
            store.take("study")
        assert first.ask(BEGIN) == "1"
        with pytest.raises(StudyBusyError, match=busy):
            store.abandon_running("study", "stolen")


def test_a_study_of_a_dead_process_of_another_host_is_taken_up(url: str) -> None:
    with other(url) as first, Store.open(url) as store:
        assert first.ask(TAKE).startswith("Study(")
        assert first.ask(BEGIN) == "1"
        first.process.kill()
        assert soon(lambda: store.abandon_running("study", "killed")) == 1
        assert store.begin(begun()) == 2


def test_those_who_go_on_end_what_a_killed_process_of_another_host_ran(url: str) -> None:
    with other(url) as first, Store.open(url) as store:
        assert first.ask(TAKE).startswith("Study(")
        assert first.ask(BEGIN) == "1"
        store.join("study")
        assert store.abandon_running("study", "killed") == 0
        first.process.kill()
        until(lambda: store.abandon_running("study", "killed"))
        assert store.get("study", 1).reason == "killed"


def test_of_many_hosts_one_gets_a_study(url: str) -> None:
    with other(url, "a") as a, other(url, "b") as b, other(url, "c") as c, ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda one: one.ask(TAKE), (a, b, c)))
    assert sum(answer.startswith("Study(") for answer in answers) == 1, answers
    assert sum("is being run by process" in answer for answer in answers) == 2, answers


def test_who_lost_a_study_with_its_connection_is_told(server: Server, url: str) -> None:
    with other(url) as first, Store.open(url) as store:
        first.ask(TAKE)
        server.stop()
        server.start()
        soon(lambda: store.take("study"))
        assert "study study is being run by process" in first.ask(BEGIN)


def test_who_is_on_this_host_keeps_a_study_without_a_connection(server: Server, url: str) -> None:
    with Store.open(url) as mine, other(url, platform.node()) as first:
        first.ask(TAKE)
        server.stop()
        server.start()
        with pytest.raises(StudyBusyError):
            mine.take("study")


def test_a_server_that_is_restarted_stops_no_study(server: Server, url: str) -> None:
    with Store.open(url) as store:
        number = store.begin(begun())
        server.stop()
        with ThreadPoolExecutor(1) as pool:
            finishing = pool.submit(store.finish, finished(number))
            server.start()
            finishing.result()
        assert store.get("study", number).state is TrialState.COMPLETE


def test_a_database_of_schema_1_is_brought_up_to_date(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.new_database()
    monkeypatch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
    Store.open(url).close()
    monkeypatch.undo()
    sentence = r"schema 1 became schema \d+, .*: `pg_dump` makes a copy before the next update"
    with pytest.warns(StoreWarning, match=sentence):
        Store.open(url, create=False).close()
    with Store.open(url, create=False) as store:
        store.create_study(a_study())
        store.finish(finished(store.begin(begun())))
        assert store.records("study")[0].part == 1.0


@pytest.mark.filterwarnings("ignore::results.errors.StoreWarning")
def test_a_run_that_schema_4_stored_as_given_up_by_its_reason_alone_is_of_that_kind(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.new_database()
    monkeypatch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:4])
    Store.open(url).close()
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        told = ("given up after 30% of its columns: at most 61.2 GFLOPS with 99% certainty", "")
        trials = [finished(number, None, kind=Kind.PREFIX, passed=None, reason=why) for number, why in enumerate(told)]
        rows = {"studies": [study_row(a_study())], "trials": [trial_row(record) for record in trials]}
        for name, new in rows.items():
            table = Table(name, MetaData(), autoload_with=connection)
            for row in new:
                connection.execute(insert(table).values({key: row[key] for key in row if key in table.columns}))
    engine.dispose()
    monkeypatch.undo()
    with Store.open(url, create=False) as store:
        assert [record.kind for record in store.records("study")] == [Kind.GIVEN_UP, Kind.PREFIX]


@pytest.mark.filterwarnings("ignore::results.errors.StoreWarning")
def test_originals_of_schema_11_are_of_unknown_machines(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.new_database()
    monkeypatch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:11])
    Store.open(url).close()
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    values = "('h2', 'eth0', 'mtu', '1500', '[]', NULL, 'nobody', '2026-11-29T12:00:00+00:00')"
    with engine.begin() as connection:
        connection.execute(text(f"INSERT INTO network_originals VALUES {values}"))  # noqa: S608 - a constant
    engine.dispose()
    monkeypatch.undo()
    with Store.open(url, create=False) as store:
        (kept,) = store.network.originals()
        assert (kept.key, kept.value, kept.boot) == (("h2", "eth0", "mtu", ""), "1500", "")


def test_a_schema_of_ones_own_in_a_database_that_others_use(server: Server) -> None:
    url = server.new_database()
    name = url.partition("@/")[2].partition("?")[0]
    server.administer("CREATE TABLE photos (name text)", "CREATE SCHEMA hpl AUTHORIZATION tuner", database=name)
    with Store.open(f"{url}&options=-csearch_path%3Dhpl") as store:
        store.create_study(a_study())
        assert store.newest().name == "study"
