"""Network settings as parameters of a study: real HPL on hosts whose kernels really change."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from as_user import HPLTUNE, Run
from net_lab import HostsLab
from on_head import OnHead, on_head
from waiting import PATIENCE_S, until

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


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(2, mtu=6000)


@pytest.fixture
def tune(lab: HostsLab, home: Path) -> list[str]:
    """The arguments of hpltune for a study on both hosts, as a user of the first types them."""
    keys = {"name": "lab", "backend": "ssh", "hosts": lab.names, "ssh": lab.ssh, "interfaces": ["eth0"]}
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items())
    (home / "lab.toml").write_text(text + "[node]\nmemory_gib = 1\n")
    (home / "net.toml").write_text(SPACE)
    return ["tune", "--cluster", "lab.toml", *OPTIONS]


@contextmanager
def at_work(lab: HostsLab, home: Path, arguments: Sequence[str]) -> "Iterator[subprocess.Popen[str]]":
    """The installed program at work on the first host; killed where a test fails."""
    line, pipe = [*lab.enter("h1"), str(HPLTUNE), *arguments], subprocess.PIPE
    with subprocess.Popen(line, cwd=home, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def mtus(lab: HostsLab) -> list[int]:
    return [int(lab.run(host, "cat", "/sys/class/net/eth0/mtu")) for host in lab.names]


def test_each_trial_runs_under_its_mtu_and_what_the_switch_drops_is_a_recorded_outcome(
    tune: list[str], lab: HostsLab, head: OnHead, hpltune: Run
) -> None:
    head.well(*tune, "--study", "mtu")
    trials = hpltune.told("show", "mtu")
    found = {trial["params"]["net.mtu"]: trial for trial in trials if trial["kind"] == "search"}
    assert found[3000]["state"] == "complete"
    assert "btl_tcp_if_include eth0" in found[3000]["command"]
    assert (found[9000]["state"], found[9000]["invalidity"]) == ("failed", "constraints")
    assert "net.mtu = 9000: packets of that size do not get from" in found[9000]["reason"]
    assert mtus(lab) == [1500, 1500]


def test_a_node_that_is_lost_while_the_network_is_timed_is_taken_out_and_no_value_is_refused(
    hosts: HostsLab, home: Path, hpltune: Run
) -> None:
    lab = hosts.wired(3, mtu=6000)
    (home / "three.toml").write_text(lab.cluster(check_s=1, return_s=2) + "[node]\nmemory_gib = 1\n")
    (home / "net.toml").write_text(SPACE.replace('layout = "2x1"\ngrid = "1x2"\n', "").replace("9000", "1500"))
    with lab.cut_off("h3", home / "data/runs/lost/ping-pong/stdout"):
        done = on_head(lab, home)("tune", "--cluster", "three.toml", *OPTIONS, "--study", "lost")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Node h3 is taken out; the study goes on with the 2 left." in " ".join(done.stdout.split())
    trials = hpltune.told("show", "lost")
    ran = {
        (trial["params"]["net.mtu"], *trial["hosts"], trial["state"]) for trial in trials if trial["kind"] == "search"
    }
    assert ran == {(1500, "h1", "h2", "complete"), (3000, "h1", "h2", "complete")}


def tsos(lab: HostsLab) -> list[str]:
    shown = [lab.run(host, "ethtool", "-k", "eth0") for host in lab.names]
    return [next(line.split()[1] for line in text.splitlines() if line.startswith("tcp-seg")) for text in shown]


def wait_for(lab: HostsLab, tso: str) -> None:
    until(lambda: tsos(lab) == [tso] * 2)


def test_a_value_that_the_switch_drops_is_tried_once_also_after_resuming(
    tune: list[str], lab: HostsLab, head: OnHead, hpltune: Run
) -> None:
    first = head.well(*tune, "--study", "once", "--set", "NB=32,64,96", "--set", "net.mtu=9000,3000", "--trials", "3")
    said = (
        "net.mtu = 9000 with net.interface = eth0 cannot be had on these nodes: the search leaves it out from now on."
    )
    assert " ".join(first.stdout.split()).count(said) == 1
    head.well("tune", "--resume", "--study", "once", "--trials", "9")
    trials = [trial for trial in hpltune.told("show", "once") if trial["kind"] == "search"]
    assert len([trial for trial in trials if trial["params"]["net.mtu"] == 9000]) == 1
    complete = {trial["params"]["NB"] for trial in trials if trial["state"] == "complete"}
    assert complete == {32, 64, 96}
    assert mtus(lab) == [1500, 1500]


@pytest.mark.parametrize(("values", "of_trials"), [("1500,3000", ["cancelled", "failed"]), ("3000,1500", [])])
def test_a_value_that_lets_nodes_start_anew_is_blamed_once_and_no_node_is_taken_out(
    tune: list[str], lab: HostsLab, head: OnHead, hpltune: Run, values: str, of_trials: list[str]
) -> None:
    """A host that is given MTU 3000 has another boot afterwards: each time the other host."""
    boots = lab.folder / "boots"
    boots.write_text("")
    name = f"h$(($(wc -c <{boots}) % 4 / 2 + 1))"
    ip = f'#!/bin/sh\ncase "$*" in *"mtu 3000") [ "$(hostname)" = {name} ] && printf xx >>{boots}; exit;; esac\n'
    told = f'[ "$(hostname)" = h1 ] && n=$(($(wc -c <{boots}) / 4)) || n=$((($(wc -c <{boots}) + 2) / 4))'
    boot = 'printf "6f1d1b0e-7f0a-4a57-8c39-9a2f5a0c7d%02d\\n" $n'
    head_of = f'#!/bin/sh\ncase "$*" in *boot_id) {told}; {boot}; exit;; esac\n'
    with lab.planted("ip", ip + 'exec /sbin/ip "$@"\n'), lab.planted("head", head_of + 'exec /usr/bin/head "$@"\n'):
        done = head(*tune, "--study", "anew", "--set", "NB=32,64,96", "--set", f"net.mtu={values}")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0, said + done.stderr
    assert said.count("2 launches with net.mtu = 3000 with net.interface = eth0 lost a node, and no run with it") == 1
    assert "taken out" not in said
    trials = [trial for trial in json.loads(hpltune("show", "anew", "--json").stdout) if trial["kind"] == "search"]
    assert [trial["state"] for trial in trials if trial["params"]["net.mtu"] == 3000] == of_trials
    assert {trial["params"]["NB"] for trial in trials if trial["state"] == "complete"} == {32, 64, 96}


@pytest.mark.process
def test_two_databases_do_not_change_one_network_and_leave_it_as_it_was(
    tune: list[str], lab: HostsLab, home: Path, head: OnHead
) -> None:
    only = ("--set", "net.mtu=1500", "--set", "N=6000")
    first = [*tune, *only, "--set", "net.tso=off", "--study", "a", "--db", "a.db"]
    with at_work(lab, home, first) as killed:
        wait_for(lab, "off")
        refused = head(*tune, *only, "--set", "net.tso=on", "--study", "b", "--db", "b.db")
    assert refused.returncode == 1
    sentence = f"its network is in use by study a of root, process {killed.pid} on h1, which has changed "
    assert sentence in " ".join(refused.stderr.split())
    assert "wait until that has ended, or end it" in " ".join(refused.stderr.split())
    assert tsos(lab) == ["off", "off"]
    way = ("--hosts", "h1,h2", "--ssh", " ".join(lab.ssh), "--db", "b.db")
    done = head.well("net", "restore", *way)
    assert "Put back on h2: " in done.stdout
    assert tsos(lab) == ["on", "on"]
    assert [lab.notes(host) for host in lab.names] == [[], []]


@pytest.mark.process
def test_a_hand_that_changes_a_setting_is_said_and_the_run_repeated(
    tune: list[str], lab: HostsLab, home: Path, hpltune: Run
) -> None:
    asked = ("--set", "net.mtu=1500", "--set", "net.tso=off", "--set", "N=3000", "--set", "NB=64,96", "--study", "hand")
    with at_work(lab, home, [*tune, *asked]) as study:
        until(lambda: any("64           NBs" in file.read_text() for file in (home / "data/runs").glob("*/*/HPL.dat")))
        lab.run("h2", "ethtool", "-K", "eth0", "tso", "on")
        said = " ".join(study.communicate(timeout=PATIENCE_S)[0].split())
    assert study.returncode == 0, said
    assert "node h2: eth0: net.tso is on, though it was set to off: somebody else changed it" in said, said
    trials = hpltune.told("show", "hand")
    complete = [trial["params"] for trial in trials if trial["state"] == "complete" and trial["kind"] == "search"]
    assert list(dict.fromkeys((params["NB"], params["net.tso"]) for params in complete)) == [(64, "off"), (96, "off")]
    assert [trial["params"]["NB"] for trial in trials if trial["state"] == "cancelled"] == [64]
    assert tsos(lab) == ["on", "on"]


def test_an_interface_that_a_node_lacks_is_found_before_any_work(tune: list[str], home: Path, head: OnHead) -> None:
    text = SPACE.replace("net.mtu = [3000, 9000]\n", "").replace('"eth0"', '["eth0", "eth0+eth1"]')
    (home / "net.toml").write_text(text)
    done = head(*tune, "--study", "nic")
    assert done.returncode == 1
    assert "node h1 has no interface eth1 (it has lo, eth0)" in done.stderr
    assert "Trial" not in done.stdout
    assert not list((home / "data").glob("runs/nic*"))


@pytest.mark.process
def test_what_a_killed_study_left_changed_is_put_back_when_the_next_one_starts(
    tune: list[str], lab: HostsLab, home: Path, head: OnHead
) -> None:
    asked = ("--set", "net.mtu=3000", "--study", "killed", "--set", "N=6000")
    with at_work(lab, home, [*tune, *asked]):
        until(lambda: mtus(lab) == [3000, 3000])
        time.sleep(2.0)
    assert mtus(lab) == [3000, 3000]
    done = head(*tune, "--study", "next", "--set", "net.interface=eth7")
    assert "Put back on h1: eth0 mtu = 1500." in done.stdout
    assert done.returncode == 1
    assert "node h1 has no interface eth7" in done.stderr
    assert mtus(lab) == [1500, 1500]


def test_this_machine_alone_has_no_network_to_tune(hpltune: Run) -> None:
    assert "net.tso: all ranks run on this machine and speak through its memory" in hpltune.refused(
        "tune", "--blas", "openblas", "--set", "net.tso=on,off", "--budget", "1m", "--study", "alone"
    )
