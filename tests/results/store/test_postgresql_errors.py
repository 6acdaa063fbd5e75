"""What goes wrong with a PostgreSQL database ends in one sentence that shows no password."""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import psycopg
import pytest
from needs import skip_without
from postgresql_server import PASSWORD, Server
from record_builders import a_study, begun, finished

from results.errors import ResultsError
from results.record import TrialState
from results.store import postgresql, silence
from results.store.store import Store

LOCKS_TRIALS = "LOCK TABLE trials IN ACCESS EXCLUSIVE MODE"


@pytest.fixture
def url(server: Server) -> str:
    """A database with a study of three finished trials."""
    url = server.new_database()
    with Store.open(url) as store:
        store.create_study(a_study())
        for _ in range(3):
            store.finish(finished(store.begin(begun())))
    return url


def name_of(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


def sentence(url: str, *, create: bool = True) -> str:
    """Why a database cannot be opened."""
    with pytest.raises(ResultsError) as refused:
        Store.open(url, create=create)
    assert "\n" not in str(refused.value)
    assert PASSWORD not in str(refused.value)
    return str(refused.value)


# opening


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    for place in ("postgresql://tuner@127.0.0.1:1/hpl", f"postgresql://tuner@/hpl?host={tmp_path}"):
        assert "no server answers there: start it, or correct host and port in the URL" in sentence(place)


def test_a_host_that_is_not_known() -> None:
    assert sentence("postgresql://no-such-host.invalid/hpl").endswith(
        "the host's name is not known: correct it in the URL"
    )


def test_a_database_that_is_missing(server: Server) -> None:
    assert sentence(server.url("none")).endswith(
        "the server has no such database: make it with createdb, or correct the URL"
    )


def test_a_user_that_is_not_known(server: Server) -> None:
    place = server.url("postgres").replace("tuner@", "nobody@")
    assert "the server knows no such user: give another in the URL, postgresql://user@host:port/name" in sentence(place)


def test_a_wrong_password(server: Server) -> None:
    assert sentence(server.tcp_url("postgres", "wrong")) == (
        f"database postgresql://tuner@127.0.0.1:{server.port}/postgres: the server refused user or password: "
        "correct PGPASSWORD or ~/.pgpass"
    )


def test_no_password(server: Server) -> None:
    assert "the server wants a password: give it with PGPASSWORD or in ~/.pgpass" in sentence(
        server.tcp_url("postgres", None)
    )


def test_a_host_that_is_not_let_in(server: Server) -> None:
    rules = server.folder / "data/pg_hba.conf"
    kept = rules.read_text()
    rules.write_text("local all all trust\n")
    server.administer("SELECT pg_reload_conf()")
    try:
        found = ""
        for _ in range(100):  # the server reads its file in its own time
            found = sentence(server.tcp_url("postgres", "wrong"))
            if "refused" not in found:
                break
        assert "the server lets this user in neither from this host nor in this way: ask who runs it" in found
    finally:
        rules.write_text(kept)
        server.administer("SELECT pg_reload_conf()")


def test_a_password_of_the_environment_is_used(server: Server, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with Store.open(server.tcp_url(name_of(url), None), create=False) as store:
        assert len(store.studies()) == 1


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgres"])
def test_a_password_of_the_url_is_used_and_never_shown(server: Server, url: str, scheme: str) -> None:
    given = server.tcp_url(name_of(url)).replace("postgresql", scheme) + f"?sslpassword={PASSWORD[:6]}"
    with Store.open(given, create=False) as store:
        assert store.place == f"postgresql://tuner@127.0.0.1:{server.port}/{name_of(url)}"
        with pytest.raises(ResultsError, match=rf"there is no study none in {re.escape(store.place)} \(there: study\)"):
            store.study("none")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("mysql://root:s3cret@host/hpl", "⟦db⟧ mysql://…: give the path of a SQLite file, or postgresql://user@host"),
        ("postgresql+psycopg2://u:s3cret@host/hpl", "⟦db⟧ postgresql+psycopg2://…: give the path of a SQLite file"),
        ("postgresql://u:s3cret@host:port/hpl", "this is no URL of a database: write postgresql://user@host:port/name"),
        ("postgresql://u:s3@cret@host/hpl", "there are two @: write one in a password as %40, or give it with PGPASSW"),
        ("postgresql://u:s3cret@127.0.0.1/hpl?psword=x", "invalid connection option"),
    ],
)
def test_a_url_that_is_wrong(place: str, words: str) -> None:
    found = sentence(place)
    assert words in found
    assert "cret@" not in found


