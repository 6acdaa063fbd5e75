"""Disturbed runs count only where there are no others, in each figure that stands on runs."""

from dataclasses import replace
from typing import Any

import pytest
from present import present
from record_builders import DISTURBED, QUIET, a_study, finished

from hpl.params import HplParams
from results.disturbance import Conditions
from results.record import Kind, TrialRecord
from results.report.ranking_table import ranking_table
from results.stats.confidence import rerank_by_posterior, sentence, standing
from results.stats.disturbed_runs import DisturbedRuns, undisturbed
from results.stats.headline import disturbed_sentence, fastest_run, gave_text, half_rate_n, median_text, once_text
from results.stats.levels import change
from results.stats.ranking import rank, relative_sd


def quiet(number: int, gflops: float, key: str = "a", **changes: Any) -> TrialRecord:
    return finished(number, gflops, key=key, measurements=QUIET, **changes)


def disturbed(number: int, gflops: float, key: str = "a", **changes: Any) -> TrialRecord:
    return finished(number, gflops, key=key, measurements=DISTURBED, **changes)


BURST = [quiet(1, 60.0), quiet(2, 61.0), quiet(3, 60.5), disturbed(4, 40.0), disturbed(5, 20.0), disturbed(6, 45.0)]
ALL = [disturbed(1, 40.0), disturbed(2, 30.0), disturbed(3, 35.0)]


def test_of_a_configuration_only_undisturbed_runs_count() -> None:
    assert [run.number for run in undisturbed(BURST)] == [1, 2, 3]
    (entry,) = rank(BURST)
    assert entry.gflops == (60.0, 61.0, 60.5)
    assert (entry.left_out, entry.disturbance) == (3, None)
    assert median_text(entry) == "the median of 3 runs, 60.00 to 61.00, beside 3 disturbed ones"


def test_where_all_were_disturbed_all_count_and_that_is_told_first() -> None:
    (entry,) = rank(ALL)
    assert entry.gflops == (40.0, 30.0, 35.0)
    assert entry.expected_gflops == 40.0, "it is at least what its fastest run gave"
    assert entry.may_reach_gflops > 60.0
    assert disturbed_sentence(entry) == (
        "All 3 runs of no. 1 were disturbed, also the fastest one: others took 0.8 of 2 cores for 9 of 12 s, mostly "
        "python3. Its rate is at least 40.00 GFLOPS, and more is not known."
    )


def test_a_configuration_of_which_one_run_was_quiet_is_not_told_as_disturbed() -> None:
    assert disturbed_sentence(rank(BURST)[0]) == ""


def test_runs_of_another_size_or_part_do_not_stand_for_a_disturbed_one() -> None:
    small = quiet(2, 30.0, kind=Kind.SMALL, part=0.35)
    larger = quiet(3, 50.0, hpl=HplParams(9000, 192, 1, 2))
    alone = disturbed(1, 40.0)
    assert undisturbed([alone, small, larger]) == [alone, small, larger]


def test_disturbed_runs_tell_nothing_of_the_noise() -> None:
    assert relative_sd(rank(ALL)) is None
    assert present(relative_sd(rank(BURST))) < 0.01


def test_the_interval_and_the_order_are_those_without_the_disturbed_runs() -> None:
    others = [quiet(7, 55.0, "b"), quiet(8, 55.5, "b")]
    alone = rerank_by_posterior(rank([*BURST[:3], *others]))
    found = rerank_by_posterior(rank([*BURST, *others]))
    assert [(one.key, one.expected_gflops, one.interval_gflops) for one in found] == [
        (one.key, one.expected_gflops, one.interval_gflops) for one in alone
    ]


def test_a_configuration_with_only_disturbed_runs_has_no_interval_and_others_keep_theirs() -> None:
    found = rerank_by_posterior(rank([*BURST, disturbed(7, 58.0, "b"), disturbed(8, 50.0, "b")]))
    assert [one.key for one in found] == ["a", "b"]
    assert found[0].interval_gflops is not None
    assert found[1].interval_gflops is None
    assert found[1].expected_gflops == 58.0


def test_nobody_is_surely_the_fastest_while_a_disturbed_one_may_be_faster() -> None:
    found = present(standing(rank([*BURST, disturbed(7, 58.0, "b")])))
    assert found.unfit.startswith("no. 2 may be faster than its rate, because its only run was disturbed (others took")
    assert "cannot be told" in sentence(found)


def test_a_disturbed_one_that_cannot_win_any_more_leaves_the_confidence() -> None:
    assert present(standing(rank([*BURST, disturbed(7, 8.0, "b")]))).unfit == ""


def test_disturbed_rounds_are_no_change_of_the_machine() -> None:
    searched = [quiet(1, 60.0), quiet(2, 55.0, "b")]
    confirmed = [disturbed(3, 30.0, kind=Kind.CONFIRMATION), disturbed(4, 28.0, "b", kind=Kind.CONFIRMATION)]
    assert change(rank([*searched, *confirmed])) == 0.0


