import io
import subprocess
from datetime import timedelta
from typing import Any

import pyarrow.parquet as pq
import pytest
from explain_builders import keep
from fastapi.testclient import TestClient
from record_builders import START, a_study, begun, finished

from results.record import BlasObservation, TrialState
from results.store.store import Store

ONE = "/api/v1/campaigns/one"


@pytest.fixture
def one(store: Store) -> Store:
    """A campaign with a good trial, one that failed before it had an HPL.dat, and one that runs."""
    failed = finished(
        2, None, "one", key="k2", state=TrialState.FAILED, passed=None, hpl=None, hpl_dat="", reason="no compiler"
    )
    keep(store, a_study("one"), [finished(1, 75.0, "one", errors_text="a rank spoke\udce9\n"), failed])
    store.begin(begun("one", "k3"))
    return store


@pytest.mark.usefixtures("one")
def test_one_trial_is_told_in_full_without_folders(client: TestClient) -> None:
    told = client.get(f"{ONE}/trials/1").json()
    assert (told["number"], told["gflops"], told["hpl"]["NB"], told["cost_s"]) == (1, 75.0, 192, 3.25)
    assert told["observed"]["library"] == "libopenblas.so.0"
    assert client.get(f"{ONE}/trials/2").json()["reason"] == "no compiler"


@pytest.mark.usefixtures("one")
def test_what_a_trial_read_and_printed_can_be_taken_home(client: TestClient) -> None:
    assert client.get(f"{ONE}/trials/1/output.txt").text.startswith("WR01C2R4")
    assert client.get(f"{ONE}/trials/1/errors.txt").text == "a rank spoke\\udce9\n"
    assert client.get(f"{ONE}/trials/1/HPL.dat").text.startswith("HPLinpack benchmark input file")


@pytest.mark.usefixtures("one")
def test_what_a_trial_does_not_have_is_a_sentence(client: TestClient) -> None:
    running, without = client.get(f"{ONE}/trials/3/output.txt"), client.get(f"{ONE}/trials/2/HPL.dat")
    assert (running.status_code, without.status_code) == (409, 409)
    assert running.json()["detail"] == "Trial 3 of campaign one is at work: what it prints is stored when it has ended."
    assert without.json()["detail"] == "Trial 2 of campaign one has no HPL.dat: not all of its parameters are known."


@pytest.mark.usefixtures("one")
def test_the_command_of_the_best_runs_beside_its_hpl_dat(client: TestClient) -> None:
    answer = client.get(f"{ONE}/command.sh")
    assert answer.text.startswith("#!/bin/sh\n# Best of study one, trial 1. ")
    assert "command.sh" in answer.headers["content-disposition"]
    ended = answer.text.replace("mpirun -np 2 xhpl", "echo rate; echo 'hpltune-rank {}' >&2; echo wrong >&2; (exit 3)")
    done = subprocess.run(["sh", "-c", ended], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "rate\n", "wrong\n")


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("mpirun -np 2 -x HPLTUNE_SENSORS=sensors -x OMP_NUM_THREADS=1 xhpl", "mpirun -np 2 -x OMP_NUM_THREADS=1 xhpl"),
        ("mpiexec -n 2 -genv HPLTUNE_SENSORS sensors xhpl", "mpiexec -n 2 xhpl"),
        ("srun /usr/bin/env HPLTUNE_SENSORS=sensors xhpl", "srun /usr/bin/env xhpl"),
    ],
)
def test_the_command_of_the_best_watches_nothing(client: TestClient, store: Store, command: str, left: str) -> None:
    keep(store, a_study("one"), [finished(1, 75.0, "one", command=command)])
    assert client.get(f"{ONE}/command.sh").text.splitlines()[5] == left


def test_a_simulated_best_has_no_command(client: TestClient, store: Store) -> None:
    keep(store, a_study("one"), [finished(1, 75.0, "one", versions={"simulator": "3.32"})])
    answer = client.get(f"{ONE}/command.sh")
    assert answer.status_code == 409
    assert answer.json()["detail"].endswith("it was simulated, replayed or imported.")


