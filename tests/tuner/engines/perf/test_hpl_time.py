"""HPL's model: what its algorithm says of configurations, rung by rung, and what runs teach about the machine."""

import itertools
from collections.abc import Mapping

import numpy as np
import pytest
from engine_contract import space_of
from hypothesis import given
from hypothesis import strategies as st

from hpl.params import Scalar
from tuner.engines.hpl_time import Shapes, log_rate, shape_row, straightened
from tuner.engines.model.pool import Pool
from tuner.engines.outcomes import FULL
from tuner.engines.probes import UNKNOWN, Probes, prior

DGEMM = {"openblas": {"auto": 20.0}}
POINT: Mapping[str, Scalar] = {
    "N": 20_000, "NB": 192, "grid": "2x2", "layout": "4x1", "blas": "openblas", "BCAST": "1rM", "DEPTH": 0,
    "SWAP": "mix", "swap_threshold": 64, "PMAP": "row",
}  # fmt: skip


def rate(
    changed: Mapping[str, Scalar] | None = None, *, nodes: int = 4, part: float = 1.0, columns: float = 1.0
) -> float:
    """GFLOPS of the point on a usual machine, with words of the point or quantities of the machine changed."""
    words = dict(changed or {})
    unknown = np.log([float(words.pop(name, usual)) for name, (usual, _) in UNKNOWN.items()])
    shapes = Shapes(np.array([shape_row({**POINT, **words}, Probes(DGEMM, nodes))]))
    return float(np.exp(log_rate(shapes, unknown, part, columns)[0]))


def test_larger_systems_come_nearer_to_the_rate_of_dgemm_and_never_beyond_it() -> None:
    rates = [rate({"N": N}) for N in (1_000, 5_000, 20_000, 100_000)]
    assert rates == sorted(rates)
    assert rates[-1] < 4 * 20.0


def test_one_core_takes_no_messages() -> None:
    alone: Mapping[str, Scalar] = {"grid": "1x1", "layout": "1x1"}
    assert rate(alone) == rate({**alone, "latency": 1.0, "bandwidth": 1.0, "near_latency": 1.0, "near_bandwidth": 1.0})


def test_ranks_of_one_node_do_not_feel_the_network() -> None:
    assert rate(nodes=1) == rate({"bandwidth": 1e6}, nodes=1)
    assert rate() > 2 * rate({"bandwidth": 1e6})


@pytest.mark.parametrize(("grid", "mapping"), [("4x2", "row"), ("2x4", "column")])
def test_what_stays_within_a_node_is_cheap(grid: str, mapping: str) -> None:
    slow: Mapping[str, Scalar] = {"layout": "8x1", "grid": grid, "PMAP": mapping, "bandwidth": 1e7}
    broadcast, swap = rate({**slow, "hop": 5.0}) / rate(slow), rate({**slow, "long": 5.0}) / rate(slow)
    within, across = (broadcast, swap) if mapping == "row" else (swap, broadcast)
    assert within > 0.95
    assert across < 0.7


def test_a_ring_goes_between_nodes_once_a_node_but_no_faster_than_that_message() -> None:
    row: Mapping[str, Scalar] = {"layout": "8x1", "grid": "1x8"}
    assert rate(row, nodes=1) > rate(row, nodes=2) > rate(row, nodes=8)
    slow = {**row, "bandwidth": 1e7}
    assert rate({**slow, "hop": 0.1}, nodes=2) == rate({**slow, "hop": 0.2}, nodes=2)


@pytest.mark.parametrize(("swap", "grids"), [("bin", ("2x4", "4x2", "8x1")), ("long", ("2x4", "4x2"))])
def test_columns_with_more_rows_on_a_node_send_no_less_to_the_others(swap: str, grids: tuple[str, ...]) -> None:
    """Four ranks on each of two nodes; each row that is added to a column brings as many bytes to exchange."""
    slow: Mapping[str, Scalar] = {"layout": "8x1", "SWAP": swap, "bandwidth": 1e8}
    rates = [rate({**slow, "grid": grid}, nodes=2) for grid in grids]
    assert all(taller < 0.95 * flatter for flatter, taller in itertools.pairwise(rates))


