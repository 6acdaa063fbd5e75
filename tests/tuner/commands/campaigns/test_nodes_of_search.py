"""Nodes in the search of a real cluster: checked before, dropped, and filled in an order that ranks prove."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from net_lab import HostsLab
from node_check_builders import a_check, kept
from on_head import OnHead

from hpl.witness import parse_reports
from results.node_check import Finding, NodeRun, Severity
from results.store.store import Store

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
SHORT = ("--blas", "openblas", "--set", "kernel=Haswell", "--set", "N=500", "--set", "NB=64",
         "--set", "binding=none", "--set", "SWAP=long",
         "--confirm", "0", "--budget", "2m", "--engine", "grid")  # fmt: skip
SPEEDS = '[speeds]\nh1 = 40\nh2 = 80\nh3 = 79.5\nh4 = 40.5\n[switches]\nupper = ["h1", "h4"]\nlower = ["h2", "h3"]\n'


@pytest.fixture
def lab(hosts: HostsLab) -> HostsLab:
    return hosts.wired(4)


def write_cluster(
    lab: HostsLab, home: Path, more: str = "", hosts: tuple[str, ...] = ("h1", "h2", "h3", "h4"), **further: object
) -> str:
    text = lab.cluster(hosts=hosts, **further)
    (home / "lab.toml").write_text(f"{text}[node]\nmemory_gib = 1\ncores = 1\n{more}")
    return "lab.toml"


def hosts_of_ranks(head: OnHead, study: str) -> dict[tuple[str, str], list[str]]:
    """The host of each rank, as the ranks themselves report it, by nodes_dropped and rank_order."""
    found = {}
    for trial in head.told("show", study):
        if trial["kind"] != "search":
            continue
        assert trial["state"] == "complete", trial["reason"]
        asked = (re.findall(r"nodes_dropped=(\d+)", trial["key"])[0], re.findall(r"rank_order=(\S+)", trial["key"])[0])
        reports = parse_reports((Path(trial["directory"]) / "stderr").read_text())
        found[asked] = [report.host for report in reports]
    return found


def test_ranks_run_on_the_nodes_that_are_left_in_the_order_that_was_asked(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    cluster = write_cluster(lab, home, SPEEDS)
    orders = "listed,fastest-first,slow-share-column,slow-share-row,by-switch,across-switches"
    nodes = ("--set", "nodes_dropped=0,2", "--set", f"rank_order={orders}", "--set", "grid=2x2,1x2", "--set", "DEPTH=0")
    head.well("tune", "--cluster", cluster, "--space", "quick", *SHORT, *nodes, "--study", "orders")
    assert hosts_of_ranks(head, "orders") == {
        ("0", "listed"): ["h1", "h2", "h3", "h4"],
        ("0", "fastest-first"): ["h2", "h3", "h1", "h4"],
        ("0", "slow-share-column"): ["h2", "h1", "h3", "h4"],
        ("0", "by-switch"): ["h1", "h4", "h2", "h3"],
        ("0", "across-switches"): ["h1", "h2", "h4", "h3"],
        ("2", "listed"): ["h2", "h3"],
    }
    ranked = head.told("best", "orders")["ranking"]
    assert {entry["params"]["nodes_dropped"] for entry in ranked} == {0, 2}, "fewer nodes are no lost ones"


PAIRS = "[speeds]\nh1 = 40\nh2 = 80\nh3 = 40.2\nh4 = 79.5\n"
"""Two parts of two nodes, of which the first is the slow one."""


def test_parts_that_are_alike_drop_each_its_own_slow_node(head: OnHead, lab: HostsLab, home: Path) -> None:
    cluster = write_cluster(lab, home, PAIRS)
    nodes = ("--set", "nodes_dropped=0,1", "--set", "grid=1x2,1x1", "--set", "DEPTH=0", "--set", "NBMIN=4,8")
    head.well("tune", "--cluster", cluster, "--space", "quick", *SHORT, *nodes,
                   "--parallel", "2", "--study", "halves")  # fmt: skip
    trials = [trial for trial in head.told("show", "halves") if trial["kind"] == "search"]
    assert {trial["state"] for trial in trials} == {"complete"}
    used = {
        dropped: {",".join(trial["hosts"]) for trial in trials if f"nodes_dropped={dropped}" in trial["key"]}
        for dropped in "01"
    }
    assert used["0"] | used["1"] <= {"h1,h2", "h3,h4", "h2", "h4"}
    assert used["1"] <= {"h2", "h4"}
    assert any("h4" in hosts for own in used.values() for hosts in own), "both parts ran trials"


def test_parts_that_differ_are_refused_where_the_search_chooses_among_nodes(
    head: OnHead, lab: HostsLab, home: Path
) -> None:
    cluster = write_cluster(lab, home, SPEEDS)
    asked = ("--parallel", "2", "--set", "nodes_dropped=0,1", "--study", "unlike")
    done = head("tune", "--cluster", cluster, "--space", "quick", *SHORT, *asked)
    assert done.returncode == 2, done.stdout + done.stderr
    assert (
        "--parallel 2: nodes_dropped means other nodes on each part, and the parts differ: h1 (40, upper) and "
        "h2 (80, lower) against h3 (79.5, lower) and h4 (40.5, upper)"
    ) in " ".join(done.stderr.split())
    assert head("show", "unlike").returncode == 1, "no study was begun"


def test_after_a_loss_only_one_part_goes_on_where_the_parts_differ(head: OnHead, lab: HostsLab, home: Path) -> None:
    cluster = write_cluster(lab, home, PAIRS, check_s=1, return_s=2)
    nodes = ("--set", "nodes_dropped=0,1", "--set", "grid=1x2,1x1", "--set", "DEPTH=0", "--set", "NBMIN=1,2,4,8")
    with lab.cut_off("h4", home / "data/runs/fewer/00006/stdout"):
        done = head("tune", "--cluster", cluster, "--space", "quick", *SHORT, *nodes,
                       "--parallel", "2", "--study", "fewer")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Node h4 is taken out; the study goes on with the 3 left." in done.stdout
    assert "One trial at a time from here on, on h1: nodes_dropped means other nodes on each part" in done.stdout


def test_nodes_that_a_kept_check_found_slow_are_told_before_a_study(head: OnHead, lab: HostsLab, home: Path) -> None:
    few = ("--set", "grid=2x2", "--set", "DEPTH=0")
    first = head("tune", "--cluster", write_cluster(lab, home), "--space", "quick", *SHORT, *few)
    assert "Caution: check" not in first.stdout
    slow = Finding(Severity.SLOW, "slow-node", ("h2",), "dgemm-all", "h2 is slow in DGEMM, all cores", 12.5)
    silent = Finding(Severity.OUT, "silent", ("h3",), "answer", "h3 is out: it does not answer")
    runs = tuple(NodeRun("dgemm-all", f"h{number}", 80.0) for number in range(1, 5))
    store = Store.open(str(home / "data/hpltune.db"))
    store.node_checks.add(
        kept(a_check(nodes=("h1", "h2", "h3", "h4"), runs=runs), ready=False, findings=(slow, silent))
    )
    store.node_checks.add(kept(replace(a_check(), runs=(), pairs=())))
    second = head("tune", "--cluster", write_cluster(lab, home), "--space", "quick", *SHORT, *few)
    said = " ".join(second.stdout.split())
    assert "Caution: check 1 of 2026-11-02 06:00 UTC found: h2 is slow in DGEMM, all cores." in said
    assert "h3 is out" not in said
    assert "`--nodes-check drop` measures them again, and lets the search leave slow ones out." in said
    known = head("tune", "--cluster", write_cluster(lab, home, SPEEDS), "--space", "quick", *SHORT, *few)
    assert "`--set nodes_dropped=auto` lets the search leave slow ones out" in " ".join(known.stdout.split())


def test_a_node_that_is_not_ready_is_refused_before_a_study_begins(head: OnHead, lab: HostsLab, home: Path) -> None:
    cluster = write_cluster(lab, home, hosts=("h1", "gone"))
    done = head("tune", "--cluster", cluster, "--nodes-check", "refuse", "--study", "bad")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "gone is out" in done.stderr
    assert "--nodes-check drop" in done.stderr
    assert head("show", "bad").returncode == 1


def test_a_node_that_is_not_ready_is_left_out_and_the_others_are_tuned(head: OnHead, lab: HostsLab, home: Path) -> None:
    cluster = write_cluster(lab, home, hosts=("h1", "gone", "h2"))
    few = ("--set", "grid=1x2", "--set", "DEPTH=0")
    asked = ("--nodes-check", "drop", "--set", "nodes_dropped=0", "--set", "rank_order=listed")
    done = head.well("tune", "--cluster", cluster, "--space", "quick", *SHORT, *few, *asked, "--study", "left")
    assert "Left out: gone is out" in done.stdout
    assert hosts_of_ranks(head, "left") == {("0", "listed"): ["h1", "h2"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--nodes-check", "maybe"), "--nodes-check maybe: write refuse or drop"),
        (("--nodes-check", "drop"), "name one with --cluster"),
    ],
)
def test_a_check_that_cannot_be_made_is_refused(options: tuple[str, ...], said: str, head: OnHead) -> None:
    assert said in head.refused("tune", *options)
