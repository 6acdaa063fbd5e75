import random

from tuner.nodes.statistics.group_findings import guilty, in_common


def test_the_node_that_fails_every_run_is_suspected_and_its_partners_are_not() -> None:
    """As in the slides: sets of 8 of 484 nodes, shuffled ten times; each run with node483 fails."""
    chance = random.Random(4)  # noqa: S311 - no secret
    nodes = [f"node{number:03}" for number in range(1, 485)]
    groups = []
    for _ in range(10):
        chance.shuffle(nodes)
        groups += [tuple(nodes[first : first + 8]) for first in range(0, 480, 8)]
    found = in_common(groups, ["node483" in group for group in groups])
    assert (found[0].node, found[0].bad) == ("node483", found[0].runs)
    assert [one.node for one in found if one.suspect] == ["node483"]


def test_without_a_bad_run_nobody_is_in_one() -> None:
    assert in_common([("a", "b"), ("b", "c")], [False, False]) == []


def test_where_all_runs_are_bad_nobody_is_suspected() -> None:
    assert not any(one.suspect for one in in_common([("a", "b"), ("b", "c")], [True, True]))


def test_partners_of_a_guilty_node_are_not_guilty_with_it() -> None:
    """Eight benchmarks run on each draw, as in the talk: a node that met the bad one twice is in many bad runs."""
    draws = [("bad", "friend", "a"), ("bad", "friend", "b"), *(("bad", f"c{one}") for one in range(8))]
    groups = [draw for draw in draws for _ in range(8)] + [(f"d{one}", f"e{one}") for one in range(400)]
    bad = ["bad" in group for group in groups]
    assert {one.node for one in in_common(groups, bad) if one.suspect} > {"bad", "friend"}
    assert [one.nodes for one in guilty(groups, bad)] == [("bad",)]
