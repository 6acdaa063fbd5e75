"""`hpltune tune --replay` as a user runs it: a table stands in place of a machine, and everything says so."""

import csv
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest
from as_user import HPLTUNE, Run
from record_builders import DISTURBED, QUIET
from waiting import PATIENCE_S, until

from results.record import TrialState
from results.store.store import Store

ROOT = Path(__file__).parents[3]
RATES = {(64, "1x2"): (20.1, 20.3, 20.2), (96, "1x2"): (22.0, 22.4), (128, "1x2"): (24.1, 24.3, 24.2),
         (64, "2x1"): (18.0,), (96, "2x1"): (19.0,), (128, "2x1"): (21.0, 21.2)}  # fmt: skip
BEST = {"NB": 128, "grid": "1x2"}


@pytest.fixture
def table(home: Path) -> str:
    """A table of six configurations; a run takes a minute."""
    rows = [f"10000,{NB},{grid},{rate},60" for (NB, grid), rates in RATES.items() for rate in rates]
    (home / "table.csv").write_text("\n".join(["N,NB,grid,gflops,cost_s", *rows]) + "\n")
    return "table.csv"


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """A user without MPI, compilers and BLAS; the tests themselves need `cat`."""
    (home / "bin").mkdir()
    (home / "bin/cat").symlink_to(str(shutil.which("cat")))
    monkeypatch.setenv("PATH", str(home / "bin"))


