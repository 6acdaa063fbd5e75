"""Two checks of a cluster: what is worse is named with its reason, and noise is not."""

from dataclasses import replace
from datetime import timedelta

import pytest
from node_check_builders import FIRST_DAY
from planted import Fault, planted_check

from results.node_check import Finding, NodeCheck, Severity
from tuner.nodes.statistics.rate_changes import changed_facts, rate_changes, since_baseline


def check(seed: int, *faults: Fault, size: int = 64, kernel: str = "6.8") -> NodeCheck:
    made = planted_check(size, faults=faults, seed=seed)
    facts = {**made.facts, "kernel": dict.fromkeys(made.nodes, kernel)}
    return replace(made, checked_at=FIRST_DAY + timedelta(days=seed), facts=facts)


def slower(made: NodeCheck, part: str, percent: float) -> NodeCheck:
    """The same with a loss of all nodes in some benchmarks."""
    kept = 1.0 - percent / 100.0
    runs = (replace(run, value=(run.value or 0.0) * (kept if part in run.benchmark else 1.0)) for run in made.runs)
    return replace(made, runs=tuple(runs))


def found(before: NodeCheck, now: NodeCheck) -> list[Finding]:
    return since_baseline(before, now, changed_facts(before, now))


@pytest.mark.parametrize("size", [1, 3, 20])
def test_two_checks_of_a_healthy_cluster_differ_by_noise(size: int) -> None:
    for seed in range(0, 10, 2):
        assert found(check(seed, size=size), check(seed + 1, size=size)) == []


def test_a_node_that_lost_is_named_with_the_fact_that_changed_on_it() -> None:
    (lost,) = found(check(0), check(1, Fault("throttled-class", ("node007", "node009"), 8.0)))
    assert (lost.severity, lost.what, lost.names) == (Severity.SLOW, "lost-since", ("node007", "node009"))
    assert lost.sentence.startswith("node007, node009 have lost ")
    assert lost.sentence.endswith("since 2026-11-02: bios changed from 1.9.2 to 1.7.0")


def test_a_loss_of_all_nodes_is_one_finding_with_the_new_kernel() -> None:
    (lost,) = found(check(0), slower(check(1, kernel="6.9"), "stream", 3.0))
    assert (lost.severity, lost.what, lost.names) == (Severity.SLOW, "all-lost", ())
    assert lost.sentence.startswith("all nodes have lost ")
    assert lost.sentence.endswith("since 2026-11-02: kernel changed from 6.8 to 6.9")
    assert lost.percent == pytest.approx(3.0, abs=0.7)


def test_a_fact_that_changed_without_a_loss_is_a_note() -> None:
    (changed,) = found(check(0, size=8), check(1, size=8, kernel="6.9"))
    assert (changed.severity, changed.what) == (Severity.NOTE, "changed-fact")
    assert changed.sentence == "node[001-008]: kernel changed from 6.8 to 6.9 since 2026-11-02"


def test_what_all_nodes_gained_is_a_note() -> None:
    (gained,) = found(slower(check(0), "dgemm", 5.0), check(1))
    assert (gained.severity, gained.what) == (Severity.NOTE, "all-gained")


def test_one_node_alone_is_judged_by_its_repeats() -> None:
    before, now = check(0, size=1), slower(check(1, size=1), "dgemm", 20.0)
    (lost,) = found(before, now)
    assert lost.sentence.startswith("node001 has lost ")


def test_single_runs_of_few_nodes_tell_nothing() -> None:
    before, now = (planted_check(2, seed=seed, runs=1) for seed in (0, 1))
    assert rate_changes(replace(before, pairs=()), slower(replace(now, pairs=()), "dgemm", 30.0)) == []


def test_a_weak_cable_since_then_is_named() -> None:
    before = check(0)
    cut = (
        replace(pair, rate=pair.rate * (0.8 if "node005" in {pair.one, pair.other} else 1.0)) for pair in before.pairs
    )
    now = replace(before, checked_at=FIRST_DAY + timedelta(days=1), pairs=tuple(cut))
    (lost,) = found(before, now)
    assert lost.sentence.startswith("node005 has lost 20.0 % in messages since")


def test_nodes_that_are_gone_or_new_are_told() -> None:
    before, now = check(0, size=20), check(1, size=20)
    swapped = replace(now, nodes=(*now.nodes[1:], "node099"))
    gone, new = found(before, swapped)
    assert (gone.severity, gone.sentence) == (Severity.ODD, "node001 is gone since 2026-11-02")
    assert (new.severity, new.sentence) == (Severity.NOTE, "node099 is new since 2026-11-02")


def test_of_one_day_the_hour_is_told() -> None:
    before = check(0, size=20)
    now = replace(before, checked_at=FIRST_DAY + timedelta(hours=3), nodes=before.nodes[1:])
    assert found(before, now)[0].sentence == "node001 is gone since 2026-11-02 06:00"
