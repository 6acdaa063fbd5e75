"""What the slowest nodes cost HPL is told beside what is odd, without any test."""

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import pytest
from record_builders import QUIET

from results.node_check import NodeCheck, NodeRun
from results.report.model import Sentence, Table
from tuner.nodes.report import readiness_facts, readiness_page, readiness_report
from tuner.nodes.statistics.verdict import ReadinessVerdict, verdict_of

OVERHEATED = {"n01": 8.0, "n02": 11.0, "n03": 14.0, "n04": 18.0}


def judged(
    rates: Mapping[str, float], runs: int = 3, noise: float = 0.2, classes: Mapping[str, str] | None = None
) -> ReadinessVerdict:
    """Judge nodes of which HPL has these rates, less a little noise of each run."""
    chance = np.random.default_rng(1)
    made = (
        NodeRun("hpl", node, rate * (1.0 - abs(noise * float(chance.normal())) / 100.0), measurements=QUIET)
        for node, rate in rates.items()
        for _ in range(runs)
    )
    return verdict_of(NodeCheck("some nodes", datetime.now(UTC), tuple(rates), runs=tuple(made), classes=classes or {}))


def cluster(spread: float, seed: int) -> dict[str, float]:
    """Rates of 32 nodes, of which four are overheated and the others differ by a standard deviation in percent."""
    chance = np.random.default_rng(seed)
    rates = {f"n{place:02}": 1000.0 + 10.0 * spread * float(chance.normal()) for place in range(1, 33)}
    return {**rates, **{node: 1000.0 - 10.0 * percent for node, percent in OVERHEATED.items()}}


@pytest.mark.parametrize("spread", [2.0, 3.0])
def test_hpl_waits_for_each_of_four_overheated_nodes_however_much_sound_ones_differ(spread: float) -> None:
    for seed in range(20):
        [waits] = judged(cluster(spread, seed)).waiting
        assert set(OVERHEATED) <= set(waits.notable)
        assert waits.slower[0].node == "n04"


def test_the_cost_of_waiting_and_of_leaving_nodes_out_is_told() -> None:
    rates = {f"n{place:02}": 100.0 for place in range(10)} | {"n10": 80.0, "n11": 95.0}
    [waits] = judged(rates, noise=0.0).waiting
    cost = "At its speed 12 nodes do 960 GFLOPS, at the median's 1,200, before what the network takes"
    assert waits.sentences == (
        "HPL waits for n10, 20.0 % below the median of HPL on the node in the best of its 3 runs, so it is no noise.",
        f"{cost}; without n10 the other 11 do 1,045 (8.9 % more).",
        "n11 is 3 % or more below it, too.",
    )
    assert (waits.left_out, [one.others_gflops for one in waits.slower]) == (("n10",), [1045.0, 1000.0])


def test_where_fewer_nodes_do_less_none_is_left_out() -> None:
    [waits] = judged({f"n{place}": 100.0 for place in range(5)} | {"n5": 90.0}, noise=0.0).waiting
    assert waits.left_out == ()
    assert waits.sentences[1].endswith("; leaving slow nodes out gives no more.")


def test_what_runs_of_one_node_differ_by_may_be_noise() -> None:
    chance = np.random.default_rng(3)
    runs = [NodeRun("hpl", f"n{place}", 100.0 + 6.0 * float(chance.normal())) for place in range(8) for _ in range(3)]
    nodes = tuple(f"n{place}" for place in range(8))
    [waits] = verdict_of(NodeCheck("noisy", datetime.now(UTC), nodes, runs=tuple(runs))).waiting
    assert waits.sentences[0].endswith("; runs of one node differ as much, so it may be noise.")
    [once] = judged({f"n{place}": 100.0 - place for place in range(8)}, runs=1).waiting
    assert once.sentences[0].endswith("; no node ran twice, so it may be noise.")


def test_equal_nodes_wait_for_nobody() -> None:
    verdict = judged({f"n{place}": 100.0 for place in range(8)})
    assert [one.sentences for one in verdict.waiting] == [()]
    assert not [part for part in readiness_report(verdict).parts if isinstance(part, Table) and "cost" in part.title]


