"""Statistics of scaling find what was planted."""

import math
import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.scaling.statistics import (
    BROADCAST,
    PARTS,
    SWAP,
    UPDATE,
    NodeOrder,
    RunGroup,
    Scaling,
    ScalingRun,
    compare_orders,
    efficiencies,
    groups,
    growth_of,
    limit_of,
    overheads,
    parts_s,
)

SORTED, SHUFFLED = NodeOrder.SORTED, NodeOrder.SHUFFLED


def a_run(
    count: int,
    efficiency: float,
    *,
    scaling: Scaling = Scaling.WEAK,
    order: NodeOrder = SORTED,
    parts: dict[str, float] | None = None,
) -> ScalingRun:
    """A run of nodes with 10 GFLOPS each; `parts` are of its time."""
    operations = 1e12 * (count if scaling is Scaling.WEAK else 1)
    gflops = 10 * count * efficiency
    time_s = operations / gflops / 1e9
    shares = {part: share * time_s for part, share in (parts or {}).items()}
    return ScalingRun(scaling, order, count, 1000, "1x1", gflops, operations, time_s, shares)


def group_of(runs: list[ScalingRun]) -> RunGroup:
    (found,) = groups(runs)
    return found


def noisy(chance: random.Random, sd: float) -> float:
    return math.exp(chance.gauss(0, sd))


def test_the_interval_of_an_efficiency_holds_the_planted_one_about_as_often_as_it_says() -> None:
    chance, held = random.Random(1), 0  # noqa: S311 - not for secrets
    for _ in range(300):
        runs = [a_run(count, own * noisy(chance, 0.03)) for count, own in ((1, 1.0), (4, 0.8)) for _ in range(3)]
        low, high = efficiencies(group_of(runs))[1].interval or (0.0, 0.0)
        held += low <= 0.8 <= high
    assert 0.88 <= held / 300 <= 0.995


def test_a_simulation_without_noise_has_no_interval_unless_lists_differ() -> None:
    runs = [a_run(1, 1.0), a_run(2, 0.9), a_run(2, 0.9)]
    assert efficiencies(group_of(runs), exact=True)[1].interval is None
    low, high = efficiencies(group_of([*runs, a_run(2, 0.8)]), exact=True)[1].interval or (0.0, 0.0)
    assert low < 0.9 < high


@given(st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=1, max_size=12))
def test_nodes_that_are_as_fast_together_have_an_efficiency_of_one(counts: list[int]) -> None:
    results = efficiencies(group_of([a_run(count, 1.0) for count in counts]))
    assert [result.efficiency for result in results] == [pytest.approx(1.0)] * len(set(counts))
    assert [result.count for result in results] == sorted(set(counts))


def test_runs_are_grouped_by_scaling_and_order() -> None:
    runs = [a_run(2, 1.0, order=SHUFFLED), a_run(1, 1.0), a_run(1, 1.0, scaling=Scaling.STRONG), a_run(2, 1.0)]
    found = [(one.scaling, one.order, list(one.runs)) for one in groups(runs)]
    assert found == [("weak", "sorted", [1, 2]), ("weak", "shuffled", [2]), ("strong", "sorted", [1])]


def orders(loss: float, seed: int) -> list[ScalingRun]:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    return [
        a_run(count, (1 - loss * (order is SHUFFLED and count > 1)) * noisy(chance, 0.01), order=order)
        for count in (1, 2, 4)
        for order in NodeOrder
        for _ in range(3)
    ]


def test_shuffled_lists_that_lose_a_fifth_are_told_with_the_loss() -> None:
    one, two = groups(orders(0.2, 3))
    compared = compare_orders(one, two)
    assert compared.differ
    assert [effect.count for effect in compared.effects] == [2, 4]
    for effect in compared.effects:
        low, high = effect.interval or (0.0, 0.0)
        assert low < 0.2 < high


def test_orders_that_do_not_matter_are_seldom_told_to_differ() -> None:
    differ = sum(compare_orders(*groups(orders(0.0, seed))).differ for seed in range(60))
    assert differ <= 7


def test_an_order_that_helps_on_some_nodes_and_hurts_on_others_matters() -> None:
    runs = [a_run(count, 1.0) for count in (2, 4, 8)]
    runs += [a_run(count, 1.0) for count in (2, 4, 8) for _ in range(2)]
    runs += [a_run(count, own, order=SHUFFLED) for count, own in ((2, 0.9), (4, 1.1), (8, 0.9)) for _ in range(3)]
    assert compare_orders(*groups(runs)).differ


def test_one_exact_rate_is_compared_with_the_mean_of_shuffled_lists() -> None:
    same = [a_run(4, 1.0), *(a_run(4, own, order=SHUFFLED) for own in (0.97, 1.03, 1.0))]
    slower = [a_run(4, 1.0), *(a_run(4, own, order=SHUFFLED) for own in (0.77, 0.81, 0.8))]
    assert not compare_orders(*groups(same), exact=True).differ
    assert compare_orders(*groups(slower), exact=True).differ


def test_one_node_has_no_order() -> None:
    runs = [a_run(1, own, order=order) for order, own in ((SORTED, 1.0), (SHUFFLED, 0.5))]
    compared = compare_orders(*groups(runs))
    assert (compared.effects, compared.p, compared.differ) == ((), None, False)


TIMERS = st.fixed_dictionaries({name: st.floats(0, 100) for name in ("rfact", "update", "laswp", "up tr sv")})


