"""`hpltune nodes check` on nodes of a real Slurm: they are held, checked by steps, and given back."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from slurm_lab import SlurmLab
from waiting import PATIENCE_S, until

from runners.batch.slurm.system import Slurm


@pytest.fixture
def cluster(home: Path, slurm: SlurmLab) -> str:
    file = home / "cluster.toml"
    file.write_text(slurm.cluster())
    return str(file)


def test_all_nodes_of_a_partition_are_measured_and_given_back(hpltune: Run, slurm: SlurmLab, cluster: str) -> None:
    done = hpltune("nodes", "check", "--cluster", cluster, "--benchmark", "pairs", "--json")
    told = json.loads(done.stdout)
    assert (told["nodes"], told["out"]) == (2, []), told["findings"]
    assert "sorted, 1 pair, one at a time" in done.stderr
    assert not [finding for finding in told["findings"] if finding["what"] == "no-messages"]
    until(lambda: slurm.jobs() == [])


def test_a_drained_node_is_out_with_the_reason_that_slurm_knows(hpltune: Run, slurm: SlurmLab, cluster: str) -> None:
    with slurm.drained("n2", "bad disk"):
        done = hpltune("nodes", "check", "--cluster", cluster, "--facts")
    assert done.returncode == 1
    assert "n2 is out: Slurm says that it is drained (bad disk)." in done.stdout
    until(lambda: slurm.jobs() == [])


def test_a_partition_that_is_down_is_one_sentence(hpltune: Run, slurm: SlurmLab, cluster: str) -> None:
    Path(cluster).write_text(Path(cluster).read_text().replace("main", "shut"))
    assert "partition shut is down and starts no jobs" in hpltune.refused(
        "nodes", "check", "--cluster", cluster, "--facts", code=1
    )
    until(lambda: slurm.jobs() == [])


@pytest.mark.process
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_who_stops_the_wait_for_nodes_leaves_no_job(slurm: SlurmLab, cluster: str, how: signal.Signals) -> None:
    with slurm.taken() as busy:
        until(lambda: slurm.jobs() == [f"{busy} RUNNING"])
        asked = ("nodes", "check", "--cluster", cluster, "--facts")
        with subprocess.Popen([HPLTUNE, *asked], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as waiting:
            until(lambda: any("PENDING" in job for job in slurm.jobs()))
            waiting.send_signal(how)
            code = waiting.wait(PATIENCE_S)
        assert code == (-9 if how is signal.SIGKILL else 128 + how)
        until(lambda: slurm.jobs() == [f"{busy} RUNNING"])
    until(lambda: slurm.jobs() == [])


@pytest.mark.process
def test_a_check_that_is_killed_gives_its_nodes_back(slurm: SlurmLab, cluster: str) -> None:
    asked = ("nodes", "check", "--cluster", cluster, "--benchmark", "pairs")
    with subprocess.Popen([HPLTUNE, *asked], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as check:
        until(lambda: any("RUNNING" in job for job in slurm.jobs()))
        check.kill()
    until(lambda: slurm.jobs() == [])


def test_without_a_topology_no_node_has_a_switch(slurm: SlurmLab, cluster: str) -> None:
    del slurm, cluster
    assert Slurm(nodes=1).switches() == {}
