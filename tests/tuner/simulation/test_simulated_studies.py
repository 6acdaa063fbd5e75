"""Virtual clusters as a user meets them in commands: HPL's own source under SimGrid."""

import json
import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from as_user import HPLTUNE, Run, program
from waiting import PATIENCE_S, heard, until

from hpl.build.simgrid import SimGrid
from runners.virtual.load import cluster_text, load_cluster
from tuner.simulation.reproduction import published

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("simgrid")]
SMALL = ("--cluster", "kronos", "--space", "kronos-free", "--set", "N=2000", "--set", "NB=64,128", "--trials", "6")


def test_without_simgrid_build_makes_the_others_and_says_how_to_get_it(
    hpltune: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hpl.build.simgrid.simgrid_here", lambda _: None)
    done = hpltune.well("build", "--blas", "openblas")
    assert "hpltune setup --with simgrid" in done.stdout
    assert "hpltune setup --with simgrid" in hpltune.refused("tune", "--cluster", "kronos", "--space", "quick", code=1)
    assert "hpltune setup --with simgrid" in json.loads(hpltune("doctor", "--json").stdout)["found"]["SimGrid"]


def test_the_doctor_tells_which_simgrid_there_is(hpltune: Run, simgrid: SimGrid) -> None:
    assert json.loads(hpltune("doctor", "--json").stdout)["found"]["SimGrid"].startswith(simgrid.version)


def test_a_study_on_a_virtual_cluster_is_a_study(hpltune: Run) -> None:
    best = hpltune.told("tune", *SMALL, "--study", "sim")
    assert best["ranking"][0]["percent_of_peak"] < 100
    assert best["ranking"][0]["usd_per_gflops"] > 0
    found = hpltune.told("show", "sim")
    assert len(found) == 6
    assert all(trial["simulated"] and trial["passed"] is None for trial in found)
    assert all(trial["library"].startswith("SimGrid") for trial in found)
    assert "16.0         threshold" in Path(best["hpl_dat"]).read_text()
    assert "simulated" in hpltune("best", "sim").stdout
    assert hpltune("best", "--study", "sim").stdout == hpltune("best", "sim").stdout


def test_the_study_does_not_depend_on_which_simulation_was_faster(hpltune: Run) -> None:
    first, second = (json.loads(hpltune("tune", *SMALL, "--confirm", "0", "--json").stdout) for _ in range(2))
    assert first["ranking"] == second["ranking"]


def test_the_budget_is_in_virtual_time(hpltune: Run) -> None:
    large = ("--cluster", "kronos", "--space", "kronos-free", "--set", "N=4000", "--set", "NB=64,128")
    hpltune.well("tune", *large, "--budget", "10s", "--study", "short")
    spent = sum(trial["cost_s"] for trial in hpltune.told("show", "short"))
    assert 3 < spent < 14


def test_a_simulated_study_goes_on_after_it_was_stopped(hpltune: Run) -> None:
    hpltune("tune", *SMALL, "--study", "on")
    for limit in ((), ("--trials", "5")):
        done = hpltune.well("tune", "--resume", *limit)
        assert done.stdout.startswith("Study on is complete, with 6 trials of its search, so nothing was run (space ")
        assert "`hpltune tune --resume --study on --trials 12`" in done.stdout
    assert json.loads(hpltune("tune", "--resume", "--json").stdout)["study"] == "on"
    assert len(hpltune.told("show", "on")) == 6
    hpltune.well("tune", "--resume", "--study", "on", "--trials", "8")
    assert len(hpltune.told("show", "on")) == 8


def test_small_runs_are_simulated_only_where_machine_time_is_short(hpltune: Run) -> None:
    free = ("--cluster", "kronos", "--space", "kronos", "--confirm", "0", "--jobs", "1")
    for name, limit in (("counted", ("--trials", "2")), ("timed", ("--trials", "30", "--run-time", "8m"))):
        hpltune.well("tune", *free, *limit, "--study", name)
    counted, timed = (hpltune.told("show", name) for name in ("counted", "timed"))
    assert {trial["kind"] for trial in counted} == {"search"}
    assert "small" in {trial["kind"] for trial in timed}


def test_a_study_is_told_in_the_terms_of_its_objective_and_of_its_budget(hpltune: Run) -> None:
    fixed = ("layout=8x1,1x1", "N=2000", "NB=128", "DEPTH=0", "blas=atlas", "grid=1x8,1x1")
    few = ("--space", "quick", *(word for wish in fixed for word in ("--set", wish)))
    wish = ("--objective", "usd-per-gflops", "--budget", "0.01usd", "--engine", "grid")
    done = hpltune.well("tune", "--cluster", "kronos", *few, *wish, "--study", "cheap")
    head = "Study cheap: space quick, engine grid, objective usd-per-gflops, $0.01 = 2 min 02 s of wall time\n"
    assert head in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert [re.findall(r" best (\S+) \$/GFLOPS  \$0.00\d\d left$", line) for line in lines] == [["575.3"], ["171.7"]]
    assert "of HPL runs, about $0.00" in done.stdout
    assert "Best of study cheap (simulated) by $/GFLOPS" in done.stdout


@pytest.mark.parametrize("noise", ["", "[noise]\nruns = 0.02\n"])
def test_a_configuration_is_simulated_again_only_where_it_comes_out_differently(
    hpltune: Run, home: Path, noise: str
) -> None:
    (home / "mine.toml").write_text(cluster_text("kronos")[1] + noise)
    fixed = ("N=2000", "NB=96", "grid=2x4", "BCAST=1rg,1rM", "DEPTH=1", "blas=atlas", "net.mtu=9000", "net.rx_usecs=0")
    few = ("--cluster", "mine.toml", "--space", "kronos-free", *(word for wish in fixed for word in ("--set", wish)))
    limits = ("--run-time", "1h", "--trials", "40", "--confirm", "0", "--jobs", "1")
    hpltune.well("tune", *few, *limits, "--study", "few")
    found = hpltune.told("show", "few")
    full = [(trial["key"], trial["gflops"]) for trial in found if trial["kind"] == "search"]
    assert len(set(full)) == len(full), "no run comes out as another did"
    assert (len({key for key, _ in full}) < len(full)) is bool(noise)


def test_what_takes_no_simulated_time_is_searched_only_where_it_is_asked_for(hpltune: Run, home: Path) -> None:
    (home / "mine.toml").write_text(
        '[parameters]\nN = 1000\nNB = 64\nlayout = "8x1"\ngrid = "2x4"\nDEPTH = [0, 1]\nalignment = [4, 8, 16]\n'
    )
    few = ("--cluster", "kronos", "--space", "mine.toml", "--set", "blas=atlas", "--confirm", "0")
    for name, asked in (("usual", ()), ("asked", ("--set", "alignment=8,16"))):
        hpltune.well("tune", *few, *asked, "--study", name)
    found = {name: hpltune.told("show", name) for name in ("usual", "asked")}
    assert [sorted({trial["alignment"] for trial in trials}) for trials in found.values()] == [[8], [8, 16]]
    assert [len(trials) for trials in found.values()] == [2, 4]


def test_a_study_whose_simulations_all_fail_ends(
    hpltune: Run, home: Path, simgrid: SimGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = home / "bin"
    tools.mkdir()
    failing = program(tools / "smpimain", "#!/bin/sh\necho out of order >&2\nexit 1\n")
    (tools / "smpicc").symlink_to(simgrid.smpicc)
    program(tools / "smpirun", f"#!/bin/sh\nexec {failing}\n")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    done = hpltune("tune", "--cluster", "kronos", "--space", "kronos-free", "--budget", "1h")
    assert done.returncode == 1
    assert "simulations failed, and failures use up no budget" in done.stdout
    assert "no run was valid" in done.stderr
    assert "out of order" in done.stderr


def test_confirming_stays_within_the_budget(hpltune: Run, home: Path) -> None:
    (home / "mine.toml").write_text(cluster_text("kronos")[1] + "[noise]\nruns = 0.02\n")
    noisy = ("--cluster", "mine.toml", "--space", "kronos-free", "--set", "blas=atlas", "--jobs", "1")
    hpltune.well("tune", *noisy, "--set", "N=3000", "--budget", "30s", "--study", "noisy")
    trials = hpltune.told("show", "noisy")
    assert [trial["kind"] for trial in trials].count("confirmation") == 6
    assert sum(trial["cost_s"] for trial in trials) <= 30
    hpltune.well("tune", *noisy, "--set", "N=2000", "--budget", "10s", "--confirm", "4", "--study", "short")
    said = hpltune("tune", "--resume", "--study", "short", "--budget", "6s").stdout
    assert re.search(
        r"The confirmation ends after \d of \d+ runs: another run needs .* s, more than is left\.", said
    ), said


@pytest.mark.process
def test_ctrl_c_leaves_no_simulation_behind(home: Path) -> None:
    slow = ("--cluster", "ethernet16", "--space", "quick", "--set", "N=60000", "--trials", "40", "--study", "stop")
    pipe = subprocess.PIPE
    with subprocess.Popen([str(HPLTUNE), "tune", *slow], cwd=home, stderr=pipe, stdout=pipe, text=True) as process:
        until(running_simulations)
        assert process.stderr is not None
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            heard(process.stderr, "Stopping")
        assert process.wait(timeout=PATIENCE_S) in {130, 1}
        process.communicate()
    assert running_simulations() == []


def running_simulations() -> list[int]:
    mine = os.environ["HPLTUNE_DATA"]
    return [
        process.pid
        for process in psutil.process_iter(["name", "environ", "status"])
        if process.info["name"] == "smpimain"
        and (process.info["environ"] or {}).get("HPLTUNE_DATA") == mine
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


FEW = """
layout = "8x1"
N = 12300
NB = [180, 224]
grid = ["1x8", "2x4"]
blas = "atlas"
BCAST = "1rg"
DEPTH = [0, 1]
SWAP = "mix"
NBMIN = 8
net.mtu = 9000
net.rx_usecs = 0
"""


@pytest.mark.long
def test_reproduce_finds_more_than_the_authors_did(hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among a few of the settings that they could have changed: all of them take minutes."""
    (home / "few.toml").write_text(f'name = "few"\ncluster = "kronos"\n[parameters]{FEW}')
    kronos = replace(published("kronos"), space=str(home / "few.toml"))
    monkeypatch.setattr("tuner.commands.reproduce.published", lambda _: kronos)
    found = hpltune.told("reproduce", "kronos", "--trials", "8")
    assert [row["test"] for row in found["tests"]] == list(range(1, 9))
    assert {row["role"] for row in found["tests"]} == {"fitted", "predicted"}
    assert found["median_error"] <= 0.03
    assert found["search"]["gflops"] > kronos.best["gflops"]
    assert {row["name"] for row in found["search"]["settings"]} >= {"NB", "DEPTH"}
    assert found["search"]["advised_params"]["grid"] == "1x8"


DESIGNS = """
base = "kronos"
[[design]]
name = "as it is"
[[design]]
name = "sixteen"
price_usd = 4600
nodes = { count = 16 }
"""


def test_predict_tells_what_more_nodes_would_give(hpltune: Run, home: Path) -> None:
    (home / "designs.toml").write_text(DESIGNS)
    done = hpltune.well(
        "predict", "designs.toml", "--space", "quick", "--trials", "3", "--plot", "designs.svg", "--json"
    )
    small, large = json.loads(done.stdout)
    assert large["gflops"] > 1.5 * small["gflops"]
    assert large["usd_per_gflops"] == pytest.approx(4600 / large["gflops"])
    assert "<svg" in (home / "designs.svg").read_text()


def test_a_design_that_the_space_does_not_fit_leaves_no_study_behind(hpltune: Run, home: Path) -> None:
    (home / "designs.toml").write_text('base = "kronos"\n[[design]]\nnodes = { count = 4 }\n')
    assert "8x1 needs 8 cores, but there are 4" in hpltune.refused("predict", "designs.toml", "--space", "kronos")
    assert json.loads(hpltune("show", "--json").stdout) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no [[design]] table"),
        ('base = "kronos"\n[[design]]\nnodes = { cuont = 3 }\n', "nodes.0.cuont is not known here"),
        ('base = "kronos"\n[[design]]\nnetwork = "myrinet"\n', "network = myrinet: Kronos has gige, faste"),
        ("[[design]]\n", "say what it is a variant of"),
        ('base = "cronos"\n[[design]]\n', "did you mean kronos?"),
        ('base = "kronos"\n[[design]]\nname="a"\n[[design]]\nname="a"\n', "two designs are called a"),
        ('basis = "kronos"\n[[design]]\n', "basis is not known here"),
        ("base = \n", "designs.toml"),
        ('base = "kronos"\ndesign = [1]\n', "has no [[design]] table"),
        ('base = "torn.toml"\n[[design]]\n', "torn.toml: "),
    ],
)
def test_a_wrong_file_of_designs_is_one_sentence(hpltune: Run, home: Path, text: str, sentence: str) -> None:
    (home / "designs.toml").write_text(text)
    (home / "torn.toml").write_text('name = "torn\n')
    done = hpltune("predict", "designs.toml")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("tune", "--cluster", "cronos"), "did you mean kronos?"),
        (("tune", "--jobs", "2"), "--jobs is for simulations"),
        (("tune", "--budget", "5usd"), "money is for virtual clusters"),
        (("tune", "--cluster", "kronos", "--budget", "soon"), "not a duration"),
        (("tune", "--from-simulation", "none"), "there is no study none"),
        (("reproduce", "earth-simulator"), "there is no published tuning earth-simulator: take kronos"),
        (("predict", "none.toml"), "cannot read none.toml"),
    ],
)
def test_a_mistake_is_one_sentence(hpltune: Run, arguments: tuple[str, ...], sentence: str) -> None:
    done = hpltune(*arguments)
    assert done.returncode == (1 if "there is no study" in sentence else 2), done.stdout
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("real_hpl")
@pytest.mark.long
def test_a_real_study_can_start_from_a_simulated_one(hpltune: Run, home: Path) -> None:
    done = hpltune.well("calibrate", "mine.toml", "--checks", "2", "--rounds", "1")
    assert re.search(r"The model's error (on \d configurations? is|cannot be told)", done.stdout), (
        "as the machine is busy"
    )
    assert load_cluster(str(home / "mine.toml")).cores >= 1
    small = ("--space", "quick", "--set", "N=1000", "--set", "NB=64,128", "--trials", "4")
    assert hpltune("tune", "--cluster", "mine.toml", *small, "--study", "sim").returncode == 0
    best = hpltune.told("best", "sim")["ranking"][0]["params"]
    real = hpltune.well("tune", *small, "--from-simulation", "sim", "--confirm", "0", "--study", "real")
    assert "Warm start from the simulation sim: all configurations are in this space." in real.stdout
    first = next(trial for trial in hpltune.told("show", "real") if trial["kind"] == "search")
    assert (first["params"]["NB"], first["params"]["DEPTH"]) == (best["NB"], best["DEPTH"])
    refused = hpltune("tune", "--from-simulation", "real")
    assert "that study ran on a real machine" in refused.stderr


@pytest.mark.usefixtures("real_hpl")
def test_a_calibrated_model_that_cannot_be_written_is_shown(hpltune: Run, home: Path) -> None:
    (home / "models").mkdir()
    done = hpltune("calibrate", "models", "--checks", "0", "--rounds", "1", "--blas", "openblas")
    assert done.returncode == 1
    assert "cannot write models: Is a directory" in done.stderr
    assert "dgemm_gflops" in done.stdout


@pytest.mark.usefixtures("real_hpl")
def test_a_simulation_of_another_number_of_ranks_says_that_it_is_only_tried_first(hpltune: Run) -> None:
    small = ("--space", "quick", "--set", "N=1000", "--trials", "2", "--confirm", "0")
    assert hpltune("tune", "--cluster", "kronos", *small, "--study", "sim").returncode == 0
    real = hpltune.well("tune", *small, "--from-simulation", "sim", "--study", "real")
    said = " ".join(real.stdout.split())
    assert "The simulation sim and the space quick have no configuration in common. Those nearest" in said


def test_a_budget_smaller_than_one_run_still_ends_with_a_full_one(hpltune: Run) -> None:
    done = hpltune.well("tune", "--cluster", "kronos", "--space", "quick", "--budget", "2s", "--jobs", "2", "--json")
    assert json.loads(done.stdout)["ranking"][0]["median_gflops"] > 0


def test_a_budget_smaller_than_one_run_is_told_and_no_second_one_begins(hpltune: Run) -> None:
    small = ("--cluster", "kronos", "--space", "kronos", "--set", "N=2000")
    done = hpltune.well("tune", *small, "--budget", "0.1s", "--jobs", "2", "--study", "tiny")
    assert "more than the budget (0.1 s of wall time) allows: a search needs --budget" in done.stdout
    assert len(hpltune.told("show", "tiny")) == 1
