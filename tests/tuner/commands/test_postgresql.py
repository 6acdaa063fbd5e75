"""`--db postgresql://…`: every command works on a server as it does on a file, and no password is printed."""

import json
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run, program
from postgresql_server import PASSWORD, Server
from record_builders import a_study, begun, finished
from waiting import PATIENCE_S, until

from results.store.store import Store


@pytest.fixture
def url(server: Server) -> str:
    """A database with a study, over TCP; the password is in the URL."""
    by_socket = server.new_database()
    with Store.open(by_socket) as store:
        store.create_study(a_study("stored"))
        for rate in (70.0, 71.0):
            store.finish(finished(store.begin(begun("stored")), rate, study="stored"))
        store.end_study("stored", "complete")
    return server.tcp_url(by_socket.partition("@/")[2].partition("?")[0])


def test_what_is_stored_is_shown_and_exported(hpltune: Run, url: str) -> None:
    assert json.loads(hpltune("show", "--json", "--db", url).stdout)[0]["study"] == "stored"
    assert len(json.loads(hpltune("show", "stored", "--json", "--db", url).stdout)) == 2
    assert hpltune("show", "stored", "2", "--output", "--db", url).stdout.startswith("WR01C2R4")
    assert json.loads(hpltune("best", "--json", "--db", url).stdout)["ranking"][0]["median_gflops"] == 70.5
    for kind in ("csv", "jsonl", "md", "dat"):
        assert hpltune.well("export", kind, "--db", url).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "none"), "there is no study none in postgresql://tuner@127.0.0.1:"),
        (("tune", "--study", "stored"), "study stored exists already: add --resume to go on"),
    ],
)
def test_a_mistake_is_one_sentence_without_the_password(
    hpltune: Run, url: str, arguments: tuple[str, ...], words: str
) -> None:
    said = hpltune.refused(*arguments, "--db", url, code=1)
    assert words in said
    assert said.count("\n") == 1
    assert PASSWORD[:6] not in said


@pytest.mark.usefixtures("prints_hpl")
def test_a_study_is_tuned_on_a_server_and_its_commands_find_it_again(hpltune: Run, url: str) -> None:
    small = ("--xhpl", "xhpl", "--space", "quick", "--set", "N=1000", "--trials", "2", "--confirm", "0")
    done = hpltune.well("tune", *small, "--db", url, "--json")
    assert PASSWORD[:6] not in done.stdout + done.stderr
    assert json.loads(done.stdout)["confirm"].endswith(f" --db postgresql://tuner@{url.rpartition('@')[2]}")
    studies = json.loads(hpltune("show", "--json", "--db", url).stdout)
    assert [study["study"] for study in studies] == ["stored", "quick-1"]


@pytest.mark.process
@pytest.mark.usefixtures("mpirun")
def test_who_keeps_pressing_ctrl_c_does_not_wait_for_a_frozen_server(
    hpltune: Run, home: Path, server: Server, url: str
) -> None:
    waiting = program(home / "xhpl", f"#!/bin/sh\ntouch {home}/started\nuntil [ -e {home}/go ]; do sleep 0.1; done\n")
    hpltune("dat", "HPL.dat", "--N", "1000")
    line = [str(HPLTUNE), "run", "HPL.dat", "--xhpl", str(waiting), "--db", url]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until((home / "started").exists)
    with server.frozen():
        (home / "go").touch()

        def pressed_and_ended() -> bool:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
            return process.poll() is not None

        until(pressed_and_ended)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in {130, -signal.SIGINT}, said  # the last press may come when Python has nearly ended
    assert "hpltune: stopped by Ctrl-C\n" in said