@pytest.mark.heavy
@pytest.mark.usefixtures("one")
def test_trials_come_as_a_table_with_types(client: TestClient) -> None:
    table = pq.read_table(io.BytesIO(client.get(f"{ONE}/trials.parquet").content))
    assert table.column("gflops").to_pylist() == [75.0, None, None]


@pytest.mark.heavy
@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("file", ["trials/1/output.txt", "HPL.dat", "trials.csv", "trials.parquet", "report.html"])
def test_a_file_comes_whole_whatever_range_is_asked_for(client: TestClient, file: str) -> None:
    whole = len(client.get(f"{ONE}/{file}").content)
    for wanted in ("bytes=0-9", "bytes=9-0", "bytes=999999999-", "bytes=-0", "lines=1-2", "bytes=" * 99):
        part = client.get(f"{ONE}/{file}", headers={"Range": wanted})
        assert (part.status_code, part.headers["accept-ranges"]) == (200, "none")
        assert len(part.content) == whole


@pytest.mark.heavy
@pytest.mark.usefixtures("one")
def test_a_browser_opens_the_report_and_saves_the_trials(client: TestClient) -> None:
    how = {file: client.get(f"{ONE}/{file}").headers["content-disposition"] for file in ("report.html", "trials.csv")}
    assert how["report.html"] == "inline; filename*=UTF-8''one.html"
    assert how["trials.csv"].startswith("attachment;")


@pytest.fixture
def several(store: Store) -> None:
    facts: list[dict[str, Any]] = [
        {"space_name": "kronos", "versions": {"simulator": "3.32"}},
        {"space_name": "/home/ana/Mine.toml", "engine": "random"},
        {"engine": "random"},
    ]
    for age, changes in enumerate(facts):
        study = a_study(f"Run-{age}_%", created_at=START - timedelta(days=age), **changes)
        keep(store, study, [finished(1, 70.0, study.name, observed=BlasObservation("/lib/x.so", "", "", None))])
        store.end_study(study.name, "complete")


@pytest.mark.heavy
@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("query", "ages"),
    [
        ("simulated=true", [0]),
        ("simulated=false", [1, 2]),
        ("engine=random", [1, 2]),
        ("space=kronos", [0]),
        ("space=Mine.toml", [1]),
        ("space=ana", []),
        ("name=run-1", [1]),
        ("name=_%25", [0, 1, 2]),
        ("name=un%25", []),
        ("since=2026-02-28T14:00:00%2B02:00", [0, 1]),
        ("engine=random&since=2026-02-28T12:00:00Z&state=complete", [1]),
        ("state=killed", []),
    ],
)
def test_campaigns_are_filtered_by_what_they_are(client: TestClient, query: str, ages: list[int]) -> None:
    page = client.get(f"/api/v1/campaigns?{query}").json()
    assert [one["name"] for one in page["campaigns"]] == [f"Run-{age}_%" for age in ages]


@pytest.mark.usefixtures("several")
def test_a_filter_holds_on_every_page(client: TestClient) -> None:
    first = client.get("/api/v1/campaigns?engine=random&limit=1").json()
    second = client.get("/api/v1/campaigns", params={"engine": "random", "limit": 1, "cursor": first["next_cursor"]})
    assert [one["name"] for one in (*first["campaigns"], *second.json()["campaigns"])] == ["Run-1_%", "Run-2_%"]
    assert second.json()["next_cursor"] is None


@pytest.mark.usefixtures("several")
def test_a_list_tells_of_a_trial_as_soon_as_it_has_ended(client: TestClient, store: Store) -> None:
    def trials() -> int:
        return int(client.get("/api/v1/campaigns/Run-0_%25").json()["trials"])

    assert trials() == 1
    store.finish(finished(store.begin(begun("Run-0_%", "new")), 71.0, "Run-0_%"))
    assert trials() == 2


@pytest.mark.heavy
@pytest.mark.usefixtures("one")
def test_the_page_of_a_failed_trial_and_of_one_at_work_offer_only_what_there_is(client: TestClient) -> None:
    failed, running = client.get("/campaigns/one/trials/2").text, client.get("/campaigns/one/trials/3").text
    assert "no compiler" in failed
    assert "trials/2/HPL.dat" not in failed
    assert "trials/3/output.txt" not in running
    assert "/campaigns/one/trials/4" not in running