def test_a_driver_that_is_missing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert sentence(server.url("postgres")) == (
        "PostgreSQL needs the Python package psycopg, which is missing: install it with "
        f"{sys.executable} -m pip install 'psycopg[binary]'"
    )


def test_a_database_where_we_may_not_make_tables(server: Server) -> None:
    url = server.new_database()
    server.administer("REVOKE ALL ON SCHEMA public FROM PUBLIC, pg_database_owner", database=name_of(url))
    server.administer("GRANT USAGE ON SCHEMA public TO tuner", database=name_of(url))
    assert "permission denied for schema public: ask its owner for the right to create and change tables" in sentence(
        url
    )


def test_the_database_of_another_program_is_refused_and_unchanged(server: Server) -> None:
    url = server.new_database()
    server.administer("CREATE TABLE photos (name text)", database=name_of(url))
    assert "is not a database of hpltune: it holds photos; give another with ⟦db⟧" in sentence(url)
    found = server.administer("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", database=name_of(url))
    assert found == [("photos",)]


def test_an_empty_database_is_filled_only_on_request(server: Server) -> None:
    url = server.new_database()
    assert "holds nothing of hpltune yet: `hpltune tune` makes its tables" in sentence(url, create=False)
    Store.open(url).close()
    with Store.open(url, create=False) as store:
        assert store.studies() == []


