"""`hpltune` on a cluster behind Slurm: real slurmctld, two real slurmd, real HPL."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from slurm_lab import SlurmLab
from waiting import PATIENCE_S, until

from results.store.store import Store
from runners.virtual.load import load_cluster

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
FAST = ("--blas", "openblas", "--set", "N=800", "--set", "NB=64", "--set", "binding=none", "--engine", "random")


def cluster(home: Path, slurm: SlurmLab, **changed: object) -> str:
    asked = {"nodes": 2, "exclusive": False, "time_limit_s": 1800, **changed}
    file = home / "cluster.toml"
    file.write_text(slurm.cluster("cores = 1\nmemory_gib = 1\n", **asked))
    return str(file)


def test_a_study_runs_with_a_job_for_each_trial_and_gives_its_nodes_back(
    hpltune: Run, home: Path, slurm: SlurmLab
) -> None:
    file = cluster(home, slurm, reuse=False)
    hpltune.well("tune", "--cluster", file, *FAST, "--budget", "2m", "--trials", "2", "--confirm", "0")
    records = hpltune.told("show", "default-1")
    searched = [record for record in records if record["kind"] == "search"]
    assert [record["state"] for record in searched] == ["complete", "complete"]
    assert {record["ranks"] for record in searched} == {2}
    until(lambda: slurm.jobs() == [])


def test_the_nodes_that_slurm_gives_are_calibrated_and_given_back(hpltune: Run, home: Path, slurm: SlurmLab) -> None:
    file = cluster(home, slurm)
    short = ("--checks", "0", "--rounds", "1", "--blas", "openblas", "--binding", "none")
    hpltune.well("calibrate", "model.toml", "--cluster", file, *short)
    assert [(nodes.count, nodes.cores) for nodes in load_cluster(str(home / "model.toml")).nodes] == [(2, 1)]
    until(lambda: slurm.jobs() == [])


def test_node_hours_are_those_of_all_allocations(hpltune: Run, home: Path, slurm: SlurmLab) -> None:
    file = cluster(home, slurm, nodes=1)
    limits = ("--budget", "0.05nh", "--trials", "1", "--confirm", "0")
    done = hpltune.well("tune", "--cluster", file, *FAST, "--parallel", "2", *limits)
    assert "1 min 30 s of wall time" in done.stdout + done.stderr


def test_a_run_that_no_allocation_is_long_enough_for_is_refused_before_the_search(
    hpltune: Run, home: Path, slurm: SlurmLab
) -> None:
    file = cluster(home, slurm, time_limit_s=70)
    assert "an allocation gives 10 s: raise time_limit_s" in hpltune.refused(
        "tune", "--cluster", file, *FAST, "--set", "N=11000", "--trials", "2", code=1
    )
    assert {record["kind"] for record in hpltune.told("show", "default-1")} == {"pilot"}
    until(lambda: slurm.jobs() == [])


def test_a_file_that_is_run_on_a_cluster_has_its_price_and_not_that_of_the_trial_it_is_like(
    hpltune: Run, home: Path, slurm: SlurmLab
) -> None:
    hpltune("dat", "HPL.dat", "--N", "800", "--NB", "64", "--ranks", "2")
    for study, price in (("run-HPL-1", 100), ("run-HPL-2", 30)):
        file = cluster(home, slurm)
        text = Path(file).read_text().replace("[node]", f"[node]\nprice_usd = {price}")
        Path(file).write_text(text)
        like = () if study == "run-HPL-1" else ("--like", "run-HPL-1")
        hpltune.well("run", "HPL.dat", "--cluster", file, "--blas", "openblas", *like)
        with Store.open(home / "data/hpltune.db") as store:
            assert store.study(study).price_usd == 2 * price


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"partition": "nowhere"},
            "there is no partition nowhere: correct partition under [slurm] (there: main, short, ",
        ),
        (
            {"partition": "shut"},
            "is down and starts no jobs: wait until it is up, or choose another (up: main, short, ",
        ),
        (
            {"partition": "short"},
            "time_limit_s = 1800 is more than MaxTime of partition short, 60 s: lower time_limit_s",
        ),
        ({"nodes": 3}, "3 nodes are asked, but partition main has 2 that can run jobs"),
    ],
)
def test_what_slurm_cannot_give_is_one_sentence_of_tune_and_of_doctor(
    hpltune: Run, home: Path, slurm: SlurmLab, changed: dict[str, object], words: str
) -> None:
    file = cluster(home, slurm, **changed)
    said = hpltune.refused("tune", "--cluster", file, *FAST, "--budget", "5m", "--trials", "1", code=1)
    assert words in said
    assert said.count("\n") == 1
    done = hpltune("doctor", "--cluster", file, "--json")
    assert done.returncode == 1
    (sentence,) = json.loads(done.stdout)["missing"]
    assert sentence in said
    until(lambda: slurm.jobs() == [])


def test_the_doctor_tells_partition_time_limit_nodes_and_launchers_of_slurm(
    hpltune: Run, home: Path, slurm: SlurmLab
) -> None:
    file = cluster(home, slurm, partition="short", time_limit_s=60)
    text = Path(file).read_text().replace("time_limit_s = 60\n", "")
    Path(file).write_text(text)
    said = hpltune("doctor", "--cluster", file)
    assert said.returncode == 1, "the first runs do not fit into a minute"
    assert "Partition short: up, MaxTime 1 min.\n" in said.stdout
    assert "Time limit of an allocation: 1 min.\n" in said.stdout, "no more than MaxTime"
    assert "Nodes by state: 2 idle.\n" in said.stdout
    assert '; it is "mpirun".' in said.stdout
    Path(file).write_text(text.replace("short", "main"))
    told = json.loads(hpltune("doctor", "--cluster", file, "--json").stdout)
    assert told["partitions"] == [{"name": "main", "up": True, "max_time_s": None}]
    assert (told["time_limit_s"], told["nodes_by_state"], told["launcher"]) == (14400.0, {"idle": 2}, "mpirun")
    assert "none" in told["mpi_types"]


def test_more_cores_than_the_nodes_of_slurm_have_are_refused(hpltune: Run, home: Path, slurm: SlurmLab) -> None:
    file = cluster(home, slurm)
    Path(file).write_text(Path(file).read_text().replace("cores = 1", "cores = 64"))
    said = hpltune.refused("tune", "--cluster", file, *FAST, "--budget", "5m", "--trials", "1", code=1)
    assert "cores = 64 under [node] of the cluster file, but 0 nodes of partition main have so many" in said
    assert said.count("\n") == 1


def test_nodes_that_do_not_come_within_the_budget_end_the_study_with_a_sentence(
    hpltune: Run, home: Path, slurm: SlurmLab
) -> None:
    file = cluster(home, slurm, exclusive=True)
    with slurm.taken():
        done = hpltune("tune", "--cluster", file, *FAST, "--budget", "4s", "--trials", "1")
    assert done.returncode == 1
    assert re.search(r"it was given up after \d\.\d s in the queue", " ".join(done.stderr.split()))


@pytest.mark.process
def test_waiting_for_nodes_is_told_and_one_ctrl_c_ends_it(hpltune: Run, home: Path, slurm: SlurmLab) -> None:
    file = cluster(home, slurm, exclusive=True)
    tune = (str(HPLTUNE), "tune", "--cluster", file, *FAST, "--budget", "5m", "--trials", "1")
    with slurm.taken() as blocker:
        process = subprocess.Popen(tune, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        waits = next(line for line in process.stdout if " waits: " in line)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=PATIENCE_S)
        assert [line.split()[0] for line in slurm.jobs()] == [blocker]
    assert process.returncode == 130, said + errors
    assert "its nodes are busy or down (Resources), for " in waits
    assert "The run was still waiting for its nodes, so it is cancelled." in said
    (record,) = hpltune.told("show", "default-1")
    assert record["state"] == "cancelled"


def test_a_node_that_slurm_still_believes_in_is_no_fault_of_a_configuration(
    hpltune: Run, home: Path, slurm: SlurmLab
) -> None:
    file = cluster(home, slurm)
    options = ("--budget", "20m", "--trials", "4", "--confirm", "0", "--set", "NB=96,128,160,192")
    tune = (str(HPLTUNE), "tune", "--cluster", file, *FAST, *options)
    process = subprocess.Popen(tune, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    heard, back = [], False
    try:
        for line in process.stdout:
            heard.append(line)
            if line.startswith("#2 "):
                slurm.lose_node("n2")
            if "Node n2 failed: the run is repeated on what Slurm gives." in line and not back:
                back = True
                slurm.start_node("n2")
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        if not back:
            slurm.start_node("n2")
    assert back, "".join(heard)
    assert process.returncode == 0, "".join(heard)
    records = hpltune.told("show", "default-1")
    assert [record["reason"] for record in records if record["state"] == "failed"] == [], "".join(heard)
    assert [record["reason"] for record in records if record["state"] == "cancelled"] != []
    slurm.wait_for_nodes()


def test_what_was_found_is_told_where_a_node_does_not_come_back(hpltune: Run, home: Path, slurm: SlurmLab) -> None:
    file = cluster(home, slurm, queue_limit_s=5)
    options = ("--budget", "20m", "--trials", "4", "--confirm", "0", "--set", "NB=96,128,160,192")
    tune = (str(HPLTUNE), "tune", "--cluster", file, *FAST, *options)
    process = subprocess.Popen(tune, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    heard = []
    try:
        for line in process.stdout:
            heard.append(line)
            if line.startswith("#4 "):  # up to three are pilots, as those that were disturbed run again
                slurm.lose_node("n2")
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        slurm.start_node("n2")
    said = "".join(heard)
    assert process.returncode == 1, said
    assert "Best of study default-1" in said
    assert "`hpltune tune --resume --study default-1" in said
    records = hpltune.told("show", "default-1")
    assert [record["reason"] for record in records if record["state"] == "failed"] == []
    slurm.wait_for_nodes()
