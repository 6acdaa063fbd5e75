"""Nodes that differ: which are dropped, where ranks stand, and which orders are one configuration."""

import pytest

from hpl.params import Scalar
from search_spaces.distinct import distinct
from search_spaces.errors import SpaceError
from search_spaces.load import load, passed_over
from search_spaces.machine import BlasFacts, Machine, MachineNode
from search_spaces.node_order import placement, rank_speeds, worth_dropping
from search_spaces.space import SearchSpace

BLAS = {"openblas": BlasFacts()}


def machine(*speeds: float | None, switches: str = "", cores: int = 1) -> Machine:
    """Nodes with these speeds, at switches named by one letter each."""
    names = switches or " " * len(speeds)
    nodes = [
        MachineNode(f"n{number}", cores, speed, switch.strip())
        for number, (speed, switch) in enumerate(zip(speeds, names, strict=True))
    ]
    return Machine(len(nodes) * cores, len(nodes) * 2**30, BLAS, 1000, len(nodes), node_list=tuple(nodes))


def space(on: Machine, **values: str) -> SearchSpace:
    text = "\n".join(['name = "mine"', "[parameters]", *(f"{name} = {value}" for name, value in values.items())])
    return load("mine", on, text=text)


def placed(order: str, on: Machine, **more: Scalar) -> tuple[int, ...]:
    full = load("mine", on, text='[parameters]\nrank_order = "listed"').complete({**more, "rank_order": order})
    return placement(full, on)


def test_the_slowest_nodes_are_dropped_and_of_equal_ones_the_last() -> None:
    on = machine(80, 60, 80, 70, 80)
    assert placed("listed", on, nodes_dropped=1) == (0, 2, 3, 4)
    assert placed("listed", on, nodes_dropped=2) == (0, 2, 4)
    assert placed("listed", on, nodes_dropped=3) == (0, 2)
    assert rank_speeds({"nodes_dropped": 1, "layout": "4x1"}, on) == (1, 1, 70 / 80, 1)


def test_the_fastest_nodes_come_first_and_those_about_as_fast_keep_their_order() -> None:
    assert placed("fastest-first", machine(79.5, 60, 80, 70)) == (0, 2, 3, 1)


def test_slow_nodes_share_the_last_column_or_the_last_row_of_the_grid() -> None:
    on = machine(60, 80, 80, 60, 80, 80)
    grid = {"layout": "6x1", "grid": "2x3"}
    assert placed("slow-share-column", on, **grid) == (1, 4, 0, 2, 5, 3)
    assert placed("slow-share-row", on, **grid) == (1, 2, 4, 5, 0, 3)
    assert placed("slow-share-column", on, **grid, PMAP="column") == (1, 2, 4, 5, 0, 3)


def test_a_node_with_several_ranks_stands_where_its_first_one_does() -> None:
    on = machine(60, 80, 80, 80, cores=2)
    assert placed("slow-share-column", on, layout="8x1", grid="2x4") == (1, 3, 2, 0)
    assert placed("slow-share-column", on, layout="8x1", grid="4x2") == (1, 2, 3, 0)


def test_ranks_fill_one_switch_after_the_other_or_go_from_switch_to_switch() -> None:
    on = machine(80, 80, 80, 80, 80, switches="abaab")
    assert placed("by-switch", on) == (0, 2, 3, 1, 4)
    assert placed("across-switches", on) == (0, 1, 2, 4, 3)


def test_with_equal_nodes_all_orders_are_one_configuration() -> None:
    found = space(machine(80, 80.5, 79.9, 80), rank_order='["fastest-first", "listed", "slow-share-row"]')
    assert len(found) == 3
    assert distinct(found).points == 1
    assert {found.representative(point)["rank_order"] for point in found} == {"listed"}


def test_orders_that_put_alike_nodes_on_the_same_ranks_are_one_configuration() -> None:
    on = machine(80, 80, 80, 60)
    one_row = space(on, rank_order='["listed", "fastest-first", "slow-share-column"]', grid='"1x4"')
    assert distinct(one_row).points == 1
    elsewhere = space(machine(60, 80, 80, 80), rank_order='["listed", "fastest-first"]', grid='"1x4"')
    assert distinct(elsewhere).points == 2
    renamed = space(machine(1, 1, 1, 1, switches="bbaa"), rank_order='["listed", "by-switch", "across-switches"]')
    assert distinct(renamed).points == 2


def test_of_orders_that_are_alike_the_plainest_of_the_space_is_run() -> None:
    one_switch, two = machine(80, 80, 80, 80, switches="aaaa"), machine(80, 80, 80, 80, switches="abab")
    orders = '["across-switches", "by-switch", "listed"]'
    found = space(one_switch, rank_order=orders)
    assert [found.measured(point)["rank_order"] for point in found] == ["listed"] * 3
    found = space(two, rank_order=orders)
    assert [found.measured(point)["rank_order"] for point in found] == ["listed", "by-switch", "listed"]
    only = space(one_switch, rank_order='"across-switches"')
    assert only.first["rank_order"] == "across-switches", "nobody asked for another"
    unlike = space(machine(60, 80), rank_order='["across-switches", "fastest-first"]')
    assert [unlike.measured(point)["rank_order"] for point in unlike] == ["fastest-first"]


