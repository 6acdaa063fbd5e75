"""Planted faults are found and named; healthy clusters are left alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from planted import Fault, planted_check

from results.node_check import NodeCheck, NodeRun, PairRate
from results.report.model import Figure
from tuner.nodes.report import readiness_report
from tuner.nodes.statistics.verdict import verdict_of


def named(*faults: Fault, size: int = 64, seed: int = 3) -> list[tuple[str, tuple[str, ...]]]:
    verdict = verdict_of(planted_check(size, 16, faults, seed))
    return [(finding.what, finding.names) for finding in verdict.findings]


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(5))
def test_a_healthy_cluster_is_ready(seed: int) -> None:
    verdict = verdict_of(planted_check(64, 16, (), seed))
    assert verdict.ready
    assert verdict.findings == ()


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("slow-node", "slow-node"),
        ("half-memory", "slow-node"),
        ("flaky-node", "wrong-results"),
        ("weak-cable", "weak-node"),
        ("wrong-mtu", "weak-node"),
    ],
)
def test_a_node_that_is_not_like_the_others_is_named(kind: str, what: str) -> None:
    assert (what, ("node017",)) in named(Fault(kind, ("node017",), 6.0))


def test_a_weak_uplink_is_told_from_weak_nodes() -> None:
    assert named(Fault("weak-uplink", ("s02",), 10.0)) == [("weak-uplink", ("s02",))]


def test_an_oversubscribed_uplink_is_told_from_a_weak_one() -> None:
    verdict = verdict_of(planted_check(64, 16, (Fault("oversubscribed", ("s02",), 75.0),), 3))
    (finding,) = verdict.findings
    assert (finding.what, finding.names, verdict.ready) == ("oversubscribed", ("s02",), False)
    carries = "carries 4.23 GB/s of 17.6 GB/s when all nodes send (cut): it is oversubscribed 4.2 to 1"
    assert finding.sentence == f"the uplink of switch s02 {carries}"


def test_the_wrong_mtu_of_a_weak_node_is_named_with_it() -> None:
    verdict = verdict_of(planted_check(64, 16, (Fault("wrong-mtu", ("node017",), 6.0),), 3))
    (finding,) = verdict.findings
    assert finding.sentence.endswith("; its MTU is 1500, not 9000")


def test_two_populations_are_found_and_explained_by_the_fact_that_separates_them() -> None:
    nodes = tuple(f"node{number:03}" for number in range(1, 13))
    verdict = verdict_of(planted_check(64, 16, (Fault("throttled-class", nodes, 6.0),), 3))
    (finding,) = verdict.findings
    assert (finding.what, finding.names) == ("two-groups", nodes)
    assert "node[001-012] are" in finding.sentence
    assert "bios is 1.7.0 on the slower and 1.9.2 on the faster ones" in finding.sentence


def test_a_node_that_computes_wrongly_is_out_with_the_advice_that_fits() -> None:
    verdict = verdict_of(planted_check(32, 16, (Fault("flaky-node", ("node007",)),), 1))
    assert verdict.out == ("node007",)
    assert "try other memory first, then another processor, then another board" in verdict.findings[0].sentence


def test_memory_explains_hpl_where_it_does() -> None:
    nodes = tuple(f"node{number:03}" for number in range(1, 25))
    verdict = verdict_of(planted_check(64, 16, (Fault("half-memory", nodes, 30.0),), 3))
    pairs = {(pair.one, pair.other): pair for pair in verdict.together}
    assert pairs["hpl", "stream-triad-all"].significant
    assert not pairs["dgemm-1", "stream-triad-all"].significant


@pytest.mark.parametrize("size", [1, 2, 4])
def test_few_nodes_get_an_answer_and_what_cannot_be_said(size: int) -> None:
    verdict = verdict_of(planted_check(size, 16, (Fault("slow-node", ("node001",), 50.0),), 3))
    assert verdict.cannot
    assert not verdict.findings


def test_two_populations_are_drawn_in_the_terminal_and_one_bell_is_not() -> None:
    nodes = tuple(f"node{number:03}" for number in range(1, 13))
    two = verdict_of(planted_check(64, 16, (Fault("throttled-class", nodes, 6.0),), 3))
    titles = [part.title for part in readiness_report(two).parts if isinstance(part, Figure)]
    assert titles == ["DGEMM, one core: two populations", "DGEMM, all cores: two populations"]
    sound = readiness_report(verdict_of(planted_check(64, 16, (), 3)))
    assert not [part for part in sound.parts if isinstance(part, Figure)]


@pytest.mark.parametrize(("count", "slow"), [(20, 0), (5, 1), (8, 1), (8, 2), (20, 2)])
def test_slow_nodes_are_named_where_all_others_give_the_same_figure(count: int, slow: int) -> None:
    nodes = tuple(f"n{number:02}" for number in range(count))
    runs = tuple(NodeRun("dgemm-1", node, 45.0 if node in nodes[:slow] else 50.0) for node in nodes)
    check = NodeCheck("same", datetime.now(UTC), nodes, runs=runs)
    assert sorted(verdict_of(check).slow) == sorted(nodes[:slow])
    assert bool(verdict_of(check).findings) == bool(slow)


def measured(*values: float, classes: Sequence[str] = ()) -> NodeCheck:
    """A check of nodes n1, n2, … with a result each."""
    nodes = tuple(f"n{number}" for number in range(1, len(values) + 1))
    runs = tuple(NodeRun("dgemm-1", node, value) for node, value in zip(nodes, values, strict=True))
    named = dict(zip(nodes, classes or ["EPYC"] * len(nodes), strict=True))
    return NodeCheck("few", datetime.now(UTC), nodes, classes=named, runs=runs)


def test_two_nodes_that_differ_are_told_apart_though_nothing_says_which_is_wrong() -> None:
    verdict = verdict_of(measured(50.0, 40.0))
    assert verdict.ready
    assert verdict.cannot == (
        "Fewer than 5 nodes of a class do not tell which is slow: differences are only shown.",
        "n1, n2 differ most in DGEMM, one core: n2 gives 20.0 % less than n1.",
    )
    assert len(verdict_of(measured(50.0, 49.9)).cannot) == 1


def test_nodes_that_are_one_of_each_class_are_told_to_be_compared_with_nobody() -> None:
    verdict = verdict_of(measured(50.0, 40.0, 20.0, classes=("EPYC", "Xeon", "Atom")))
    assert verdict.cannot == (
        "Fewer than 5 nodes of a class do not tell which is slow: differences are only shown.",
        "There are 3 classes of nodes, and only nodes of one are compared (EPYC: n1; Xeon: n2; Atom: n3).",
    )


def test_a_silent_node_is_no_class_of_its_own() -> None:
    check = measured(*[50.0 + number / 10 for number in range(8)])
    silent = replace(check, nodes=(*check.nodes, "n9"), silent={"n9": "node n9: it does not answer"})
    verdict = verdict_of(silent)
    assert verdict.cannot == ()
    assert verdict.out == ("n9",)
    assert [finding.sentence for finding in verdict.findings] == ["n9 is out: it does not answer"]


def test_the_messages_of_two_nodes_say_nothing_of_switches() -> None:
    pairs = tuple(PairRate(pattern, "n1", "n2", 100.0) for pattern in ("sorted", "cut"))
    said = verdict_of(replace(measured(50.0, 50.0), pairs=pairs)).cannot
    assert said[-1] == "Two nodes have one connection: nothing says whether it is as fast as it should be."
