"""`hpltune --server URL …`: the commands of a user, asked of a real service."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from replayed import OFFERED, replaying_service
from running_service import RunningService, service_in_thread
from waiting import PATIENCE_S, until

from results.store.store import Store
from tuner.client.client import Client

SMALL = ("--xhpl", OFFERED, "--space", "quick", "--set", "N=400", "--set", "NB=32,48", "--confirm", "0")


@pytest.fixture
def url(service: RunningService) -> str:
    return str(service.client.base_url)


@pytest.fixture
def answers(home: Path) -> Iterator[str]:
    """Where a service of this process answers, which starts no campaigns."""
    with Store.open(str(home / "data/hpltune.db")) as store, service_in_thread(store, home) as service:
        yield str(service.client.base_url)


@pytest.fixture
def there(hpltune: Run, url: str) -> Run:
    """Runs the program as a user would who asks the service."""
    return Run(partial(hpltune, "--server", url))


@pytest.fixture
def asked(hpltune: Run, answers: str) -> Run:
    """Runs the program as a user would who asks the service that starts no campaigns."""
    return Run(partial(hpltune, "--server", answers))


def begun(url: str, *arguments: str) -> "subprocess.Popen[str]":
    """The program at work on a campaign of a service."""
    command = [str(HPLTUNE), "--server", url, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def port_of(url: str) -> str:
    found = re.search(r":(\d+)", url.removeprefix("http:"))
    assert found
    return found[1]


@pytest.mark.usefixtures("mpirun")
def test_a_search_on_a_service_shows_what_a_search_here_shows(there: Run, hpltune: Run, tmp_path: Path) -> None:
    ran = there.well("tune", *SMALL, "--trials", "2", "--study", "first")
    for said in (
        "Handed in campaign first",
        "MPI: ",
        "Search (at most 2 runs)",
        "#1 ",
        "GFLOPS  ",
        "Best of study first",
    ):
        assert said in ran.stdout
    assert ran.stdout.index("MPI: ") < ran.stdout.index("#1 ")
    for asked in (("show",), ("show", "first"), ("show", "first", "1", "--output"), ("best", "first", "-n", "1")):
        assert there(*asked).stdout == hpltune(*asked).stdout
    mine, theirs = hpltune("best", "--json"), there("best", "--json")
    assert json.loads(mine.stdout) == json.loads(theirs.stdout)
    trials = json.loads(there("show", "first", "--json").stdout)
    assert [trial["number"] for trial in trials] == [
        trial["number"] for trial in json.loads(hpltune("show", "first", "--json").stdout)
    ]
    assert there("export", "csv").stdout == hpltune("export", "csv").stdout
    assert there("export", "dat", "--trial", "1").stdout == hpltune("export", "dat", "--trial", "1").stdout
    assert there("export", "parquet", "-o", "x.parquet").returncode == 0
    assert (tmp_path / "x.parquet").read_bytes()[:4] == b"PAR1"
    assert there("report", "-o", "x.html").returncode == 0
    assert "<!DOCTYPE html>" in (tmp_path / "x.html").read_text()


@pytest.mark.process
@pytest.mark.usefixtures("mpirun")
def test_ctrl_c_leaves_the_campaign_running_and_says_how_to_go_on(url: str, there: Run) -> None:
    process = begun(url, "tune", *SMALL, "--budget", "30m", "--study", "long")
    assert process.stdout is not None
    until(lambda: "#2 " in (process.stdout or [""]).readline())  # type: ignore[union-attr]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert f"campaign long goes on at {url}; `hpltune --server {url} campaign watch long` shows it again" in said
    assert "Traceback" not in said
    with Client(url) as client:
        assert client.campaign("long").info().state == "running"
    paused = there("campaign", "pause", "long")
    assert paused.stdout == "Campaign long pauses after its running trial.\n"
    with Client(url) as client:
        until(lambda: client.campaign("long").entry().state == "paused")
    assert "Campaign long is paused." in there("show").stdout
    assert there("campaign", "resume", "long").stdout.startswith("Campaign long waits for")
    watching = begun(url, "campaign", "watch", "long")
    assert there("campaign", "cancel", "long").returncode == 0
    shown, _ = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 130
    assert "Campaign long was cancelled. `hpltune" in " ".join(shown.split())


@pytest.mark.process
@pytest.mark.service
@pytest.mark.usefixtures("mpirun")
def test_a_search_survives_the_end_of_the_service_and_says_so(home: Path) -> None:
    assert home
    with replaying_service() as service:
        url = str(service.client.base_url)
        process = begun(url, "tune", *SMALL, "--budget", "25s", "--study", "long")
        assert process.stdout is not None
        until(lambda: "#2 " in (process.stdout or [""]).readline())  # type: ignore[union-attr]
        service.end(signal.SIGKILL)
    time.sleep(2.0)
    with replaying_service("--port", port_of(url)):
        shown, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    words = " ".join(shown.split())
    assert "The connection is lost" in words
    assert words.index("The campaign goes on there; trying again") < words.index("The service answers again.")
    numbers = [int(found) for found in re.findall(r"^#(\d+)", shown, re.MULTILINE)]
    assert numbers == list(range(3, 3 + len(numbers))), "each trial is told once, and none is left out"
    assert "Best of study long" in shown


def test_a_wrong_option_is_told_as_on_the_command_line(asked: Run) -> None:
    ran = asked("tune", "--budget", "5")
    assert (ran.returncode, ran.stderr.splitlines()) == (
        2,
        ["hpltune: --budget: a duration needs a unit: write for example 90s, 5m or 1h30m"],
    )
    ran = asked("tune", "--space", "quik")
    assert (ran.returncode, ran.stderr) == (2, "hpltune: --space: there is no space 'quik' here: did you mean quick?\n")


def test_the_variable_names_a_server_and_other_commands_work_here(
    hpltune: Run, answers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPLTUNE_SERVER", answers)
    assert "holds no study yet" in hpltune("show").stdout
    assert (
        hpltune("best").stderr == "hpltune: the service has no campaign yet: `hpltune --server URL tune` hands one in\n"
    )
    here = hpltune("spaces")
    assert "quick" in here.stdout
    assert here.stderr.startswith("hpltune: spaces works on this machine: HPLTUNE_SERVER is for tune, show, best")
    assert "nodes list works on this machine" in hpltune("nodes", "list").stderr
    for command in (("token", "create", "ada"), ("study", "delete", "x")):
        refused = hpltune(*command)
        assert (refused.returncode, "or unset HPLTUNE_SERVER to do it here" in refused.stderr) == (2, True)
    monkeypatch.setenv("HPLTUNE_SERVER", "http://127.0.0.1:1")
    assert hpltune("show").returncode == 1
    assert hpltune("campaign", "pause", "x").stderr.startswith("hpltune: nobody answers at http://127.0.0.1:1 (")


@pytest.mark.usefixtures("mpirun")
def test_a_check_on_a_service_tells_and_ends_as_one_here(there: Run) -> None:
    assert there("tune", *SMALL, "--trials", "2", "--study", "before").returncode == 0
    ran = there("check", "--baseline", "before", "--runs", "2", "--json")
    told = json.loads(ran.stdout)
    assert (told["baseline"], len(told["gflops"])) == ("before", 2)
    codes = {"not-slower": 0, "slower": 10, "slower-today": 11, "cannot-tell": 12, "failed": 1}
    assert ran.returncode == codes[told["verdict"]]
    refused = there("check", "--baseline", "gone")
    assert (refused.returncode, refused.stderr) == (
        2,
        "hpltune: --baseline: there is no study gone: `show` lists all\n",
    )


def test_nodes_are_checked_by_a_service_as_here(there: Run, hpltune: Run) -> None:
    ran = there("nodes", "check", "--facts", "--json")
    told = json.loads(ran.stdout)
    assert ran.returncode == (0 if told["ready"] and told["alike"] else 1), ran.stderr
    assert told == json.loads(hpltune("nodes", "show", "--json").stdout)
    assert "Check 2 of" in there("nodes", "check", "--facts").stdout


def test_a_comparison_of_libraries_is_refused_as_here(asked: Run) -> None:
    ran = asked("blas", "--blas", "openblas")
    assert (ran.returncode, ran.stderr) == (2, "hpltune: --blas: a comparison needs two libraries or more\n")


@pytest.mark.usefixtures("mpirun")
def test_studies_are_compared_by_a_service_as_here(there: Run, hpltune: Run) -> None:
    studies = ("one", "two")
    for study in studies:
        assert there("tune", *SMALL, "--trials", "2", "--study", study).returncode == 0
    compared = there("compare", *studies)
    assert (compared.returncode, compared.stdout) == (0, hpltune("compare", *studies).stdout)
    assert json.loads(there("compare", *studies, "--json").stdout) == json.loads(
        hpltune("compare", *studies, "--json").stdout
    )
    assert there("compare", "--by", "NB").stdout == hpltune("compare", "--by", "NB").stdout
    gone = there("compare", "one", "gone")
    assert (gone.returncode, gone.stderr) == (
        1,
        "hpltune: There is no campaign gone that has begun: `show` lists all\n",
    )


def test_a_service_with_tokens_is_asked_with_one(asked: Run, hpltune: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    token = max(re.findall(r"\S+", hpltune.well("token", "create", "reader", "--scope", "read").stdout), key=len)
    assert "HPLTUNE_TOKEN" in asked.refused("show", code=1)
    monkeypatch.setenv("HPLTUNE_TOKEN", token)
    assert asked("show").returncode == 0
    assert "needs scope run" in asked.refused("tune", *SMALL, code=1)
    monkeypatch.setenv("HPLTUNE_TOKEN", token[:-1])
    assert "not known here" in asked("show").stderr


@pytest.mark.process
def test_tab_completion_knows_the_campaigns_of_the_server(answers: str, home: Path) -> None:
    with Client(answers) as client:
        client.tune(name="monday", budget="30m", priority=-1).pause()
    line = f"hpltune --server {answers} campaign pause mo"
    environment = {
        **os.environ,
        "_HPLTUNE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    ran = subprocess.run([str(HPLTUNE)], env=environment, capture_output=True, text=True, check=False, cwd=home)
    assert ran.stdout.split() == ["monday"], ran.stderr