def test_layouts_and_grids_are_those_of_the_nodes_that_are_left() -> None:
    found = space(machine(80, 80, 60, cores=2), nodes_dropped="[0, 1]", layout='"auto"', grid='"auto"')
    legal = {(point["nodes_dropped"], point["layout"], point["grid"]) for point in found}
    assert (0, "6x1", "2x3") in legal
    assert (1, "4x1", "2x2") in legal
    assert {layout for dropped, layout, _ in legal if dropped == 1} == {"4x1", "2x2"}
    assert found.why_not({"nodes_dropped": 1, "layout": "6x1", "grid": "2x3"}) is not None


def test_without_a_layout_each_core_that_is_left_has_a_rank() -> None:
    found = space(machine(80, 80, 60), nodes_dropped="[0, 1]", grid='"auto"')
    assert {(point["nodes_dropped"], point["grid"]) for point in found} == {
        (0, "1x3"), (0, "3x1"), (1, "1x2"), (1, "2x1"),
    }  # fmt: skip


def test_dropped_nodes_take_their_memory_with_them() -> None:
    found = space(machine(80, 80, 60), nodes_dropped="[0, 2]", memory_fraction="0.5")
    whole, part = (int(found.complete(point)["N"]) for point in found)
    assert part / whole == pytest.approx((1 / 3) ** 0.5, rel=0.02)
    large = f"{int(0.9 * (3 * 2**30 / 8) ** 0.5)}"
    assert {point["nodes_dropped"] for point in space(machine(8, 8, 6), nodes_dropped="[0, 1]", N=large)} == {0}


def test_where_nodes_are_filled_one_after_the_other_an_idle_one_must_be_dropped() -> None:
    nodes = machine(1, 1, 1, 0.5).node_list
    virtual = Machine(4, 2**32, BLAS, 1000, node_list=nodes)
    found = space(virtual, nodes_dropped="[0, 1, 2]", layout='["4x1", "3x1"]')
    assert [(point["nodes_dropped"], point["layout"]) for point in found] == [(0, "4x1"), (1, "3x1")]
    sentence = found.why_not({"nodes_dropped": 0, "layout": "3x1"})
    assert sentence == (
        "the layout 3x1 with nodes_dropped = 0 leaves 1 of 4 nodes without a rank: "
        "take more ranks, or nodes_dropped = 1"
    )


def test_a_rank_is_as_fast_as_its_node() -> None:
    assert rank_speeds({"layout": "4x1"}, machine(60, 80, cores=2)) == (0.75, 0.75, 1, 1)
    virtual = Machine(4, 2**32, BLAS, 1000, node_list=machine(1, 1, 1, 0.5).node_list)
    assert rank_speeds({"layout": "4x1"}, virtual) == (1, 1, 1, 0.5)
    assert rank_speeds({"layout": "3x1"}, virtual) == (1, 1, 1)
    assert rank_speeds({"layout": "2x1"}, machine(60, None)) == ()


def test_automatic_values_are_those_that_may_pay_on_the_nodes_that_are_there() -> None:
    automatic = {"nodes_dropped": '"auto"', "rank_order": '"auto"'}
    assert not space(machine(80, 80, 79.9, 80), **automatic).varying
    assert worth_dropping(machine(80, 80, 80, 50)) == (0, 1)
    assert worth_dropping(machine(80, 80, 80, 70)) == (0,)
    slow = space(machine(80, 80, 50, 80), **automatic)
    assert slow.parameters["nodes_dropped"].values == (0, 1)
    assert "slow-share-column" in slow.parameters["rank_order"].values
    assert "by-switch" not in slow.parameters["rank_order"].values
    switched = space(machine(80, 80, 80, 80, switches="abab"), **automatic)
    assert switched.parameters["rank_order"].values == ("listed", "by-switch", "across-switches")


@pytest.mark.parametrize(
    ("on", "values", "said"),
    [
        (machine(80, 80), {"nodes_dropped": "2"}, "nodes_dropped = 2 leaves none of 2 nodes: take at most 1"),
        (machine(80, 80), {"rank_order": '"sorted"'}, "rank_order = sorted: expected one of listed, fastest-first"),
        (machine(80, 80, switches="a "), {"rank_order": '"by-switch"'}, "nobody told the switch of n1: name it in"),
        (machine(None, None), {"rank_order": '"fastest-first"'}, "nobody told how fast the nodes are: write"),
        (Machine(4, 2**32, BLAS, 1000), {"nodes_dropped": "1"}, "nodes_dropped = 1: there is one node only"),
        (
            Machine(4, 2**32, BLAS, 1000, 4, chooser="Slurm"),
            {"nodes_dropped": "1"},
            "Slurm chooses the nodes of a run, so none",
        ),
        (
            Machine(4, 2**32, BLAS, 1000, 4),
            {"rank_order": '"by-switch"'},
            'chooses the nodes of a run: backend = "ssh"',
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(on: Machine, values: dict[str, str], said: str) -> None:
    with pytest.raises(SpaceError, match=said):
        space(on, **values)


def test_an_order_that_nobody_can_know_here_is_named_when_it_is_one_of_several() -> None:
    asked = {"rank_order": ["listed", "by-switch"]}
    found = load("mine", machine(80, 80), asked, text="[parameters]\nNB = 64")
    assert [point["rank_order"] for point in found] == ["listed"]
    assert "no valid combination has by-switch" in passed_over(found, asked)[0]