def test_ranks_of_a_column_wait_for_each_other_at_each_pivot_and_those_of_a_row_do_not() -> None:
    small: Mapping[str, Scalar] = {"layout": "2x1", "N": 2_000}
    tall, flat = (rate({**small, "grid": grid, "pivot": 2e-5}, nodes=1) for grid in ("2x1", "1x2"))
    assert flat == rate({**small, "grid": "1x2"}, nodes=1)
    assert tall < 0.95 * rate({**small, "grid": "2x1"}, nodes=1)


@pytest.mark.parametrize(("depth", "matters"), [(0, False), (1, True)])
def test_swaps_take_another_time_with_look_ahead(depth: int, matters: bool) -> None:  # noqa: FBT001
    tall: Mapping[str, Scalar] = {"grid": "2x2", "DEPTH": depth}
    assert (rate({**tall, "swap_ahead": 0.5}) > rate({**tall, "swap_ahead": 1.0})) is matters


def test_rings_are_alike_between_two_columns_and_differ_among_more() -> None:
    assert len({rate({"BCAST": ring}) for ring in ("1rg", "1rM", "2rg", "2rM")}) == 1
    assert rate({"BCAST": "1rM", "grid": "1x4"}) > rate({"BCAST": "1rg", "grid": "1x4"})


def test_look_ahead_hides_more_of_a_broadcast_in_rings_than_of_one_in_parts() -> None:
    small: Mapping[str, Scalar] = {"grid": "1x4", "N": 8_000}
    ring, parts = (rate({**small, "BCAST": way, "DEPTH": 1}) / rate({**small, "BCAST": way}) for way in ("1rM", "Lng"))
    assert ring > 1 > parts


def test_mix_swaps_in_rounds_up_to_its_threshold() -> None:
    tall: Mapping[str, Scalar] = {"grid": "4x1"}
    assert rate({**tall, "SWAP": "mix", "swap_threshold": 10**9}) == rate({**tall, "SWAP": "bin"})
    assert rate({**tall, "SWAP": "mix", "swap_threshold": 0}) == rate({**tall, "SWAP": "long"})


def test_frames_and_interrupts_of_the_network_count() -> None:
    slow: Mapping[str, Scalar] = {"packet": 3e-5, "N": 5_000}
    assert rate({**slow, "net.mtu": 9000}) > 1.05 * rate({**slow, "net.mtu": 1500})
    assert rate({"net.rx_usecs": 0}) > rate({"net.rx_usecs": 200})


def test_the_first_columns_are_faster_than_the_whole_and_a_small_run_is_slower() -> None:
    assert rate(columns=0.1) > rate() > rate(part=0.35)
    assert rate(part=0.5) == pytest.approx(rate({"N": 10_000}))


@given(st.lists(st.floats(-1.5, 1.5), min_size=len(UNKNOWN), max_size=len(UNKNOWN)))
def test_the_straight_line_touches_the_model_where_it_was_drawn(moved: list[float]) -> None:
    points = [POINT, {**POINT, "grid": "1x4"}, {**POINT, "grid": "4x1", "DEPTH": 1}, {**POINT, "PFACT": "left"}]
    shapes = Shapes(np.array([shape_row(point, Probes(DGEMM, 4)) for point in points]))
    assert len(shapes.distinct[0]) == 3
    here, usual = np.array(moved), prior(Probes())
    line = straightened(shapes, usual, here, 1.0, 1.0)
    assert line.mean + line.slopes @ here == pytest.approx(log_rate(shapes, usual.at(here)))
    near = here + 0.01
    assert line.mean + line.slopes @ near == pytest.approx(log_rate(shapes, usual.at(near)), abs=2e-3)


def test_what_hpl_cannot_tell_apart_the_model_does_not_either() -> None:
    text = '[parameters]\nlayout = "4x1"\nblas = "openblas"\nNB = 128\ngrid = "4x1"\nDEPTH = '
    rates = [Pool(space_of(f"{text}{DEPTH}"), 0, Probes(DGEMM, 4)).modelled(FULL).mean for DEPTH in (0, 1)]
    assert rates[0] == pytest.approx(rates[1])