def test_only_nodes_of_one_class_wait_for_each_other() -> None:
    rates = {f"n{place}": 100.0 for place in range(6)} | {f"m{place}": 50.0 for place in range(3)} | {"n6": 90.0}
    verdict = judged(rates, noise=0.0, classes={node: "EPYC" if node[0] == "n" else "Atom" for node in rates})
    assert [(one.node_class, one.nodes, one.notable) for one in verdict.waiting] == [
        ("EPYC", 7, ("n6",)),
        ("Atom", 3, ()),
    ]
    assert verdict.waiting[0].sentences[0].startswith("Of the nodes with EPYC, HPL waits for n6, 10.0 % below")


def test_people_scripts_and_the_page_are_told_and_no_cluster_that_waits_is_called_ready() -> None:
    """Sound nodes differ so much that none is odd, and yet HPL loses a tenth."""
    rates = {f"n{place:02}": 100.0 - place * 7 % 12 for place in range(12)} | {"n12": 84.0}
    verdict = judged(rates)
    assert verdict.slow == ()
    for report in (readiness_report(verdict), readiness_page(verdict)):
        told = [part.text for part in report.parts if isinstance(part, Sentence)]
        assert told[0] == "Not ready: no node is unlike the others, but HPL waits for n12 and loses 10.7 %."
        assert told[1].startswith("HPL waits for n12, 10.7 % below the median of HPL on the node in the best of its 3")
        [table] = [part for part in report.parts if isinstance(part, Table) and part.title.startswith("What")]
        assert table.title == "What the slowest nodes cost HPL"
        assert [row[2] for row in table.rows[:2]] == ["n12", "n05"]
    facts = readiness_facts(verdict)["waiting"]
    assert isinstance(facts, list)
    assert facts[0]["slower"][0]["node"] == "n12"


def test_hpl_waits_for_no_node_that_was_lost_in_the_middle_of_the_check() -> None:
    rates = {f"n{place}": 100.0 for place in range(5)} | {"n5": 60.0}
    made = tuple(NodeRun("hpl", node, rate) for node, rate in rates.items())
    lost = {"n5": "node n5: it does not answer"}
    [waits] = verdict_of(NodeCheck("some nodes", datetime.now(UTC), tuple(rates), runs=made, silent=lost)).waiting
    assert (waits.nodes, waits.slower) == (5, ())


def test_a_cluster_is_ready_only_where_hpl_loses_less_than_three_percent() -> None:
    even = {f"n{place:02}": 100.0 - place % 5 / 2.0 for place in range(15)}
    assert judged({**even, "n15": 97.0}, noise=0.0).ready
    assert not judged({**even, "n15": 95.0}, noise=0.0).ready


def test_where_two_of_four_nodes_are_slow_none_is_blamed_and_the_cluster_is_not_ready() -> None:
    verdict = judged({"n0": 94.0, "n1": 94.1, "n2": 100.0, "n3": 100.1}, noise=0.0)
    assert (verdict.ready, verdict.slow) == (False, ())
    said = "n0, n1 give 6.0 % less than n2, n3 in HPL on the node: it is not known which of them are as they should be."
    assert said in verdict.cannot


def test_half_of_sixteen_nodes_are_told_as_halves() -> None:
    verdict = judged({f"n{place:02}": 100.0 - 6.0 * (place % 2) for place in range(16)}, noise=0.3)
    assert (verdict.ready, verdict.slow) == (False, ())
    assert any("it is not known which of them" in said for said in verdict.cannot)


@pytest.mark.parametrize("seed", range(5))
def test_a_fall_along_the_nodes_has_a_name_and_an_even_cluster_has_none(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rates = {
        f"node{place:03}": 100.0 - 6.0 * (place - 1) / 15.0 + 0.5 * float(chance.normal()) for place in range(1, 17)
    }
    [finding] = [one for one in judged(rates).findings if one.what == "gradient"]
    assert finding.names == ("node001", "node016")
    assert finding.sentence.startswith("HPL on the node falls from node001 to node016 by ")
    assert finding.percent == pytest.approx(6.0, abs=1.5)
    even = {node: 100.0 + float(chance.normal()) for node in rates}
    assert judged(even).findings == ()
