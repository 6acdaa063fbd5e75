"""HPL on groups of nodes: who is common to failed and slow runs."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from planted import Fault, planted_check

from results.node_check import GroupRun, Severity, groups_of
from runners.base import JobState, JobStatus
from tuner.nodes.report import group_figures, group_tables
from tuner.nodes.statistics.group_findings import group_findings
from tuner.nodes.statistics.verdict import verdict_of
from tuner.nodes.steps.groups import group_run

NODES = tuple(f"node{number:03}" for number in range(1, 21))


@pytest.mark.parametrize("order", ["sorted", "shuffle"])
def test_each_node_is_in_one_group_and_those_left_over_in_none(order: str) -> None:
    groups = groups_of(order, NODES, 8, 3)
    named = [node for group in groups for node in group]
    assert [len(group) for group in groups] == [8, 8]
    assert len(set(named)) == 16
    assert groups_of("sorted", NODES, 8)[0] == NODES[:8]


def test_sorted_groups_leave_over_the_last_nodes_then_the_first() -> None:
    turns = [groups_of("sorted", NODES, 8, turn) for turn in (1, 2)]
    left_over = [set(NODES) - {node for group in groups for node in group} for groups in turns]
    assert left_over == [set(NODES[16:]), set(NODES[:4])]


def test_shuffled_groups_are_drawn_anew_in_each_turn_and_the_same_in_each_check() -> None:
    assert groups_of("shuffle", NODES, 8, 1) != groups_of("shuffle", NODES, 8, 2)
    assert groups_of("shuffle", NODES, 8, 1) == groups_of("shuffle", NODES, 8, 1)
    assert groups_of("shuffle", NODES, 8, 1) != groups_of("shuffle", NODES, 8, 1, seed=1)


def planted(*faults: Fault, seed: int = 3) -> list[tuple[Severity, str, tuple[str, ...]]]:
    check = planted_check(484, 14, faults, seed, groups=8)
    return [(one.severity, one.what, one.names) for one in group_findings(check.groups, check.switches)]


@pytest.mark.parametrize("seed", range(5))
def test_a_healthy_cluster_has_no_guilty_node(seed: int) -> None:
    assert planted(seed=seed) == []


def test_a_slow_node_is_common_to_the_slow_groups() -> None:
    assert planted(Fault("slow-node", ("node100",), 6.0)) == [(Severity.SLOW, "slow-node", ("node100",))]


def test_a_node_that_computes_wrongly_is_common_to_the_failed_groups_and_out() -> None:
    check = planted_check(484, 14, (Fault("flaky-node", ("node483",)),), 4, groups=8)
    (finding,) = group_findings(check.groups, check.switches)
    assert (finding.severity, finding.names) == (Severity.OUT, ("node483",))
    assert finding.sentence == (
        "node483 is out: it took part in 5 of 5 failed runs on groups (probability by chance < 1e-6)"
    )


def test_an_uplink_explains_slow_groups_better_than_the_nodes_behind_it() -> None:
    assert planted(Fault("weak-uplink", ("s02",), 30.0)) == [(Severity.SLOW, "weak-uplink", ("s02",))]


def runs(order: str, turns: int, bad: str = "", across: float = 1.0) -> list[GroupRun]:
    return [
        GroupRun(order, turn, group, 400.0 * across + number % 3, accurate=bad not in group)
        for turn in range(1, turns + 1)
        for number, group in enumerate(groups_of(order, [f"n{one:03}" for one in range(80)], 8, turn))
    ]


def test_sorted_groups_alone_do_not_tell_which_node_of_the_group_it_is() -> None:
    (finding,) = group_findings(runs("sorted", 10, bad="n003"), {})
    assert finding.severity is Severity.ODD
    assert finding.names == tuple(f"n{one:03}" for one in range(8))
    assert "shuffled groups tell which of them it is" in finding.sentence


def test_one_failed_run_is_told_without_a_node() -> None:
    sound = runs("shuffle", 5)
    lost = GroupRun("shuffle", 5, sound[0].nodes, None, reason="no answer within 600 s")
    (finding,) = group_findings([*sound, lost], {})
    assert (finding.what, finding.names) == ("failed-groups", ())
    assert "no answer within 600 s" in finding.sentence


def test_slower_shuffled_groups_are_noted_as_a_loaded_network() -> None:
    (finding,) = group_findings([*runs("sorted", 5), *runs("shuffle", 5, across=0.93)], {})
    assert (finding.severity, finding.what) == (Severity.NOTE, "contention")
    assert "7.0 % slower than on neighbours" in finding.sentence


def test_a_slow_node_is_found_although_all_nodes_are_slower_in_some_turns() -> None:
    cluster = planted_check(64, 16, (Fault("slow-node", ("node007",), 5.0),), 1, groups=4)
    heat = {"sorted": (1.0, 0.93, 0.97, 0.99, 0.95), "shuffle": (0.96, 1.0, 0.92, 0.98, 0.94)}
    disturbed = [replace(run, gflops=(run.gflops or 0.0) * heat[run.order][run.turn - 1]) for run in cluster.groups]
    found = group_findings(disturbed, cluster.switches)
    assert [one.names for one in found if one.severity is Severity.SLOW] == [("node007",)]


def test_a_failed_run_on_real_nodes_tells_the_reason_with_the_node_that_it_has_in_common() -> None:
    sound = runs("shuffle", 5)
    lost = [replace(run, gflops=None, reason="a rank was killed") if "n003" in run.nodes else run for run in sound]
    (finding,) = group_findings(lost, {})
    assert finding.names == ("n003",)
    assert finding.sentence.endswith("; the first: a rank was killed)")


def test_nodes_that_were_lost_explain_the_runs_that_failed_with_them() -> None:
    check = planted_check(32, groups=8)
    first, *rest = check.groups
    failed = replace(first, gflops=None, accurate=False, reason="a node stopped answering")
    lost = replace(check, groups=(failed, *rest), silent={first.nodes[0]: "it does not answer"})
    assert "failed-groups" not in {finding.what for finding in verdict_of(lost).findings}
    assert "failed-groups" in {finding.what for finding in verdict_of(replace(lost, silent={})).findings}


@pytest.mark.parametrize(("output", "counts"), [("passed.txt", True), ("failed.txt", False)])
def test_the_residual_of_a_run_decides_whether_it_counts(tmp_path: Path, output: str, counts: bool) -> None:  # noqa: FBT001
    shutil.copy(Path(__file__).parents[2] / "hpl/data" / output, tmp_path / "stdout")
    run = group_run("sorted", 1, ("h1", "h2"), JobStatus(JobState.COMPLETED, 0), tmp_path)
    assert run.counts == counts
    assert run.gflops is not None
    assert ("FAILED" in run.reason) != counts


def test_failed_runs_are_listed_and_all_others_drawn() -> None:
    flaky = planted_check(64, 16, (Fault("flaky-node", ("node007",)),), 2, groups=4)
    failed = [run for run in flaky.groups if not run.counts]
    _, listed = group_tables(flaky.groups)
    assert [row[1] for row in listed.rows] == [str(run.turn) for run in failed]
    assert {row[3] for row in listed.rows} == {"its residual is too large"}
    (figure,) = group_figures(flaky.groups)
    assert sum(len(series.y) for series in figure.series) == len(flaky.groups) - len(failed)
    assert not [*group_figures([]), *group_tables([])]


def test_no_groups_are_no_finding() -> None:
    assert verdict_of(planted_check(32)).findings == ()
    assert group_findings([], {}) == []


def test_failed_groups_of_a_node_that_computes_wrongly_by_itself_are_explained() -> None:
    sound = runs("shuffle", 5)
    lost = GroupRun("shuffle", 5, sound[0].nodes, 400.0, accurate=False)
    assert group_findings([*sound, lost], {}, {sound[0].nodes[0]}) == []