def test_a_disturbed_run_is_the_fastest_only_where_all_were_disturbed() -> None:
    study = a_study()
    assert present(fastest_run(study, [disturbed(1, 80.0, "b"), quiet(2, 60.0)])).trial == 2
    only = present(fastest_run(study, ALL))
    assert only.trial == 1
    assert "No full run is known to be undisturbed" in only.sentence(())
    assert "40.00 GFLOPS (disturbed)" in only.sentence(rank(ALL))


def unknown(number: int, gflops: float, key: str = "a", **changes: Any) -> TrialRecord:
    return finished(number, gflops, key=key, measurements={}, **changes)


def test_a_run_of_which_nothing_is_known_is_never_preferred_to_a_disturbed_one() -> None:
    both = [unknown(1, 60.0), disturbed(2, 80.0)]
    assert undisturbed(both) == both
    (entry,) = rank(both)
    assert (entry.conditions, entry.expected_gflops, entry.repeats) == (Conditions.UNKNOWN, 80.0, ())
    assert median_text(entry) == "the median of 2 runs, 60.00 to 80.00, 1 disturbed, and of 1 it is not known"
    assert disturbed_sentence(entry).startswith("Of 2 runs of no. 1 1 was disturbed, and of 1 it is not known: others")
    assert present(fastest_run(a_study(), both)).trial == 2


def test_beside_an_undisturbed_run_those_of_which_nothing_is_known_do_not_count() -> None:
    (entry,) = rank([unknown(1, 90.0), disturbed(2, 30.0), quiet(3, 60.0), unknown(4, 50.0)])
    assert (entry.gflops, entry.left_out, entry.left_unknown) == ((60.0,), 1, 2)
    assert median_text(entry) == "1 run, beside 1 disturbed one and 2 of which that is not known"
    assert once_text(entry.left_out, entry.left_unknown).startswith("ran undisturbed once, beside")


def test_what_is_not_known_is_never_a_reason_for_certainty() -> None:
    steady = [unknown(number, 60.0 + number / 10, "ab"[number % 2]) for number in range(1, 9)]
    assert present(standing(rank(steady))).unfit == "of no run it is known whether something disturbed it"
    one = present(standing(rank([*BURST, unknown(7, 58.0, "b")])))
    assert one.unfit == (
        "no. 2 may be faster than its rate, because of its only run it is not known whether something disturbed it"
    )


def test_a_run_of_which_nothing_is_known_is_not_called_undisturbed() -> None:
    for run, told in [(unknown(1, 90.0), "fastest full run"), (quiet(1, 60.0), "fastest undisturbed full run")]:
        fastest = present(fastest_run(a_study(), [run, disturbed(2, 80.0)]))
        assert told in fastest.sentence(rank([run, disturbed(2, 80.0), *ALL]))
        assert fastest.record is run


def test_the_rate_of_which_a_part_of_the_peak_is_told_is_the_one_beside_it() -> None:
    (entry,) = rank(ALL)
    assert gave_text(entry) == "the fastest of 3 runs, 30.00 to 40.00, all disturbed"
    assert "at least 40.00" in ranking_table("", [entry]).rows[0]


def test_half_of_the_rate_is_found_without_disturbed_runs() -> None:
    small = [
        replace(run, kind=Kind.EXTRAPOLATION, hpl=HplParams(N, 192, 1, 2), params={**run.params, "N": N})
        for run, N in [(quiet(1, 20.0), 1000), (disturbed(2, 60.0), 1000), (quiet(3, 40.0), 2000)]
    ]
    best = quiet(4, 60.0)
    assert half_rate_n(best, [*small, best]) == pytest.approx(1500.0)
    alone = replace(small[1], gflops=5.0)
    assert half_rate_n(best, [alone, small[2], best]) is None, "it may be slow because it was disturbed"


def test_disturbed_runs_of_a_study_are_counted_with_their_causes() -> None:
    found = DisturbedRuns.of([*BURST, unknown(7, 60.0)])
    assert found.sentence() == (
        "3 of 6 runs were disturbed (of 1 more it is not known): other programs took CPU time in 3 (mostly python3)."
    )
    every = DisturbedRuns.of(BURST)
    assert every.sentence() == "3 of 6 runs were disturbed: other programs took CPU time in 3 (mostly python3)."
    assert found.to_json()["watched"] == 6
    assert DisturbedRuns.of([quiet(1, 60.0)]).sentence() == ""
    assert DisturbedRuns.of([quiet(1, 60.0), unknown(2, 60.0)]).sentence() == (
        "Of 1 of 2 runs it is not known whether something disturbed them."
    )


def test_many_runs_that_nobody_watched_count_as_they_did() -> None:
    runs = [unknown(number, 60.0 + number % 3) for number in range(1, 50)]
    assert undisturbed(runs) == runs
