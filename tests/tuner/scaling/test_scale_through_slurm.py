"""`hpltune scale` on nodes that a real Slurm gives: held in one job, reached by its steps, and given back."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from as_user import HPLTUNE, Run, program
from slurm_lab import SlurmLab
from waiting import PATIENCE_S, until

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
ASKED = ("--blas", "openblas", "--nb", "64", "--binding", "none", "--weak", "--repeats", "1", "--study", "mine")


NAMED = """\
#!/bin/sh
all="$*"
options=
while [ "${{1#--}}" != "$1" ]; do
    case $1 in --nodelist=*) node=${{1#*=}} ;; esac
    options="$options $1"
    shift
done
[ -n "$node" ] || exec {srun} $all
exec {srun} $options unshare --uts sh -c 'hostname "$0"; exec "$@"' "$node" "$@"
"""
"""An srun that gives each node a name of its own, as machines of their own have."""


@pytest.fixture
def cluster(home: Path, slurm: SlurmLab, monkeypatch: pytest.MonkeyPatch) -> str:
    (home / "bin").mkdir()
    program(home / "bin/srun", NAMED.format(srun=shutil.which("srun")))
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")
    file = home / "cluster.toml"
    file.write_text(slurm.cluster("cores = 1\nmemory_gib = 1\n", nodes=2, exclusive=False, time_limit_s=600))
    return str(file)


def running_in(folder: Path) -> list[str]:
    """The names of the processes that work in a folder or below."""
    processes = (process.info for process in psutil.process_iter(["name", "cwd"]))
    return [found["name"] for found in processes if str(found["cwd"]).startswith(str(folder))]


def test_runs_on_some_of_the_nodes_in_a_chosen_order_and_gives_them_back(
    hpltune: Run, home: Path, slurm: SlurmLab, cluster: str
) -> None:
    done = hpltune.well("scale", "--cluster", cluster, *ASKED, "--n", "500", "--json")
    rows = [(row["order"], row["count"], len(row["gflops"])) for row in json.loads(done.stdout)["results"]]
    assert rows == [("sorted", 1, 1), ("sorted", 2, 1), ("shuffled", 1, 1), ("shuffled", 2, 1)]
    assert "holds 2 nodes: n[1-2]." in done.stderr
    trials = hpltune.told("show", "mine")
    on = {trial["params"]["scale.nodes"] for trial in trials if trial["params"]["scale.order"] == "sorted"}
    assert on == {"n1", "n1,n2"}
    until(lambda: slurm.jobs() == [], "the end of all jobs: Slurm cleans up after them for some time")
    assert not list((home / "data").glob("tmp*")), "what took the place of ssh is removed"


@pytest.mark.process
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_who_is_stopped_in_a_run_gives_the_nodes_back_and_leaves_no_run(
    slurm: SlurmLab, cluster: str, home: Path, how: signal.Signals
) -> None:
    asked = [str(HPLTUNE), "scale", "--cluster", cluster, *ASKED, "--n", "9000"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=home) as scale:
        until(lambda: scale.poll() is not None or "xhpl" in running_in(home / "data/runs"))
        scale.send_signal(how)
        if how is signal.SIGINT:
            scale.send_signal(how)
        said, _ = scale.communicate(timeout=PATIENCE_S)
    assert scale.returncode == (130 if how is signal.SIGINT else -9), said
    until(lambda: slurm.jobs() == [])
    until(lambda: running_in(home / "data/runs") == [])


def test_more_time_than_slurm_gives_is_refused(hpltune: Run, slurm: SlurmLab, cluster: str) -> None:
    assert (
        "--time 1 h 00 min: Slurm gives the nodes for 10 min: lower it, or raise time_limit_s under [slurm]"
        in hpltune.refused("scale", "--cluster", cluster, *ASKED, "--time", "1h")
    )
    until(lambda: slurm.jobs() == [], "the end of all jobs: Slurm cleans up after them for some time")
