"""The words for the rates of a study."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from present import present
from record_builders import DISTURBED, a_study, begun, finished

from hpl.params import HplParams
from results.record import IMPORT, REPLAY_OF, SIMULATOR, BlasObservation, Kind, TrialRecord
from results.stats.confidence import rerank_by_posterior
from results.stats.headline import FastestRun, HeadlineRates, expected_sentence, fastest_run, median_text
from results.stats.ranking import Ranked, rank
from results.store.store import Store

SIXTEEN_GIB = 2**34
FILLING = 37_000
"""N whose matrix takes 64 % of that."""


def run(number: int, gflops: float, key: str = "a", N: int = FILLING, **changes: Any) -> TrialRecord:
    return finished(number, gflops, key=key, **{"hpl": HplParams(N, 192, 1, 2), **changes})


def fastest(*records: TrialRecord) -> FastestRun:
    return present(fastest_run(a_study(host={"memory_available_bytes": SIXTEEN_GIB}), records))


def test_rmax_is_of_the_fastest_full_run_that_counts_whatever_its_configuration() -> None:
    records = [
        run(1, 60.0, "a"), run(2, 66.0, "b"), run(3, 61.0, "a"), run(4, 52.0, "b"),
        run(5, 90.0, "c", kind=Kind.PILOT), run(6, 95.0, "d", passed=False), run(7, 66.0, "a"),
    ]  # fmt: skip
    found = fastest(*records)
    assert (found.gflops, found.trial, found.called) == (66.0, 2, "Rmax")
    assert found.sentence(rank(records)) == "Rmax, the fastest full run, is 66.00 GFLOPS: trial 2, of no. 2."
    assert found.to_json(rank(records))["rank"] == 2


def test_without_a_run_that_counts_there_is_none() -> None:
    assert fastest_run(a_study(), [run(1, 60.0, passed=False), begun(number=2)]) is None


@pytest.mark.parametrize(("N", "called"), [(29_309, "Rmax"), (29_307, "rate at N=29,307")])
def test_a_matrix_of_less_than_half_of_what_hpls_rule_fills_gives_no_rmax(N: int, called: str) -> None:
    """HPL's rule fills 80 % of the memory: 8 N^2 bytes of 0.4 times 16 GiB are N = 29,308."""
    assert fastest(run(1, 60.0, N=N)).called == called


def test_what_others_hold_of_the_memory_makes_no_rmax_of_a_small_matrix() -> None:
    host = {"memory_total_bytes": SIXTEEN_GIB, "memory_available_bytes": 8 * 6_000**2}
    assert present(fastest_run(a_study(host=host), [run(2, 62.0, N=6_000)])).called == "rate at N=6,000"


def test_a_disturbed_run_gives_no_rmax() -> None:
    found = present(fastest_run(a_study(host={}), [run(2, 62.0, measurements=DISTURBED)]))
    assert "That is no Rmax: the machine can do more." in found.sentence([])
    assert not found.is_rmax


def test_a_rate_at_a_small_n_is_told_with_its_n_and_why() -> None:
    said = fastest(run(3, 0.5, N=50)).sentence([])
    assert said == (
        "The fastest full run gave 0.50 GFLOPS at N=50: trial 3. "
        "That is no Rmax: its matrix takes 0.00012 % of the memory."
    )


def test_of_a_cluster_the_memory_of_the_nodes_that_ran_counts() -> None:
    host = {"memory_available_bytes": 4 * SIXTEEN_GIB, "nodes": 4}
    two_nodes = run(1, 60.0, N=45_000)
    found = present(fastest_run(a_study(host=host), [two_nodes]))
    assert found.filled == pytest.approx(8 * 45_000**2 / (2 * SIXTEEN_GIB))


def test_of_a_virtual_cluster_the_memory_of_the_nodes_that_ranks_and_threads_fill_counts() -> None:
    host = {"memory_bytes": 4 * SIXTEEN_GIB, "nodes": 4, "physical_cores": 8}
    found = present(fastest_run(a_study(host=host), [run(1, 60.0, N=45_000, observed=None, ranks=3, threads=1)]))
    assert found.filled == pytest.approx(8 * 45_000**2 / (2 * SIXTEEN_GIB))


def test_the_name_that_a_simulator_gives_its_nodes_is_not_one_node() -> None:
    host = {"memory_bytes": 4 * SIXTEEN_GIB, "nodes": 4, "physical_cores": 8}
    seen = BlasObservation("SimGrid 4.0", "", "cost model", 1, ("4 virtual nodes",))
    ran = run(1, 60.0, N=70_000, observed=seen, ranks=8, threads=1, versions={SIMULATOR: "SimGrid 4.0"})
    found = present(fastest_run(a_study(host=host, versions={SIMULATOR: "SimGrid 4.0"}), [ran]))
    assert found.filled == pytest.approx(8 * 70_000**2 / (4 * SIXTEEN_GIB))


def test_a_part_of_the_memory_above_all_of_it_is_never_told() -> None:
    assert fastest(run(1, 60.0, N=50_000)).filled is None


def test_where_the_memory_of_a_machine_that_ran_is_not_stored_nothing_speaks_against_rmax() -> None:
    for host in ({}, {"cpu_model": "AMD EPYC"}):
        found = present(fastest_run(a_study(host=host), [run(1, 60.0, N=100)]))
        assert (found.filled, found.called) == (None, "Rmax")


