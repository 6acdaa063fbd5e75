"""HPL's model, fitted to runs on few nodes, predicts more of them."""

import numpy as np
import pytest

from hpl.params import Scalar
from hpl.sizing import flop_count
from tuner.engines.hpl_time import Shapes, log_rate, shape_row
from tuner.engines.probes import Probes, prior
from tuner.machine.problem_size import textbook
from tuner.scaling.findings import MeasuredPoint, fit_machine

DGEMM = {"openblas": {"auto": 20.0}}


def point(count: int) -> dict[str, Scalar]:
    N = int(4000 * count**0.5) // 64 * 64
    assert flop_count(N) > 0
    return textbook(N=N, NB=64, blas="openblas", kernel="auto", ranks=2 * count, threads=1)


def planted_gflops(count: int, seed: int) -> float:
    """The rate on a machine whose figures are drawn from what is usual."""
    usual = prior(Probes(DGEMM))
    drawn = usual.at(0.5 * np.random.default_rng(seed).standard_normal(len(usual.usual)))
    return float(np.exp(log_rate(Shapes(np.array([shape_row(point(count), Probes(DGEMM, count))])), drawn[None]))[0, 0])


def measured(counts: tuple[int, ...], seed: int) -> list[MeasuredPoint]:
    return [MeasuredPoint(point(count), count, (planted_gflops(count, seed),)) for count in counts]


def test_twice_the_nodes_are_predicted_within_the_interval() -> None:
    held = 0
    for seed in range(30):
        known = measured((1, 2, 4, 8), seed)
        expected = fit_machine(known, DGEMM, 0.01, one_machine=False).expected(point(16), 16, known[-1])
        low, high = expected.interval_gflops
        held += low <= planted_gflops(16, seed) <= high
    assert held >= 27


def test_a_network_that_no_run_used_makes_the_interval_wide() -> None:
    def width(counts: tuple[int, ...]) -> float:
        known = measured(counts, 1)
        low, high = (
            fit_machine(known, DGEMM, 0.01, one_machine=False)
            .expected(point(2 * counts[-1]), 2 * counts[-1], known[-1])
            .interval_gflops
        )
        return high / low

    assert width((1,)) > 2 * width((1, 2, 4, 8))


def test_what_the_model_misses_at_most_nodes_is_missed_at_twice_as_many() -> None:
    known = measured((1, 2, 4), 2)
    machine = fit_machine(known, DGEMM, 0.01, one_machine=False)
    slower = MeasuredPoint(known[-1].params, 4, (0.8 * known[-1].gflops[0],))
    usual, less = (machine.expected(point(8), 8, like).gflops for like in (known[-1], slower))
    assert less / usual == pytest.approx(0.8)
