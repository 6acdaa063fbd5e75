"""Network settings as parameters of a study: real HPL on hosts whose kernels really change."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from net_lab import HostsLab, hosts_lab

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
SPACE = """[parameters]
N = 800
NB = 64
layout = "2x1"
grid = "1x2"
binding = "none"
net.mtu = [3000, 9000]
net.interface = "eth0"
"""
OPTIONS = ("--space", "net.toml", "--engine", "grid", "--budget", "2m", "--confirm", "0", "--blas", "openblas")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostsLab]:
    with hosts_lab(tmp_path_factory.mktemp("lab")) as up:
        up.switch_mtu(6000)
        yield up


@pytest.fixture
def tune(lab: HostsLab, home: Path) -> list[str]:
    """The tokens of `hpltune tune` on both hosts, as a user of the first types them."""
    keys = {"name": "lab", "backend": "ssh", "hosts": lab.names, "ssh": lab.ssh, "interfaces": ["eth0"]}
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items())
    (home / "lab.toml").write_text(text + "[node]\nmemory_gib = 1\n")
    (home / "net.toml").write_text(SPACE)
    return [*lab.enter("h1"), str(HPLTUNE), "tune", "--cluster", "lab.toml", *OPTIONS]


def mtus(lab: HostsLab) -> list[int]:
    return [int(lab.run(host, "cat", "/sys/class/net/eth0/mtu")) for host in lab.names]


def test_each_trial_runs_under_its_mtu_and_what_the_switch_drops_is_a_recorded_outcome(
    tune: list[str], lab: HostsLab, home: Path, hpltune: Run
) -> None:
    done = subprocess.run([*tune, "--study", "mtu"], capture_output=True, text=True, cwd=home, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    trials = json.loads(hpltune("show", "mtu", "--json").stdout)
    found = {trial["params"]["net.mtu"]: trial for trial in trials if trial["kind"] == "search"}
    assert found[3000]["state"] == "complete"
    assert "btl_tcp_if_include eth0" in found[3000]["command"]
    assert (found[9000]["state"], found[9000]["invalidity"]) == ("failed", "constraints")
    assert "net.mtu = 9000: packets of that size do not get from" in found[9000]["reason"]
    assert mtus(lab) == [1500, 1500]


def test_what_a_killed_study_left_changed_is_put_back_when_the_next_one_starts(
    tune: list[str], lab: HostsLab, home: Path
) -> None:
    asked = ("--set", "net.mtu=3000", "--study", "killed", "--set", "N=6000")
    killed = subprocess.Popen([*tune, *asked], cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while mtus(lab) != [3000, 3000] and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(2.0)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert mtus(lab) == [3000, 3000]
    mistaken = ("--study", "next", "--set", "net.mtu=1500,frog")
    done = subprocess.run([*tune, *mistaken], capture_output=True, text=True, cwd=home, timeout=200, check=False)
    assert "Put back on h1: eth0 mtu = 1500." in done.stdout
    assert done.returncode == 1
    assert "net.mtu = frog: expected a whole number of at least 68" in done.stderr
    assert mtus(lab) == [1500, 1500]


def test_this_machine_alone_has_no_network_to_tune(hpltune: Run) -> None:
    done = hpltune("tune", "--blas", "openblas", "--set", "net.tso=on,off", "--budget", "1m", "--study", "alone")
    assert done.returncode == 1
    assert "net.tso: all ranks run on this machine and speak through its memory" in done.stderr
    assert "Traceback" not in done.stderr
