"""Nodes in the search of a real cluster: checked before, dropped, and filled in an order that ranks prove."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from net_lab import HostsLab, hosts_lab
from on_head import OnHead, on_head

from hpl.witness import parse_reports

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
SHORT = ("--blas", "openblas", "--set", "kernel=Haswell", "--set", "N=500", "--set", "NB=64",
         "--set", "binding=none", "--set", "SWAP=long",
         "--confirm", "0", "--budget", "2m", "--engine", "grid")  # fmt: skip
SPEEDS = '[speeds]\nh1 = 40\nh2 = 80\nh3 = 79.5\nh4 = 40.5\n[switches]\nupper = ["h1", "h4"]\nlower = ["h2", "h3"]\n'


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostsLab]:
    with hosts_lab(tmp_path_factory.mktemp("lab"), hosts=4) as up:
        yield up


@pytest.fixture
def hpltune(lab: HostsLab, home: Path) -> OnHead:
    return on_head(lab, home)


def write_cluster(lab: HostsLab, home: Path, more: str = "", hosts: tuple[str, ...] = ("h1", "h2", "h3", "h4")) -> str:
    keys = {"name": "lab", "backend": "ssh", "hosts": hosts, "interfaces": ["eth0"]}
    keys["ssh"] = [*lab.ssh, "-o", "ConnectTimeout=2"]
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items())
    (home / "lab.toml").write_text(f"{text}[node]\nmemory_gib = 1\ncores = 1\n{more}")
    return "lab.toml"


def hosts_of_ranks(hpltune: OnHead, study: str) -> dict[tuple[str, str], list[str]]:
    """The host of each rank, as the ranks themselves report it, by nodes_dropped and rank_order."""
    found = {}
    for trial in json.loads(hpltune("show", study, "--json").stdout):
        if trial["kind"] != "search":
            continue
        assert trial["state"] == "complete", trial["reason"]
        asked = (re.findall(r"nodes_dropped=(\d+)", trial["key"])[0], re.findall(r"rank_order=(\S+)", trial["key"])[0])
        reports = parse_reports((Path(trial["directory"]) / "stderr").read_text())
        found[asked] = [report.host for report in reports]
    return found


def test_ranks_run_on_the_nodes_that_are_left_in_the_order_that_was_asked(
    hpltune: OnHead, lab: HostsLab, home: Path
) -> None:
    cluster = write_cluster(lab, home, SPEEDS)
    orders = "listed,fastest-first,slow-share-column,slow-share-row,by-switch,across-switches"
    nodes = ("--set", "nodes_dropped=0,2", "--set", f"rank_order={orders}", "--set", "grid=2x2,1x2", "--set", "DEPTH=0")
    done = hpltune("tune", "--cluster", cluster, "--space", "quick", *SHORT, *nodes, "--study", "orders")
    assert done.returncode == 0, done.stdout + done.stderr
    assert hosts_of_ranks(hpltune, "orders") == {
        ("0", "listed"): ["h1", "h2", "h3", "h4"],
        ("0", "fastest-first"): ["h2", "h3", "h1", "h4"],
        ("0", "slow-share-column"): ["h2", "h1", "h3", "h4"],
        ("0", "by-switch"): ["h1", "h4", "h2", "h3"],
        ("0", "across-switches"): ["h1", "h2", "h4", "h3"],
        ("2", "listed"): ["h2", "h3"],
    }
    ranked = json.loads(hpltune("best", "orders", "--json").stdout)["ranking"]
    assert {entry["params"]["nodes_dropped"] for entry in ranked} == {0, 2}, "fewer nodes are no lost ones"


def test_a_node_that_is_not_ready_is_refused_before_a_study_begins(hpltune: OnHead, lab: HostsLab, home: Path) -> None:
    cluster = write_cluster(lab, home, hosts=("h1", "gone"))
    done = hpltune("tune", "--cluster", cluster, "--nodes-check", "refuse", "--study", "bad")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "gone is out" in done.stderr
    assert "--nodes-check drop" in done.stderr
    assert hpltune("show", "bad").returncode == 1


def test_a_node_that_is_not_ready_is_left_out_and_the_others_are_tuned(
    hpltune: OnHead, lab: HostsLab, home: Path
) -> None:
    cluster = write_cluster(lab, home, hosts=("h1", "gone", "h2"))
    few = ("--set", "grid=1x2", "--set", "DEPTH=0")
    asked = ("--nodes-check", "drop", "--set", "nodes_dropped=0", "--set", "rank_order=listed")
    done = hpltune("tune", "--cluster", cluster, "--space", "quick", *SHORT, *few, *asked, "--study", "left")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Left out: gone is out" in done.stdout
    assert hosts_of_ranks(hpltune, "left") == {("0", "listed"): ["h1", "h2"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--nodes-check", "maybe"), "--nodes-check maybe: write refuse or drop"),
        (("--nodes-check", "drop"), "name one with --cluster"),
    ],
)
def test_a_check_that_cannot_be_made_is_refused(options: tuple[str, ...], said: str, hpltune: OnHead) -> None:
    done = hpltune("tune", *options)
    assert done.returncode == 2
    assert said in done.stderr
