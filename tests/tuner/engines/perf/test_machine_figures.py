"""What is believed of a machine before its first run: the usual, but for what was timed."""

import numpy as np
import pytest
from engine_contract import space_of

from tuner.engines.model.pool import Pool
from tuner.engines.outcomes import FULL
from tuner.engines.probes import UNKNOWN, Messages, Probes, prior

SLOW = Messages(latency_s=80e-6, bytes_s=11.8e6)
SPACE = """
[parameters]
layout = "4x1"
blas = "openblas"
NB = [64, 128]
grid = ["1x4", "2x2", "4x1"]
"""


def believed(messages: Messages | None, nodes: int = 4, half_nb: float | None = None) -> dict[str, tuple[float, float]]:
    """The most likely value of each quantity, and how far it may be off."""
    found = prior(Probes(nodes=nodes, messages=messages, half_nb=half_nb))
    return dict(zip(UNKNOWN, zip(np.exp(found.usual), found.spread, strict=True), strict=True))


def test_nothing_is_known_but_the_usual_where_no_message_was_timed() -> None:
    assert believed(None) == {name: pytest.approx(of) for name, of in UNKNOWN.items()}


@pytest.mark.parametrize(("nodes", "prefix", "other"), [(4, "", "near_"), (1, "near_", "")])
def test_a_ping_pong_tells_of_the_way_it_took_and_of_no_other(nodes: int, prefix: str, other: str) -> None:
    found = believed(SLOW, nodes)
    assert found[f"{prefix}latency"][0] == pytest.approx(80e-6)
    for quantity in ("latency", "bandwidth"):
        assert found[prefix + quantity][1] < UNKNOWN[prefix + quantity][1]
        assert found[other + quantity] == pytest.approx(UNKNOWN[other + quantity])


@pytest.mark.parametrize("mtu", [1500, 9000])
def test_bytes_and_packets_take_together_what_was_measured(mtu: int) -> None:
    found = believed(Messages.under({"net.mtu": mtu}, 80e-6, 11.8e6))
    assert 1 / found["bandwidth"][0] + found["packet"][0] / mtu == pytest.approx(1 / 11.8e6)


@pytest.mark.parametrize(("held_us", "left_us"), [(0, 80.0), (60, 50.0), (500, 20.0)])
def test_interrupts_that_were_held_back_are_not_counted_twice(held_us: int, left_us: float) -> None:
    found = believed(Messages.under({"net.rx_usecs": held_us}, 80e-6, 11.8e6))
    assert found["latency"][0] == pytest.approx(1e-6 * left_us)


def test_what_narrow_blocks_cost_is_believed_as_it_was_timed() -> None:
    found = believed(None, half_nb=90.0)
    assert found["half_nb"][0] == pytest.approx(90.0)
    assert found["half_nb"][1] < UNKNOWN["half_nb"][1]
    assert {**found, "half_nb": 0} == {**believed(None), "half_nb": 0}


def test_where_narrow_blocks_cost_much_wide_ones_are_expected_to_win() -> None:
    def gained(half_nb: float) -> float:
        pool = Pool(space_of(SPACE), 0, Probes(half_nb=half_nb))
        rates = {
            (point["NB"], point["grid"]): mean
            for point, mean in zip(pool.points, pool.modelled(FULL).mean, strict=True)
        }
        return float(rates[128, "2x2"] - rates[64, "2x2"])

    assert gained(100.0) > gained(10.0) + 0.1


def expected(space: str, messages: Messages | None) -> dict[str, float]:
    """The rate that is expected of each grid before the first run."""
    pool = Pool(space_of(space), 0, Probes(nodes=4, messages=messages))
    return {str(point["grid"]): mean for point, mean in zip(pool.points, pool.modelled(FULL).mean, strict=True)}


def test_a_slow_network_is_expected_to_cost_what_a_usual_one_does_not() -> None:
    slow, usual = expected(SPACE, SLOW), expected(SPACE, None)
    assert all(slow[grid] < usual[grid] - 0.5 for grid in slow)
    assert slow["2x2"] - slow["4x1"] > usual["2x2"] - usual["4x1"]


@pytest.mark.parametrize(
    "way", ['mpi = ["openmpi", "mpich"]', 'net.interface = ["eth0", "eth1"]', 'mpi.btl = ["tcp,self", "vader,self"]']
)
def test_where_ways_differ_what_one_took_says_nothing_of_the_others(way: str) -> None:
    assert expected(SPACE + way, SLOW) == expected(SPACE + way, None)
    assert expected(SPACE, SLOW) != expected(SPACE, None)