def test_an_encoding_that_cannot_hold_every_text(server: Server) -> None:
    server.administer("CREATE DATABASE latin OWNER tuner ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert "has the encoding LATIN1: make one with createdb -E UTF8 -T template0" in sentence(server.url("latin"))


# writing


def test_a_lock_that_another_program_holds(server: Server, url: str) -> None:
    with closing(psycopg.connect(server.superuser(name_of(url)))) as holder, Store.open(url, busy_s=0.05) as store:
        holder.execute("SELECT 1 FROM studies FOR UPDATE")
        with pytest.raises(ResultsError, match="another program is writing to it: end that one or try again"):
            store.begin(begun())
        assert len(store.records("study")) == 3  # readers are not kept out
        holder.rollback()
        assert store.begin(begun()) == 4


def as_soon_as_it_waits(server: Server, act: Callable[[], object]) -> threading.Thread:
    """Act once a session waits for a lock."""

    def watch() -> None:
        while server.administer("SELECT count(*) FROM pg_locks WHERE NOT granted") == [(0,)]:
            time.sleep(0.01)
        act()

    watching = threading.Thread(target=watch)
    watching.start()
    return watching


def test_a_deadlock_keeps_what_was_finished(server: Server, url: str) -> None:
    with closing(psycopg.connect(server.superuser(name_of(url)))) as holder, Store.open(url) as store:
        holder.execute("SET deadlock_timeout = '1min'")
        holder.execute(LOCKS_TRIALS)
        crossing = as_soon_as_it_waits(server, lambda: holder.execute("SELECT 1 FROM studies FOR UPDATE"))
        with pytest.raises(ResultsError, match="another program changed the same rows: everything finished"):
            store.begin(begun())
        crossing.join()
        holder.rollback()
        assert store.begin(begun()) == 4


def test_a_connection_that_is_cut_in_the_middle_of_a_write(server: Server, url: str) -> None:
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tuner'"
    with closing(psycopg.connect(server.superuser(name_of(url)))) as holder, Store.open(url) as store:
        holder.execute(LOCKS_TRIALS)
        cutting = as_soon_as_it_waits(server, lambda: server.administer(cut))
        with pytest.raises(ResultsError, match="the connection was lost: everything finished before is kept"):
            store.begin(begun())
        cutting.join()
        holder.rollback()
        assert store.begin(begun()) == 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "no server answers there: start it, or correct host and port in the URL"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what answers there is no PostgreSQL server: correct host and port"),
    ],
)
def test_a_port_that_is_no_server_s_loses_no_connection_that_never_was(answer: bytes, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    caller, _ = listener.accept()
                    with caller:
                        caller.recv(8)
                        caller.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        said = sentence(f"postgresql://tuner@127.0.0.1:{listener.getsockname()[1]}/hpl")
        listener.shutdown(socket.SHUT_RDWR)
    assert words in said
    assert "everything finished before" not in said


def test_a_server_that_does_not_come_back(server: Server, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "AWAY_S", 0.3)
    with Store.open(url) as store:
        number = store.begin(begun())
        server.stop()
        try:
            with pytest.raises(ResultsError, match="no server answers there"):
                store.finish(finished(number))
        finally:
            server.start()
        store.finish(finished(number))
        assert len(store.records("study", states=[TrialState.COMPLETE])) == 4


def test_a_server_that_is_frozen_is_noticed_and_is_waited_for_once(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "AWAY_S", 0.3)
    with Store.open(f"{url}&connect_timeout=2") as store:
        number = store.begin(begun())
        with server.frozen(), monkeypatch.context() as patch:
            patch.setattr(silence, "SILENT_S", 0.3)
            for _ in range(2):
                with pytest.raises(ResultsError, match="no server answers there"):
                    store.finish(finished(number))
        store.finish(finished(number))


def test_a_server_that_freezes_in_the_middle_of_a_write(
    server: Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        monkeypatch.context() as patch,
        closing(psycopg.connect(server.superuser(name_of(url)))) as holder,
        Store.open(url) as store,
        ExitStack() as stack,
    ):
        holder.execute(LOCKS_TRIALS)
        patch.setattr(silence, "SILENT_S", 5)  # the server is frozen before
        freezing = as_soon_as_it_waits(server, lambda: stack.enter_context(server.frozen()))
        with pytest.raises(ResultsError, match="the connection was lost: everything finished before is kept"):
            store.begin(begun())
        freezing.join()
        patch.undo()
        stack.close()
        holder.rollback()
        assert store.begin(begun()) == 4


def test_a_database_that_can_only_be_read(server: Server, url: str) -> None:
    server.administer("ALTER ROLE tuner SET default_transaction_read_only = on")
    try:
        with Store.open(url, create=False) as store:
            assert len(store.records("study", outputs=True)) == 3
            with pytest.raises(ResultsError, match="it can only be read, as a standby can: give the primary server"):
                store.begin(begun())
    finally:
        server.administer("ALTER ROLE tuner RESET default_transaction_read_only")


@pytest.fixture
def small_disk(server: Server) -> Iterator[Path]:
    """A disk of 12 MiB for a tablespace."""
    folder = server.folder / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        skip_without("root")
    owner = server.folder.stat()
    shutil.chown(folder, owner.st_uid, owner.st_gid)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with suppress(OSError), file.open("wb", buffering=0) as filler:
        while filler.write(b"x" * 4096):
            pass


def test_a_full_disk_keeps_what_was_finished_and_the_trial_can_be_finished_later(
    server: Server, small_disk: Path
) -> None:
    server.administer(
        f"CREATE TABLESPACE small LOCATION '{small_disk}'", "CREATE DATABASE full_disk OWNER tuner TABLESPACE small"
    )
    try:
        with Store.open(server.url("full_disk")) as store:
            store.create_study(a_study())
            large = finished(store.begin(begun()), output=os.urandom(1_000_000).hex())
            fill(small_disk / "filler")
            with pytest.raises(ResultsError, match="the server's disk is full: make room there and go on"):
                store.finish(large)
            (small_disk / "filler").unlink()
            assert store.get("study", 1).state is TrialState.RUNNING
            store.finish(large)
            assert store.get("study", 1).output == large.output
    finally:
        server.administer("DROP DATABASE full_disk", "DROP TABLESPACE small")