@given(st.floats(1, 400), TIMERS)
def test_the_parts_of_a_time_are_together_the_time(time_s: float, timers_s: dict[str, float]) -> None:
    parts = parts_s(time_s, timers_s)
    assert tuple(parts) == PARTS
    assert all(seconds >= 0 for seconds in parts.values())
    assert sum(parts.values()) == pytest.approx(time_s)


def test_a_run_that_hpl_did_not_time_has_no_parts() -> None:
    assert parts_s(10.0, {"rfact": 1.0}) == {}
    assert parts_s(0.9, dict.fromkeys(("rfact", "update", "laswp", "up tr sv"), 0.1)) == {}
    assert overheads(group_of([a_run(1, 1.0), a_run(2, 0.5)])) == []


FEW = {**dict.fromkeys(PARTS, 0.0), UPDATE: 0.9, SWAP: 0.1}


def test_the_planted_loss_is_found_and_named() -> None:
    more = {**FEW, UPDATE: 0.9 * 0.7, SWAP: 0.1 * 0.7, BROADCAST: 0.3}
    group = group_of([a_run(1, 1.0, parts=FEW), a_run(4, 0.7, parts=more)])
    spent = overheads(group)
    assert spent[1].lost[BROADCAST] == pytest.approx(0.3)
    assert spent[1].lost[UPDATE] == pytest.approx(0.0)
    assert sum(spent[1].lost.values()) == pytest.approx(1 - 0.7)
    limit = limit_of(group, efficiencies(group), spent)
    assert limit.part == BROADCAST
    assert limit.lost == pytest.approx(0.3)
    assert limit.share == pytest.approx(0.3)


def test_nothing_limits_what_loses_little() -> None:
    group = group_of([a_run(1, 1.0, parts=FEW), a_run(4, 0.96, parts=FEW)])
    limit = limit_of(group, efficiencies(group), overheads(group))
    assert limit.result.efficiency > 0.95
    assert limit.part is None


def test_that_nothing_limits_is_sure_only_where_the_whole_interval_says_so() -> None:
    chance = random.Random(5)  # noqa: S311 - not for secrets
    wild = group_of([a_run(count, noisy(chance, 0.3), parts=FEW) for count in (1, 4) for _ in range(3)])
    calm = group_of([a_run(count, 1.0, parts=FEW) for count in (1, 4) for _ in range(3)])
    limits = [limit_of(group, efficiencies(group), overheads(group)) for group in (wild, calm)]
    assert [limit.surely_little for limit in limits] == [False, True]
    assert [limit.perhaps_nothing for limit in limits] == [True, True]


@pytest.mark.parametrize("part", [0.0, 0.05, 0.3])
def test_amdahls_serial_part_is_found(part: float) -> None:
    chance = random.Random(2)  # noqa: S311 - not for secrets

    def efficiency(count: int) -> float:
        return 1 / count / (part + (1 - part) / count) * noisy(chance, 0.005)

    runs = [a_run(count, efficiency(count), scaling=Scaling.STRONG) for count in (1, 2, 4, 8) for _ in range(3)]
    growth = growth_of(group_of(runs))
    assert growth is not None
    assert growth.part == pytest.approx(part, abs=0.02)
    low, high = growth.interval or (1.0, 0.0)
    assert low <= growth.part <= high


def test_what_each_doubling_adds_to_weak_scaling_is_found() -> None:
    runs = [a_run(count, 1 / (1 + 0.1 * math.log2(count))) for count in (1, 2, 4, 8)]
    growth = growth_of(group_of(runs))
    assert growth is not None
    assert growth.part == pytest.approx(0.1)
    assert growth_of(group_of(runs[:1])) is None
    assert growth.doubled() == pytest.approx(2 * 1.3 / 1.4)


def test_the_interval_of_a_growth_holds_the_planted_one_although_the_smallest_number_varies_too() -> None:
    chance, held = random.Random(4), 0  # noqa: S311 - not for secrets
    for _ in range(300):
        runs = [a_run(count, own * noisy(chance, 0.03)) for count, own in ((1, 1.0), (2, 0.8)) for _ in range(3)]
        growth = growth_of(group_of(runs))
        low, high = (growth.interval if growth else None) or (0.0, 0.0)
        held += low <= 0.25 <= high
    assert 0.9 <= held / 300 <= 0.995


@pytest.mark.parametrize("scaling", Scaling)
def test_the_growth_between_two_numbers_says_what_their_efficiency_says(scaling: Scaling) -> None:
    chance = random.Random(6)  # noqa: S311 - not for secrets
    group = group_of([a_run(count, noisy(chance, 0.1), scaling=scaling) for count in (2, 4) for _ in range(2)])
    growth, (_, more) = growth_of(group), efficiencies(group)
    assert growth is not None
    assert growth.interval is not None
    assert more.interval is not None
    told = [1 / efficiency - 1 for efficiency in (more.efficiency, *reversed(more.interval))]
    assert [growth.part, *growth.interval] == pytest.approx([max(0.0, one) for one in told])


def test_by_amdahls_law_twice_the_nodes_gain_nothing_where_all_of_the_time_stays() -> None:
    growth = growth_of(group_of([a_run(count, 1 / count, scaling=Scaling.STRONG) for count in (1, 2, 4)]))
    assert growth is not None
    assert growth.doubled() == pytest.approx(1.0)


def test_the_rate_of_a_number_of_nodes_is_the_geometric_mean() -> None:
    result = efficiencies(group_of([a_run(1, 1.0), a_run(1, 4.0)]))[0]
    assert result.usual_gflops == pytest.approx(20.0)
    assert fmean(result.gflops) == pytest.approx(25.0)