def replays() -> list[int]:
    """Living programs that replay a run of this test's user."""
    mine = os.environ["HPLTUNE_DATA"]
    running = psutil.process_iter(["pid", "cmdline", "status", "environ"])
    return [
        process.info["pid"]
        for process in running
        if (process.info["environ"] or {}).get("HPLTUNE_DATA") == mine
        and "replay.json" in (process.info["cmdline"] or [])
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def test_what_disturbed_a_run_of_the_table_disturbed_the_replayed_one(hpltune: Run, home: Path) -> None:
    told: dict[int, Mapping[str, float]] = {
        64: QUIET,
        96: {**QUIET, "foreign_cpu_s": 9.0},
        128: {},
        160: {"solve_s": 33.3},
    }
    with (home / "own.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("N", "NB", "grid", "gflops", "measurements"))
        rows.writerows(
            (10000, NB, "1x2", 21.0 if NB == 128 else 20.0, json.dumps(measured) if measured else "")
            for NB, measured in told.items()
        )
    hpltune.well("tune", "--replay", "own.csv", "--engine", "grid", "--trials", "4", "--study", "own")
    found = {
        row["NB"]: row["conditions"] for row in csv.DictReader(hpltune("export", "csv", "own").stdout.splitlines())
    }
    assert found == {"64": "undisturbed", "96": "disturbed", "128": "not known", "160": "not known"}
    assert {trial["params"]["NB"]: trial["conditions"] for trial in hpltune.told("show", "own")} == {
        int(NB): conditions for NB, conditions in found.items()
    }


def test_a_row_is_played_once_however_often_its_configuration_is_asked_for(hpltune: Run, home: Path) -> None:
    with (home / "own.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("N", "NB", "grid", "gflops", "measurements"))
        for NB, gflops in ((64, 20.1), (96, 20.2), (128, 20.3), (160, 19.0)):
            rows.writerow((10000, NB, "1x2", gflops, json.dumps(QUIET)))
            rows.writerows((10000, NB, "1x2", gflops / 2, json.dumps(DISTURBED)) for _ in range(2))
    done = hpltune.well("tune", "--replay", "own.csv", "--trials", "30", "--repeats", "4", "--study", "own", "--json")
    assert [len(entry["gflops"]) for entry in json.loads(done.stdout)["ranking"]] == [1, 1, 1, 1]
    played = [(row["NB"], row["gflops"]) for row in csv.DictReader(hpltune("export", "csv", "own").stdout.splitlines())]
    assert max(played.count(one) for one in played if float(one[1]) > 15) == 1


def test_the_replayed_runs_of_a_simulator_are_no_machine_s(hpltune: Run, home: Path) -> None:
    (home / "own.csv").write_text("N,NB,grid,gflops,rates\n10000,64,1x2,20.0,simulated\n10000,96,1x2,21.0,simulated\n")
    done = hpltune.well("tune", "--replay", "own.csv", "--trials", "2", "--study", "own")
    assert "That is no Rmax: no machine ran it." in " ".join(done.stdout.split())


def test_a_replayed_run_of_several_nodes_is_judged_by_the_threads_of_each_node(hpltune: Run, home: Path) -> None:
    waited = {"solve_s": 12.0, "cores": 2.0, "cpu_s": 40.0, "waited_s": 8.0}
    with (home / "own.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("N", "NB", "grid", "gflops", "measurements", "hosts"))
        rows.writerows((10000, NB, "2x2", 20.0, json.dumps(waited), hosts) for NB, hosts in ((64, "a,b"), (96, "a")))
    hpltune.well("tune", "--replay", "own.csv", "--engine", "grid", "--trials", "2", "--study", "own")
    told = {row["NB"]: row for row in csv.DictReader(hpltune("export", "csv", "own").stdout.splitlines())}
    assert {NB: (row["hosts"], row["conditions"]) for NB, row in told.items()} == {
        "64": ("a,b", "disturbed"),
        "96": ("a", "not known"),
    }, "four threads on two cores wait for each other"


@pytest.mark.usefixtures("no_programs")
def test_a_study_needs_nothing_of_this_machine_and_finds_the_best_of_the_table(hpltune: Run, table: str) -> None:
    done = hpltune.well("tune", "--replay", table, "--trials", "6", "--engine", "grid", "--json")
    found = json.loads(done.stdout)
    assert found["rates"] == "replayed"
    assert {name: found["ranking"][0]["params"][name] for name in BEST} == BEST
    assert {rate for entry in found["ranking"] for rate in entry["gflops"]} <= {
        rate for rates in RATES.values() for rate in rates
    }
    said = " ".join(done.stderr.split())
    assert "Replayed, nothing is measured: table.csv, 12 runs of 6 configurations. 6 of its 6 configurations" in said
    assert "2 configurations of the table ran once, so that nothing tells how much runs of these differ." in said


def test_a_budget_is_time_of_the_table(hpltune: Run, table: str, home: Path) -> None:
    done = hpltune.well("tune", "--replay", table, "--budget", "5m", "--confirm", "1", "--engine", "random")
    assert "of the table this search would have taken" in done.stdout
    with Store.open(home / "data/hpltune.db") as store:
        costs_s = [record.cost_s or 0.0 for record in store.records("table-1")]
    assert set(costs_s) == {60.0}
    assert 180 <= sum(costs_s) <= 300


def test_a_configuration_is_not_confirmed_by_a_run_that_it_has_told_already(hpltune: Run, home: Path) -> None:
    (home / "table.csv").write_text("N,NB,grid,gflops\n8000,64,1x2,20\n8000,96,1x2,22\n8000,96,1x2,22.2\n")
    done = hpltune("tune", "--replay", "table.csv", "--confirm", "3", "--json")
    first, second = json.loads(done.stdout)["ranking"]
    assert (sorted(first["gflops"]), second["gflops"]) == ([22.0, 22.2], [20.0])


MINE = """N,NB,grid,BCAST,gflops,cost_s
20000,128,2x8,1rM,212.4,29.0
20000,128,2x8,1rM,213.0,29.1
20000,128,4x4,1rM,205.9,29.9
20000,192,2x8,1rM,219.7,28.3
20000,192,2x8,1rM,221.1,28.2
20000,192,4x4,1rM,214.2,29.0
20000,256,2x8,2rM,216.0,28.6
"""
"""The table of docs/replay.md."""


@pytest.mark.parametrize(("budget", "searched"), [("2m", 3), ("4m", 5)])
def test_a_budget_keeps_time_only_for_repeats_that_the_table_has(
    hpltune: Run, home: Path, budget: str, searched: int
) -> None:
    (home / "mine.csv").write_text(MINE)
    done = hpltune("tune", "--replay", "mine.csv", "--budget", budget, "--study", "mine")
    kinds = [trial["kind"] for trial in hpltune.told("show", "mine")]
    assert kinds == ["search"] * searched + ["confirmation"], done.stdout
    assert "Confirmation: the best again, interleaved (" in done.stdout


def test_where_the_table_has_no_repeat_none_is_announced(hpltune: Run, home: Path) -> None:
    rows = [f"20000,{NB},2x8,{200 + NB / 10},29" for NB in (128, 192, 256)]
    (home / "once.csv").write_text("\n".join(["N,NB,grid,gflops,cost_s", *rows]) + "\n")
    done = hpltune("tune", "--replay", "once.csv", "--budget", "90s")
    assert "Search stopped: another run needs 29 s, more than is left." in done.stdout
    assert "Confirmation" not in done.stdout
    assert "--confirm 2 repeats the best where the table has further runs of them" in " ".join(done.stdout.split())


def test_a_search_that_tried_all_says_so(hpltune: Run, table: str) -> None:
    done = hpltune("tune", "--replay", table, "--trials", "9", "--confirm", "0")
    assert "Search stopped: all 6 configurations were tried." in done.stdout
    assert "tries more configurations" not in done.stdout


@pytest.mark.heavy
def test_few_configurations_that_differ_in_everything_explain_nothing(hpltune: Run, home: Path) -> None:
    places = zip((64, 96, 128, 160, 192, 224, 256), ("1x2", "2x1", "2x2", "1x4", "4x1", "3x1", "1x3"), strict=True)
    rows = [f"2000,{NB},{grid},{25 + NB % 7 / 10}" for NB, grid in places]
    (home / "seven.csv").write_text("\n".join(["N,NB,grid,gflops", *rows]) + "\n")
    hpltune("tune", "--replay", "seven.csv", "--engine", "grid", "--study", "seven")
    said = " ".join(hpltune("explain", "seven").stdout.split())
    assert said == (
        "Study seven (replayed), 7 runs: too few configurations to tell the settings apart, for no two of them "
        "differ in one setting alone."
    )
    assert "study seven has nothing to draw effects from" in hpltune("plot", "effects", "seven").stderr
    hpltune("report", "seven", "-o", "page.html")
    assert "too few configurations to tell the settings apart" in (home / "page.html").read_text()


def test_a_stopped_study_goes_on_with_its_table_and_not_with_another(hpltune: Run, table: str, home: Path) -> None:
    hpltune("tune", "--replay", table, "--trials", "2", "--engine", "grid", "--study", "mine")
    done = hpltune.well("tune", "--resume", "--study", "mine", "--trials", "6")
    searched = [trial for trial in hpltune.told("show", "mine") if trial["kind"] == "search"]
    assert len({trial["key"] for trial in searched}) == 6
    (home / table).write_text((home / table).read_text() + "10000,32,1x2,30,60\n")
    done = hpltune("tune", "--resume", "--study", "mine", "--trials", "7")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("table.csv was changed since this study began: put it back, or begin a new study\n")


@pytest.mark.heavy
@pytest.mark.process
def test_the_first_ctrl_c_lets_the_run_end_and_resume_goes_on(home: Path, hpltune: Run, table: str) -> None:
    line = [str(HPLTUNE), "tune", "--replay", table, "--replay-speed", "0.02", "--trials", "4", "--study", "mine"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until((home / "data/runs/mine/00001/stdout").exists)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, stderr
    assert "`hpltune tune --resume --study mine` goes on." in stdout
    assert stdout.count("--resume") == 1, "advice is given once"
    with Store.open(home / "data/hpltune.db") as store:
        assert [record.state for record in store.records("mine")] == [TrialState.COMPLETE]
    assert hpltune("tune", "--resume").returncode == 0


@pytest.mark.heavy
@pytest.mark.process
def test_a_kill_ends_the_run_and_loses_nothing(home: Path, hpltune: Run, table: str) -> None:
    line = [str(HPLTUNE), "tune", "--replay", table, "--replay-speed", "1", "--study", "mine"]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = home / "data/runs/mine/00001/stderr"
    until(lambda: started.exists() and started.read_text())
    assert replays()
    process.kill()
    process.wait()
    until(lambda: not replays())
    assert "killed" in hpltune("show").stdout


@pytest.mark.heavy
def test_everything_says_that_nothing_was_measured(hpltune: Run, table: str, home: Path) -> None:
    for name in ("mine", "other"):
        hpltune("tune", "--replay", table, "--trials", "6", "--engine", "grid", "--study", name, "--confirm", "1")
    assert "│ replayed │" in hpltune("show").stdout
    assert json.loads(hpltune("show", "--json").stdout)[0]["rates"] == "replayed"
    assert "Study mine (complete, replayed)" in hpltune("show", "mine").stdout
    trial = hpltune("show", "mine", "1").stdout
    assert "replay of table.csv: a table told the result" in trial
    assert "not in the table that is replayed" in trial
    assert "Best of study mine (replayed)" in hpltune("best", "mine").stdout
    assert "Study mine, replayed, N = 10,000" in hpltune("export", "md", "mine").stdout
    assert (
        "The run was replayed from a table: only a run on the machine itself"
        in hpltune("export", "sheet", "mine").stdout
    )
    assert "check measures real machines: --baseline mine was replayed" in hpltune("check", "--baseline", "mine").stderr
    hpltune("report", "mine", "-o", "page.html")
    page = (home / "page.html").read_text()
    assert "Replayed, not measured here: a table told every rate on this page, table.csv" in page
    assert "HPL on the table table.csv: study mine (replayed)" in page
    rows = hpltune("export", "csv", "mine").stdout.splitlines()
    columns = dict(zip(rows[0].split(","), rows[1].split(","), strict=True))
    assert (columns["simulated"], columns["rates"], columns["library"]) == ("True", "replayed", "replay of table.csv")
    assert columns["hosts"] == "1 node of the table"
    assert "Study mine (replayed): what matters, from" in hpltune("explain", "mine").stdout
    assert "Study mine (replayed): NB by grid" in hpltune("explain", "mine", "--pair", "NB,grid").stdout
    assert json.loads(hpltune("explain", "mine", "--json").stdout)["rates"] == "replayed"
    for line in (("mine", "other"), ("mine", "--by", "NB")):
        assert "All rates here were replayed: nothing was measured." in hpltune("compare", *line).stdout
    told = json.loads(hpltune("plot", "effects", "mine", "-o", "effects.svg", "--json").stdout)
    assert (told["study"], told["rates"], told["figure"]["title"]) == ("mine", "replayed", "What matters (replayed)")
    assert "What matters (replayed)" in (home / "effects.svg").read_text()
    assert hpltune("show", "mine#1").stdout == hpltune("show", "mine", "1").stdout
    named = "mine#1 is a trial, and this is for a whole study: write mine; `hpltune show mine 1` shows the trial"
    assert hpltune("explain", "mine#1").stderr.startswith(f"hpltune: {named}")
    assert hpltune("export", "dat", "mine#1").stdout == hpltune("export", "dat", "mine", "--trial", "1").stdout != ""


def test_what_was_exported_can_be_replayed(hpltune: Run, table: str, home: Path) -> None:
    hpltune("tune", "--replay", table, "--trials", "6", "--engine", "grid", "--study", "mine")
    (home / "again.csv").write_text(hpltune("export", "csv", "mine").stdout)
    done = hpltune.well("tune", "--replay", "again.csv", "--trials", "6", "--engine", "grid", "--json")
    best = json.loads(done.stdout)["ranking"][0]["params"]
    assert {name: best[name] for name in BEST} == BEST


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--replay", "gone.csv"), "gone.csv: there is no such file"),
        (("--replay-speed", "1"), "--replay-speed is for tables: name one with --replay"),
        (("--replay", "table.csv", "--set", "NB=32"), "NB is 64, 96 and 128 in the table, and 32 in the space"),
        *(
            (("--replay", "table.csv", *option), f"{option[0]} is for machines that run HPL and changes nothing with")
            for option in (
                ("--blas", "openblas"),
                ("--full",),
                ("--cluster", "kronos"),
                ("--jobs", "2"),
                ("--warm-start", "x"),
                ("--memory-fraction", "0.5"),
            )
        ),
    ],
)
def test_what_a_table_cannot_do_is_one_sentence(
    hpltune: Run, table: str, options: tuple[str, ...], sentence: str
) -> None:
    assert table
    done = hpltune("tune", *options)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert sentence in done.stderr


def test_a_machine_slower_than_its_probes_promise_is_told_and_the_caution_stays_with_the_study(
    hpltune: Run, home: Path
) -> None:
    landscape = json.loads((ROOT / "benchmarks/landscapes/two-cores.json").read_text())
    landscape["probes"] = {
        blas: {kernel: 2 * rate for kernel, rate in kernels.items()} for blas, kernels in landscape["probes"].items()
    }
    (home / "slow.json").write_text(json.dumps(landscape))
    done = hpltune.well("tune", "--replay", "slow.json", "--trials", "4", "--confirm", "0")
    told = "this machine is 2.2 times slower than its probes promise (1 of 38 recorded machines was so far off): check "
    assert f"Caution: {told}" in " ".join(done.stdout.split())
    (kept,) = json.loads(hpltune("best", "--json").stdout)["cautions"]
    assert told in kept
