"""Where nodes differ, one rank decides: that of a slow node with its blocks, or that of a fast one with more."""

from collections.abc import Mapping

import pytest

from hpl.params import Scalar
from search_spaces.machine import BlasFacts, Machine, MachineNode
from tuner.engines.slowest_rank import SlowestRank, SlowestRanks, on_equal_nodes

POINT: Mapping[str, Scalar] = {
    "N": 10_000, "NB": 192, "grid": "2x8", "layout": "16x1", "PMAP": "row", "rank_order": "listed",
}  # fmt: skip
"""Its 53 blocks of columns end in the fifth of eight process columns, with 17 columns."""


def slowest(*speeds: float | None, **changed: Scalar) -> SlowestRank:
    """The slowest rank of a point on nodes of four cores with these speeds."""
    nodes = tuple(MachineNode(f"n{number}", 4, speed) for number, speed in enumerate(speeds))
    blas = {"openblas": BlasFacts(("auto",), True)}
    return SlowestRanks(Machine(16, 2**36, blas, 10_000, 4, node_list=nodes)).of({**POINT, **changed})


def columns_beyond(process: int, NB: int, processes: int = 8) -> float:
    """Columns that a process holds beyond an even part, counted after each panel and averaged."""
    order, more = int(POINT["N"]) + 1, []
    for begin in range(0, order - processes * NB, NB):
        held = [column for column in range(begin, order) if column // NB % processes == process]
        more.append(len(held) - (order - begin) / processes)
    return sum(more) / len(more)


def test_on_equal_nodes_who_has_the_last_blocks_decides() -> None:
    assert slowest(1.0, 1.0, 0.99, 1.0) == on_equal_nodes(192, 2, 8, 0.99)
    assert slowest(None, 1.0, 1.0, 0.5) == slowest() == on_equal_nodes(192, 2, 8)


@pytest.mark.parametrize("NB", [96, 144, 192, 256])
def test_a_slow_node_holds_as_much_as_its_place_in_the_grid_gives_it(NB: int) -> None:
    found = slowest(1.0, 1.0, 1.0, 0.5, NB=NB)
    assert found.speed == 0.5
    assert found.columns == pytest.approx(max(columns_beyond(process, NB) for process in range(4, 8)), abs=NB / 16)


def test_a_node_that_is_a_little_slow_and_has_few_blocks_is_not_waited_for() -> None:
    assert slowest(1.0, 1.0, 1.0, 0.75).speed == 0.75
    assert slowest(1.0, 1.0, 1.0, 0.97).speed == 1.0


def test_a_panel_is_slow_where_one_of_its_ranks_is() -> None:
    assert slowest(1.0, 1.0, 1.0, 0.5).panels == pytest.approx(1 / 0.75)
    assert slowest(1.0, 1.0, 1.0, 0.5, PMAP="column", grid="4x4").panels == pytest.approx(1 / 0.625)
    assert slowest(1.0, 1.0, 1.0, 0.5, grid="4x4").panels == 1.0
