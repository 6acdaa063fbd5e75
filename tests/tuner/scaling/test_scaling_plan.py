"""Which runs a scaling analysis makes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import UsageError
from tuner.scaling.runs import ScalingPlan, check_counts, largest_affordable_n, memory_n, usual_counts
from tuner.scaling.statistics import NodeOrder, Scaling

BOTH = tuple(Scaling)


def a_plan(n: int = 1000, seed: int = 0, repeats: int = 2, counts: tuple[int, ...] = (1, 2, 4)) -> ScalingPlan:
    return ScalingPlan(counts, BOTH, tuple(NodeOrder), repeats, seed, n, 50, 8)


@given(st.integers(2, 3000))
def test_usual_numbers_of_nodes_double_and_end_with_all(size: int) -> None:
    counts = usual_counts(size)
    assert counts[0] == 1
    assert counts[-1] == size
    assert all(later == 2 * earlier for earlier, later in pairwise(counts[:-1]))


@pytest.mark.parametrize(
    ("counts", "size", "sentence"),
    [
        ((), 1, "lab has one node: there is nothing that HPL could scale over"),
        ((1, 16), 8, "⟦nodes⟧ 16: lab has 8 nodes"),
        ((4, 4), 8, "⟦nodes⟧ 4: name at least two numbers, for example ⟦nodes⟧ 1,8"),
    ],
)
def test_numbers_that_cannot_be_compared_are_refused(counts: tuple[int, ...], size: int, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_counts(counts, size, "node", "lab")
    assert str(refused.value) == sentence


@given(st.integers(500, 100_000), st.sampled_from([2, 4, 8]))
def test_weak_scaling_keeps_the_memory_of_each_node_and_strong_scaling_keeps_n(n: int, count: int) -> None:
    plan = a_plan(n)
    weak = plan.n_of(Scaling.WEAK, count)
    assert weak % plan.nb == 0
    assert n**2 * 0.8 <= weak**2 / count <= n**2
    assert plan.n_of(Scaling.STRONG, count) == n


def test_runs_on_the_fewest_nodes_serve_both_kinds_of_scaling() -> None:
    plan = a_plan()
    runs = list(plan.runs())
    assert len(runs) == len(set(runs)) == 2 * 2 * (1 + 2 + 2)
    assert plan.scalings_of(runs[0]) == BOTH
    assert [run.count for run in runs[:10]] == sorted(run.count for run in runs[:10])


def test_sorted_lists_begin_with_the_first_node_and_shuffled_ones_differ_in_each_repeat() -> None:
    runs = [run for run in a_plan(repeats=4).runs() if run.count == 4 and run.N == 1000]
    in_order = {run.nodes for run in runs if run.order is NodeOrder.SORTED}
    shuffled = [run.nodes for run in runs if run.order is NodeOrder.SHUFFLED]
    assert in_order == {(0, 1, 2, 3)}
    assert len(set(shuffled)) == 4
    assert all(len(set(nodes)) == 4 and max(nodes) < 8 for nodes in shuffled)
    assert set(a_plan(repeats=4).runs()) == set(a_plan(repeats=4).runs())
    assert set(a_plan(seed=1).runs()) != set(a_plan(seed=2).runs())


def test_sorted_lists_of_an_exact_simulation_run_once() -> None:
    runs = list(a_plan(repeats=3).runs(exact=True))
    assert {run.repeat for run in runs if run.order is NodeOrder.SORTED} == {0}
    assert {run.repeat for run in runs if run.order is NodeOrder.SHUFFLED} == {0, 1, 2}


def test_n_follows_from_the_time_and_the_memory() -> None:
    def make(n: int) -> ScalingPlan:
        return a_plan(n)

    short, long = (largest_affordable_n(make, 10.0, limit_s, 100_000) for limit_s in (60.0, 600.0))
    assert 512 - 50 < short < long < 100_000
    assert largest_affordable_n(make, 10.0, 1e9, 20_000) == 20_000


def test_weak_scaling_fits_the_memory_of_the_most_nodes_too() -> None:
    def holds(count: int) -> int:
        return {1: 10_000, 2: 14_000, 4: 16_000}[count]

    assert memory_n(holds, (1, 2, 4), BOTH, 50) == 8_000
    assert memory_n(holds, (1, 2, 4), (Scaling.STRONG,), 50) == 10_000
