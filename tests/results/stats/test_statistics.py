import math
from dataclasses import replace

import pytest
from record_builders import begun, finished

from results.record import BlasObservation, Invalidity, Kind, TrialRecord, TrialState
from results.stats.confidence import rerank_by_posterior
from results.stats.ranking import Ranked, on_the_hosts_left, rank, relative_sd


def runs(key: str, *gflops: float, first: int = 1) -> list[TrialRecord]:
    return [finished(number, rate, key=key) for number, rate in enumerate(gflops, start=first)]


def invalid(state: TrialState, invalidity: Invalidity | None = None, gflops: float | None = 1e6) -> TrialRecord:
    return finished(9, gflops, state=state, invalidity=invalidity)


def test_configurations_come_best_median_first() -> None:
    ranking = rank([*runs("lucky", 60, 99, 61), *runs("steady", 70, 71, 70.5)])
    assert [(entry.key, entry.median_gflops) for entry in ranking] == [("steady", 70.5), ("lucky", 61)]


def test_a_configuration_seen_once_stands_behind_those_that_were_repeated_where_luck_may_have_made_it_faster() -> None:
    others = [*runs("twice", 70, 71), *runs("slow twice", 69, 70)]
    assert [entry.key for entry in rerank_by_posterior(rank([*runs("once", 70.6), *others]))] == [
        "twice",
        "once",
        "slow twice",
    ]
    assert [entry.key for entry in rerank_by_posterior(rank([*runs("once", 99), *others]))] == [
        "once",
        "twice",
        "slow twice",
    ]


def test_without_repeats_the_fastest_is_first() -> None:
    assert [entry.key for entry in rank([*runs("a", 70), *runs("b", 71)])] == ["b", "a"]


def test_nothing_measured_gives_no_ranking() -> None:
    assert rank([]) == []


@pytest.mark.parametrize(
    "record",
    [
        invalid(TrialState.RUNNING, gflops=None), invalid(TrialState.FAILED, Invalidity.TIMEOUT, gflops=None),
        invalid(TrialState.FAILED, Invalidity.CORRECTNESS), invalid(TrialState.CANCELLED),
        finished(9, 1e6, passed=False), finished(9, 1e6, passed=None), finished(9, None), finished(9, math.nan),
        finished(9, math.inf), finished(9, 0.0), begun(number=9),
    ],
)  # fmt: skip
def test_only_a_complete_run_whose_residual_passed_is_ranked(record: TrialRecord) -> None:
    assert rank([record]) == []
    (entry,) = rank([*runs(record.key, 70.0), record])
    assert entry.gflops == (70.0,)


@pytest.mark.parametrize("kind", [Kind.PILOT, Kind.EXTRAPOLATION, Kind.SMALL, Kind.PREFIX, Kind.GIVEN_UP])
def test_runs_that_are_less_than_full_ones_are_not_ranked(kind: Kind) -> None:
    smaller = [finished(number, 99.0, key="", kind=kind) for number in (1, 2)]
    assert [entry.key for entry in rank([*smaller, *runs("a", 70)])] == ["a"]


@pytest.mark.parametrize("kind", [Kind.SEARCH, Kind.CONFIRMATION, Kind.RUN])
def test_all_other_kinds_are_ranked_together(kind: Kind) -> None:
    (entry,) = rank([*runs("a", 70), finished(2, 72.0, key="a", kind=kind)])
    assert entry.gflops == (70, 72)


def test_failed_runs_of_a_ranked_configuration_are_counted() -> None:
    (entry,) = rank([*runs(begun().key, 70, 71), invalid(TrialState.FAILED, Invalidity.CORRECTNESS)])
    assert (entry.runs, entry.failed_runs) == (2, 1)


def test_the_run_nearest_to_the_median_represents_a_configuration() -> None:
    (entry,) = rank(runs("a", 50, 90, 69, 70, 71, first=5))
    assert entry.best_record_number == 8
    assert entry.range_gflops == (50, 90)


def test_half_the_range_in_percent() -> None:
    assert Ranked("a", {}, (90.0, 100.0, 110.0), 1).spread_percent == pytest.approx(10.0)
    assert Ranked("a", {}, (90.0,), 1).spread_percent is None


def test_relative_sd_pools_repeats_by_their_degrees_of_freedom() -> None:
    entries = [Ranked("a", {}, (99.0, 101.0), 1), Ranked("b", {}, (8.0, 10.0, 12.0), 2), Ranked("c", {}, (5.0,), 3)]
    squares = 2 * 0.01**2 + 2 * 0.2**2
    assert relative_sd(entries) == pytest.approx(math.sqrt(squares / 3))


def test_relative_sd_needs_a_repeat() -> None:
    assert relative_sd([Ranked("a", {}, (5.0,), 1)]) is None


def test_what_ran_on_a_node_that_was_lost_is_not_ranked_among_what_ran_on_those_left() -> None:
    def on(*hosts: str) -> BlasObservation:
        return BlasObservation("/lib/libopenblas.so.0", "0.3.21", "SkylakeX", 1, hosts)

    whole = finished(1, 90.0, key="whole", observed=on("h1", "h2", "h3"))
    same = finished(2, 80.0, key="left", observed=on("h1", "h2", "h3"))
    died = finished(3, None, key="left", state=TrialState.FAILED, observed=None)
    left = finished(4, 60.0, key="left", observed=on("h1", "h2"))
    (entry,) = rank(on_the_hosts_left([whole, same, died, left]))
    assert (entry.key, entry.gflops, entry.failed_runs, entry.hosts) == ("left", (60.0,), 1, 2)
    assert len(rank(on_the_hosts_left([whole, same]))) == 2


def test_what_drops_a_node_of_its_own_will_is_ranked_among_what_uses_all() -> None:
    def on(number: int, hosts: tuple[str, ...], **params: int) -> TrialRecord:
        observed = BlasObservation("/lib/libopenblas.so.0", "0.3.21", "SkylakeX", 1, hosts)
        record = finished(number, 90.0, key=str(number), observed=observed)
        return replace(record, params={**record.params, **params})

    all_three, fewer = on(1, ("h1", "h2", "h3"), nodes_dropped=0), on(2, ("h1", "h3"), nodes_dropped=1)
    assert len(rank(on_the_hosts_left([all_three, fewer]))) == 2
    after_loss = on(3, ("h1",), nodes_dropped=1)
    assert [entry.key for entry in rank(on_the_hosts_left([all_three, fewer, after_loss]))] == ["3"]
