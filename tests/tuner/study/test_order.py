"""Rounds of libraries: what is a round, when an order is known, and what is told of it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from record_builders import DISTURBED, a_study, begun, finished
from report_reading import printed

from results.record import Kind, TrialRecord, TrialState
from results.report.model import Report
from results.stats.ranking import Ranked
from results.store.store import Store
from tuner.reports.library_ranking import LibraryRanking
from tuner.study.order import Order, contradicted, near

NEAR = {"openblas": 100.0, "blis": 97.0}
SPEEDS = {"openblas": 9.64, "atlas": 1.50, "blis": 0.39}


def rounds(rates: Mapping[str, float], count: int, session: int = 2) -> list[TrialRecord]:
    """Runs of each library in so many rounds, each time in another order; rates differ by some tenths of a percent."""
    runs = [
        [
            run(name, rates[name] * (1 + (-1) ** (turn + place) / 500), session=session)
            for place, name in enumerate(rates)
        ]
        for turn in range(count)
    ]
    return [record for turn, one in enumerate(runs) for record in (one if turn % 2 else reversed(one))]


def run(blas: str, gflops: float | None, kind: Kind = Kind.CONFIRMATION, session: int = 2) -> TrialRecord:
    params = {"blas": blas, "NB": 192, "N": 6000}
    return finished(0, gflops, kind=kind, key=f"{blas}|192", params=params, blas=blas, session=session)


def failed(blas: str) -> TrialRecord:
    failed = finished(0, None, kind=Kind.CONFIRMATION, key=blas, params={"blas": blas}, session=2, passed=None)
    return TrialRecord(**{**vars(failed), "state": TrialState.FAILED, "reason": "it crashed"})


def test_a_clear_order_is_known_after_few_rounds_and_not_after_two() -> None:
    assert not (two := Order.of(rounds(NEAR, 2), NEAR)).known
    assert all(place.behind is None for place in two.places)
    order = Order.of(rounds(NEAR, 5), NEAR)
    assert order.known
    assert [place.blas for place in order.places] == ["openblas", "blis"]
    assert [place.blas for place in order.tied] == ["openblas"]


def test_libraries_that_are_alike_are_a_tie_however_often_they_run() -> None:
    order = Order.of(rounds({"openblas": 100.0, "blis": 100.0}, 12), ["openblas", "blis"])
    assert not order.known
    assert len(order.tied) == 2


def test_of_three_the_last_may_be_sure_while_the_first_two_are_a_tie() -> None:
    rates = {"openblas": 100.0, "blis": 100.0, "atlas": 80.0}
    order = Order.of(rounds(rates, 6), list(rates))
    assert not order.known
    assert {place.blas for place in order.tied} == {"openblas", "blis"}
    assert order.places[2].surely_behind


def test_a_round_that_was_stopped_or_in_which_a_run_failed_does_not_count() -> None:
    whole = rounds(NEAR, 3)
    stopped = [*whole, run("blis", 97.0), *rounds(NEAR, 2, session=3)]
    assert len(Order.of(stopped, NEAR).whole) == 5
    assert len(Order.of([*whole, run("blis", 97.0), failed("openblas")], NEAR).whole) == 3


def test_a_library_that_was_taken_out_leaves_the_rounds_of_the_others() -> None:
    three = [*rounds({**NEAR, "atlas": 90.0}, 2), failed("atlas")]
    found = Order.of([*three, *rounds(NEAR, 3)])
    assert set(found.rivals) == {"openblas", "blis"}
    assert len(found.whole) == 5


def test_without_a_round_or_a_rival_there_is_no_order() -> None:
    assert not Order.of([], NEAR).places
    assert not Order.of(rounds(NEAR, 3), ["blis"]).places


@pytest.mark.parametrize("measured", [DISTURBED, {}])
def test_rounds_that_are_not_known_to_be_undisturbed_tell_nothing(measured: Mapping[str, float]) -> None:
    loaded = [replace(one, measurements=measured) for one in rounds(NEAR, 8)]
    order = Order.of(loaded, NEAR)
    assert (order.known, bool(order.whole), len(order.quiet)) == (False, True, 0)
    assert all(place.behind is None for place in order.places)
    assert not Order.of(loaded, NEAR).leads_of([("openblas", "blis")])
    mixed = Order.of([*loaded, *rounds(NEAR, 5)], NEAR)
    assert (mixed.known, len(mixed.quiet)) == (True, 5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hpltune.db") as store:
        store.create_study(a_study("blas-1", options={"seed": 0, "shootout": True}))
        yield store


def told(store: Store, records: list[TrialRecord]) -> str:
    """What people read of a study with these trials."""
    for record in records:
        number = store.begin(begun("blas-1", record.key, record.kind, params=record.params, session=record.session))
        store.finish(TrialRecord(**{**vars(record), "study": "blas-1", "number": number}))
    ranking = LibraryRanking.stored(store, store.study("blas-1"))
    return " ".join(printed(Report("", tuple(ranking.parts()))).split())


def searched(rates: Mapping[str, float]) -> list[TrialRecord]:
    return [run(name, rate, Kind.SEARCH, 0) for name, rate in rates.items() for _ in range(2)]


def test_the_report_names_the_fastest_with_its_lead(store: Store) -> None:
    text = told(store, [*searched(NEAR), *rounds(NEAR, 5)])
    assert "openblas is the fastest with 95 % confidence: it is 3." in text
    assert "faster than blis (95 % interval: " in text


def test_the_report_of_a_tie_says_how_large_a_difference_may_be(store: Store) -> None:
    alike = {"openblas": 100.0, "blis": 100.0}
    text = told(store, [*searched(alike), *rounds(alike, 6)])
    assert "are a tie: 6 rounds show no sure difference. If there is one, it is below 0." in text


@pytest.mark.parametrize("measured", [DISTURBED, {}])
def test_of_a_loaded_machine_nothing_is_called_fastest_and_the_end_says_why(
    store: Store, measured: Mapping[str, float]
) -> None:
    far = {"openblas": 100.0, "blis": 20.0, "reference": 5.0}
    slow_dgemm(store, reference=3.0, blis=39.0)
    loaded = [replace(one, measurements=measured) for one in (*searched(far), *rounds(far, 6))]
    text = told(store, loaded)
    assert "Which is the fastest cannot be told: known to be undisturbed is none of " in text
    assert "the fastest with" not in text
    assert "interval" not in text
    assert "confidence" not in text
    ending = "24 of 24 runs were disturbed" if measured else "Of all 24 runs it is not known whether something"
    assert ending in text


def slow_dgemm(store: Store, **rates: float) -> None:
    """Note how fast dgemm of each library is on one core."""
    store.note("blas-1", lambda notes: replace(notes, dgemm_gflops_by_blas={"openblas": 40.0, **rates}))


def test_a_hopelessly_slow_library_needs_no_round(store: Store) -> None:
    slow_dgemm(store, reference=3.0, blis=39.0)
    text = told(store, [*searched({**NEAR, "reference": 5.0}), *rounds(NEAR, 5)])
    assert "reference is far behind: no round was needed." in text
    assert "│ 3 │ reference │" in text


def test_where_all_others_are_slow_and_their_dgemm_too_the_first_is_the_fastest(store: Store) -> None:
    slow_dgemm(store, reference=4.0)
    text = told(store, searched({"openblas": 100.0, "reference": 5.0}))
    assert "openblas is the fastest: reference reached less than half of its rate, which is more than 4 times" in text
    assert "beyond doubt" not in text


def test_a_library_whose_dgemm_promises_more_is_not_called_slow_but_not_found_out(store: Store) -> None:
    slow_dgemm(store, blis=25.0, atlas=7.0)
    text = told(store, searched({"openblas": 30.0, "atlas": 4.0, "blis": 0.39}))
    assert "blis ran 2 runs of 1 configuration; this says nothing of blis: its dgemm has 62 % of the rate" in text
    assert "atlas is far behind" in text
    assert "openblas is the fastest" not in text


def test_a_library_of_one_configuration_and_unknown_dgemm_is_not_found_out(store: Store) -> None:
    text = told(store, searched({"openblas": 30.0, "blis": 0.39}))
    assert "blis ran 2 runs of 1 configuration; this says nothing of blis." in text


def test_what_contradicts_its_dgemm_or_is_within_the_noise_is_worth_rounds() -> None:
    best = {name: Ranked(name, {"blas": name}, (rate, rate), 1) for name, rate in SPEEDS.items()}
    assert near(best) == ["openblas"]
    assert near(best, shown=0.5) == ["openblas", "atlas"]
    dgemm = {"openblas": 41.0, "atlas": 7.0, "blis": 25.0}
    assert contradicted(best, dgemm) == ["blis"]
    assert near(best, dgemm=dgemm) == ["openblas", "blis"]