@pytest.mark.parametrize(
    ("made", "how"),
    [({"engine": IMPORT}, "imported"), ({"versions": {SIMULATOR: f"{REPLAY_OF}kronos.csv"}}, "replayed")],
)
def test_what_an_output_or_a_table_tells_is_no_rmax_because_no_memory_is_known(made: Any, how: str) -> None:
    study = a_study(host={"cpu_model": "AMD EPYC", "memory_available_bytes": SIXTEEN_GIB}, **made)
    found = present(fastest_run(study, [run(2, 0.011, N=2)]))
    assert (found.filled, found.called) == (None, f"{how} rate at N=2")
    said = f"The fastest {how} full run gave 0.011 GFLOPS at N=2: trial 2. Whether that is an Rmax is not known: "
    assert found.sentence([]) == f"{said}nothing tells the memory of its machine."
    assert present(fastest_run(study, [run(2, 0.011, N=2, hpl=None)])).called == f"{how} rate"


def test_what_no_machine_ran_is_no_rmax_though_its_matrix_fills_the_memory() -> None:
    study = a_study(host={"memory_available_bytes": 8 * 6_000**2}, versions={SIMULATOR: "SimGrid 4.0"})
    found = present(fastest_run(study, [run(2, 62.0, N=6_000)]))
    assert found.called == "simulated rate at N=6,000"
    assert found.sentence([]) == (
        "The fastest simulated full run gave 62.00 GFLOPS at N=6,000: trial 2. That is no Rmax: no machine ran it."
    )


def test_runs_are_told_by_their_median_and_their_ends() -> None:
    assert median_text(Ranked("a", {}, (1.5, 2.01, 1.9), 1)) == "the median of 3 runs, 1.50 to 2.01"
    assert median_text(Ranked("a", {}, (1.5,), 1)) == "1 run"


def test_what_is_expected_is_told_only_where_it_was_estimated() -> None:
    once = Ranked("a", {}, (60.0,), 1)
    assert expected_sentence(once, None) is None
    estimated = replace(once, believed_gflops=58.5)
    assert expected_sentence(estimated, None) == "One more run of no. 1 is expected to give 58.50 GFLOPS."
    told = present(expected_sentence(estimated, (55.0, 61.5)))
    assert told.endswith("its usual rate is between 55.00 and 61.50 with 95 % probability.")


def test_without_an_interval_the_slowest_and_the_fastest_run_are_told_and_called_so() -> None:
    first = Ranked("a", {}, (60.0, 45.0, 66.0), 1, believed_gflops=58.5)
    told = "One more run of no. 1 is expected to give 58.50 GFLOPS; its 3 runs gave 45.00 to 66.00, slowest to fastest."
    assert expected_sentence(first, None) == told
    fastest_of_all = fastest(run(1, 66.0))
    assert HeadlineRates.of(fastest_of_all, first, None).expected_text() == "58.50 (runs gave 45.00 to 66.00)"
    assert HeadlineRates.of(fastest_of_all, first, (55.0, 61.5)).expected_text() == "58.50 (55.00 to 61.50)"


def test_a_run_that_is_too_short_for_hpls_clock_gives_no_rmax_however_much_it_fills() -> None:
    found = fastest(run(3, 60.0, time_s=0.02))
    assert (found.is_rmax, found.called) == (False, "rate at N=37,000")
    said = "trial 3 took 0.02 s, and HPL's clock cannot tell a rate of so short a run; choose a larger N"
    assert found.sentence([]).endswith(f"That is no Rmax: {said}.")
    assert fastest(run(3, 60.0, time_s=0.1)).is_rmax


def test_a_run_that_is_too_short_is_neither_the_fastest_nor_no_1_where_others_at_its_n_took_seconds() -> None:
    records = [run(1, 60.0, "a", time_s=50.0), run(2, 600.0, "b", time_s=0.05), run(3, 50.0, "c", time_s=60.0)]
    assert fastest(*records).trial == 1
    assert [entry.key for entry in rank(records)] == ["a", "c", "b"]
    again = [*records, run(4, 61.0, "a", time_s=50.0), run(5, 590.0, "b", time_s=0.05)]
    assert [entry.key for entry in rerank_by_posterior(rank(again))] == ["a", "c", "b"]
    alone = fastest(*(run(number, 600.0, "b", time_s=0.05) for number in (1, 2)))
    assert (alone.trial, alone.is_rmax) == (1, False)


def test_at_an_n_that_is_too_small_for_all_the_fastest_stays_the_fastest_and_is_no_rmax() -> None:
    """To call the slow one the best would be worse than to call none so."""
    records = [run(1, 9.81, "a", N=800, time_s=0.04), run(2, 1.24, "b", N=800, time_s=0.28)]
    assert [entry.key for entry in rank(records)] == ["a", "b"]
    assert (fastest(*records).trial, fastest(*records).is_rmax) == (1, False)


def test_a_simulated_run_is_never_too_short() -> None:
    assert not run(1, 60.0, time_s=0.02, versions={"simulator": "SimGrid 3.36"}).too_short


def test_the_store_finds_the_same_fastest_run(tmp_path: Path) -> None:
    hpl_of_minutes = [run(1, 60.0, "a", time_s=50.0), run(2, 600.0, "b", time_s=0.05), run(3, 61.0, "c", time_s=60.0)]
    of_moments = [run(1, 1.24, "a", N=800, time_s=0.28), run(2, 9.81, "b", N=800, time_s=0.04)]
    for name, records, trial in (("long", hpl_of_minutes, 3), ("short", of_moments, 2)):
        with Store.open(tmp_path / f"{name}.db") as store:
            store.create_study(a_study())
            for record in records:
                store.begin(begun(key=record.key))
                store.finish(record)
            assert present(store.fastest("study")).number == trial == fastest(*records).trial
            assert store.outbox.standing("study").totals.best_trial == trial
