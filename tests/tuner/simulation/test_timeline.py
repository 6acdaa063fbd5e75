"""What the ranks of simulated runs did, as a user asks for it."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from as_user import Run

from runners.virtual.load import cluster_text

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("simgrid")]
PHASES = ["panel", "broadcast", "row swaps", "update", "rest", "wait"]
POINT = {
    "N": "2000", "NB": "128", "grid": "1x8", "DEPTH": "0", "blas": "atlas", "BCAST": "1rg", "SWAP": "mix", "NBMIN": "4",
    "net.network": "gige", "net.mtu": "1500", "net.rx_usecs": "117",
}  # fmt: skip


def simulated(hpltune: Run, name: str, *more: str, cluster: str = "kronos", **values: str) -> str:
    """A study of the values of one parameter."""
    sets = [word for key, value in {**POINT, **values}.items() for word in ("--set", f"{key}={value}")]
    asked = ("tune", "--cluster", cluster, "--space", "kronos-free", "--engine", "grid", "--study", name)
    hpltune.well(*asked, *sets, *more)
    return name


@pytest.fixture
def study(hpltune: Run) -> str:
    """A study of two grids, trial 1 on 1x8 and trial 2 on 2x4."""
    return simulated(hpltune, "grids", grid="1x8,2x4")


def timeline(hpltune: Run, *asked: str) -> dict[str, Any]:
    done = hpltune.well("plot", "timeline", *asked, "-o", "lanes.svg", "--json")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_the_times_of_each_rank_add_up_to_the_time_of_the_run(hpltune: Run, study: str, home: Path) -> None:
    told = timeline(hpltune, study, "--trial", "1", "--trial", "2", "--trial", "1")
    assert [run["trial"] for run in told["runs"]] == [1, 2], "each once"
    for run in told["runs"]:
        recorded = json.loads(hpltune("show", study, str(run["trial"]), "--json").stdout)
        assert run["time_s"] == pytest.approx(recorded["time_s"], abs=0.006), "with a timeline it takes as long"
        assert len(run["ranks"]) == 8
        for rank in run["ranks"]:
            assert list(rank["seconds"]) == PHASES
            assert sum(rank["seconds"].values()) == pytest.approx(run["time_s"], rel=1e-6)
            assert rank["seconds"]["update"] > 0
    figure = told["figure"]
    assert figure["kinds"] == PHASES
    assert [len(group["lanes"]) for group in figure["groups"]] == [8, 8]
    for group in figure["groups"]:
        for lane in group["lanes"]:
            ends = [(span["begin"], span["end"]) for span in lane["spans"]]
            assert all(begin < end for begin, end in ends)
            assert all(before[1] == pytest.approx(after[0], abs=1e-5) for before, after in pairwise(ends))
            assert all(sum(span["parts"]) == pytest.approx(1.0) for span in lane["spans"])
    assert "Trial 2 takes" in figure["caption"]
    assert (home / "lanes.svg").stat().st_size < 400_000


def test_on_one_row_the_panel_travels_and_nobody_waits_in_a_pivot(hpltune: Run, study: str) -> None:
    figure = timeline(hpltune, study, "--trial", "1", "--steps", "1-8")["figure"]
    first_panel = [
        min(span["begin"] for span in lane["spans"] if span["parts"][0] > 0) for lane in figure["groups"][0]["lanes"]
    ]
    assert first_panel == sorted(first_panel), "rank after rank factors a panel"
    assert [lane["name"] for lane in figure["groups"][0]["lanes"]] == [f"n{column} (0,{column})" for column in range(8)]
    assert "steps 1 to 8 of 16" in figure["title"]
    assert "Mean of 8 ranks over the whole run: " in figure["caption"]


def test_look_ahead_is_less_waiting_in_the_same_run_with_it(hpltune: Run) -> None:
    runs = timeline(hpltune, simulated(hpltune, "ahead", DEPTH="0,1"), "--trial", "1", "--trial", "2")["runs"]
    assert runs[1]["mean_seconds"]["wait"] < runs[0]["mean_seconds"]["wait"]
    assert runs[1]["mean_seconds"]["panel"] == pytest.approx(runs[0]["mean_seconds"]["panel"], rel=0.02)


def test_the_phases_are_those_that_hpl_timed_itself(hpltune: Run, study: str) -> None:
    timed = hpltune.told("show", study, "1")["phases_s"]
    [run] = timeline(hpltune, study, "--trial", "1")["runs"]
    most = {phase: max(rank["seconds"][phase] for rank in run["ranks"]) for phase in PHASES}
    assert most["panel"] == pytest.approx(timed["rfact"], abs=0.006)
    assert most["row swaps"] == pytest.approx(timed["laswp"], abs=0.006)
    assert most["update"] + most["row swaps"] >= timed["update"] - 0.006


def test_a_run_with_noise_is_the_same_run_again(hpltune: Run, home: Path) -> None:
    noisy = home / "noisy.toml"
    noisy.write_text(f"{cluster_text('kronos')[1]}\n[noise]\nruns = 0.02\njitter = 0.05\nseed = 1\n")
    simulated(hpltune, "noisy", "--repeats", "2", "--confirm", "1", cluster=str(noisy))
    trials = hpltune.told("show", "noisy")
    numbers = [word for trial in trials for word in ("--trial", str(trial["number"]))]
    told = [run["time_s"] for run in timeline(hpltune, "noisy", *numbers)["runs"]]
    assert len({trial["time_s"] for trial in trials}) > 1
    assert told == [pytest.approx(trial["time_s"], abs=0.006) for trial in trials]


def test_the_pages_of_the_study_and_of_its_trials_show_it(hpltune: Run, study: str, home: Path) -> None:
    assert hpltune("report", study, "-o", "report.html").returncode == 0
    assert "What each rank did in trial" in (home / "report.html").read_text()
    assert hpltune("show", study, "1", "--html", "trial.html").returncode == 0
    assert "What each rank did in trial 1" in (home / "trial.html").read_text()
    kinds = {kind["kind"]: kind["can_be_drawn"] for kind in json.loads(hpltune("plot", study, "--json").stdout)}
    assert kinds["timeline"]


def test_of_many_ranks_some_from_every_column_are_shown_and_the_sums_are_over_all(hpltune: Run) -> None:
    sets = ("--set", "N=2560", "--set", "NB=128", "--set", "layout=64x1", "--set", "grid=4x16", "--set", "DEPTH=0")
    asked = ("tune", "--cluster", "infiniband64", "--space", "quick", "--engine", "random", "--trials", "1")
    hpltune.well(*asked, *sets, "--study", "many")
    told = timeline(hpltune, "many")
    [run] = told["runs"]
    assert len(run["ranks"]) == 64
    for rank in run["ranks"]:
        assert sum(rank["seconds"].values()) == pytest.approx(run["time_s"], rel=1e-6)
    [group] = told["figure"]["groups"]
    assert len(group["lanes"]) == 32
    assert {lane["name"].rpartition(",")[2] for lane in group["lanes"]} == {f"{column})" for column in range(16)}
    assert "32 of 64 ranks are shown" in told["figure"]["caption"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--steps", "6-1"), "--steps 6-1: expected the first and the last step from 1, for example 1-6"),
        (("--steps", "40-50"), "--steps 40-50: trial 1 has 16 steps"),
        (("--trial", "7"), "7"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(hpltune: Run, study: str, asked: tuple[str, ...], said: str) -> None:
    trial = () if "--trial" in asked else ("--trial", "1")
    done = hpltune("plot", "timeline", study, *trial, *asked)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr
