"""`hpltune compare`: how the best of studies, or of the values of a parameter, differ, and whether that is chance."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from as_user import Run
from record_builders import DISTURBED, a_study, begun, finished

from hpl.params import HplParams
from results.errors import ResultsError
from results.record import Kind
from results.report.model import Figure, Report, Sentence, Table
from results.store.store import Store
from tuner.asks.compare import CompareAsk
from tuner.cli import app
from tuner.cli.common import complete_parameter
from tuner.commands.stored.compare import compare
from tuner.errors import UsageError
from tuner.units import parse_percent

FAST, SLOW = (75.1, 75.9, 75.4, 76.0), (70.9, 71.6, 71.1)
FAR = (60.9, 61.6, 61.1)
"""Slower by more than two occasions of one machine are apart."""
Rates = Mapping[int, Sequence[float]]


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "data/hpltune.db") as opened:
        yield opened


def filled(
    store: Store,
    name: str,
    rates: Rates,
    N: int = 6000,
    later: timedelta = timedelta(),
    run: Mapping[str, Any] | None = None,
    **changes: Any,
) -> None:
    """A study with the runs of each NB, which began so much later than those of others."""
    store.create_study(a_study(name, space_text="", **changes))
    at = begun().started_at + later
    for NB, runs in rates.items():
        for place, gflops in enumerate(runs):
            params = {"NB": NB, "grid": "1x2"}
            kind = Kind.CONFIRMATION if place else Kind.SEARCH
            number = store.begin(begun(name, key=f"{NB}|1x2", params=params, kind=kind, started_at=at))
            done = finished(
                number, gflops, name, key=f"{NB}|1x2", params=params, hpl=HplParams(N, NB, 1, 2), **run or {}
            )
            done = replace(done, started_at=at)
            store.finish(replace(done, kind=kind))
    store.end_study(name, "complete")


def pairs_of(report: Report) -> list[dict[str, Any]]:
    """The facts of all pairs."""
    assert isinstance(report.facts, list)
    return [pair for pair in report.facts if isinstance(pair, dict)]


def said(report: Report) -> str:
    return " ".join(part.text for part in report.parts if isinstance(part, Sentence))


def test_the_best_of_two_studies_are_compared(store: Store) -> None:
    filled(store, "before", {128: FAR, 192: (50.0,)})
    filled(store, "after", {128: (65.0,), 192: FAST})
    report = compare(store, CompareAsk(("after", "before"))).report()
    sides, pairs = (part for part in report.parts if isinstance(part, Table))
    assert [row[0] for row in sides.rows] == ["after", "before"]
    assert [row[-1] for row in sides.rows] == ["NB=192", "NB=128"]
    assert pairs.rows[0][-1] == "A faster"
    assert said(report).startswith("after is 23.")
    assert "faster than before (95 % interval " in said(report)
    [figure] = (part for part in report.parts if isinstance(part, Figure))
    assert [series.y for series in figure.series] == [FAST, FAR]
    [facts] = pairs_of(report)
    assert facts["test"] == "welch"
    assert facts["p"] == facts["p_holm"] < 0.05
    assert [side["gflops"] for side in facts["sides"]] == [list(FAST), list(FAR)]
    assert facts["warnings"] == []


def test_a_slower_first_study_is_told_the_other_way_round(store: Store) -> None:
    filled(store, "before", {128: SLOW})
    filled(store, "after", {192: FAST})
    ahead, behind = (compare(store, CompareAsk(names)).report() for names in (("after", "before"), ("before", "after")))
    assert said(ahead) == said(behind)


def test_where_no_difference_can_be_shown_it_tells_how_many_more_runs_would(store: Store) -> None:
    filled(store, "study", {128: (70.0, 71.0, 72.0), 192: (70.2, 71.4, 71.9)})
    found = compare(store, CompareAsk(("study",), "NB")).report()
    assert said(found).startswith("No difference can be shown between NB=192 and NB=128. It takes ")
    small, large = (
        pairs_of(compare(store, CompareAsk(("study",), "NB", percent)).report())[0]["needed_runs"]
        for percent in (0.5, 2.0)
    )
    assert small[0] > large[0]


@pytest.mark.heavy
@pytest.mark.parametrize("runs", [3, 12])
def test_of_two_occasions_no_number_of_runs_is_said_to_show_what_they_may_differ(store: Store, runs: int) -> None:
    filled(store, "one", {128: tuple(70.0 + 0.5 * (place % 3) for place in range(runs))})
    filled(store, "other", {192: tuple(70.2 + 0.5 * (place % 3) for place in range(runs))})
    report = compare(store, CompareAsk(("one", "other"))).report()
    words = said(report)
    no_number = "No difference can be shown between one and other. More runs on these two occasions would not show a "
    no_number += "difference of 1 %: two occasions of one machine may be 9.4 % apart (assuming"
    assert words.startswith((no_number, "On these two occasions other was 0.28 % faster")), words
    assert "So many runs" not in words
    assert "the difference is probably smaller" not in words
    assert "It takes" not in words
    [facts] = pairs_of(report)
    assert facts["needed_runs"] is facts["confirming_runs"] is None


def test_a_difference_that_may_be_one_of_the_occasions_is_told_as_that(store: Store) -> None:
    filled(store, "one", {128: FAST})
    filled(store, "other", {192: SLOW})
    report = compare(store, CompareAsk(("one", "other"))).report()
    assert said(report).startswith("On these two occasions one was 6.")
    assert "This holds for these two occasions; a difference between occasions is not in the interval." in said(report)
    assert "9.4 % apart (assuming that occasions differ by 2.0 % (standard deviation), as usual)" in said(report)
    assert "`hpltune check ⟦baseline⟧ one` on other days tells how much they are." in said(report)
    assert "`hpltune compare one other ⟦interleaved⟧` runs both in turn now, in one occasion." in said(report)
    [facts] = pairs_of(report)
    assert not facts["difference_shown"]
    assert facts["interval_percent"][0] < 0 < facts["interval_on_these_occasions_percent"][0]
    assert [part.rows[0][-1] for part in report.parts if isinstance(part, Table)][-1] == "A faster, only then"


LEVELS = (1.0, 1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.999)
"""Speeds of a steady machine at eight checks."""


def checked_after(store: Store, apart: timedelta) -> None:
    """Checks of the best of study "one", each so much later than the one before."""
    for place, level in enumerate(LEVELS, start=1):
        rates = {128: tuple(level * rate for rate in FAST)}
        filled(store, f"check-{place}", rates, later=place * apart, host={"like": "one#1"})


def test_studies_that_ran_the_same_before_tell_how_much_occasions_differ(store: Store) -> None:
    filled(store, "one", {128: FAST})
    filled(store, "other", {192: SLOW})
    checked_after(store, timedelta(days=1))
    report = compare(store, CompareAsk(("one", "other"))).report()
    [facts] = pairs_of(report)
    assert facts["occasions"]["seen"] == 8
    assert facts["difference_shown"]
    assert "by what is stored of this machine: 9 occasions, 12 hours or more apart." in said(report)


@pytest.mark.heavy
def test_checks_one_after_the_other_are_one_occasion_and_tell_nothing_of_other_days(store: Store) -> None:
    filled(store, "one", {128: FAST})
    filled(store, "other", {192: SLOW})
    checked_after(store, timedelta(minutes=1))
    report = compare(store, CompareAsk(("one", "other"))).report()
    [facts] = pairs_of(report)
    assert facts["occasions"]["seen"] == 0
    assert not facts["difference_shown"]
    assert "(assuming that occasions differ by 2.0 % (standard deviation), as usual)" in said(report)


def test_checks_of_every_hour_are_as_many_occasions_as_half_days(store: Store) -> None:
    filled(store, "one", {128: FAST})
    filled(store, "other", {192: SLOW})
    checked_after(store, timedelta(hours=4))
    [facts] = pairs_of(compare(store, CompareAsk(("one", "other"))).report())
    assert facts["occasions"]["seen"] == 2


def test_imported_outputs_tell_nothing_of_how_this_machine_differs_between_days(store: Store) -> None:
    filled(store, "one", {128: FAST}, engine="import", host={})
    filled(store, "other", {192: SLOW}, engine="import", host={})
    for day in range(1, 9):
        later = timedelta(days=day)
        filled(store, f"check-{day}", {128: FAST}, later=later, engine="import", host={"like": "one#1"})
    [facts] = pairs_of(compare(store, CompareAsk(("one", "other"))).report())
    assert facts["occasions"]["seen"] == 0


def test_two_single_runs_have_no_interval_and_an_unknown_machine_may_be_another(store: Store) -> None:
    filled(store, "mix", {128: (22.0,)}, engine="import", host={})
    filled(store, "mix2", {128: (833.0,)}, engine="import", host={})
    report = compare(store, CompareAsk(("mix", "mix2"))).report()
    assert "There is no interval: neither side ran twice" in said(report)
    assert "On which machine mix and mix2 ran is not known: it may be another machine." in said(report)
    [facts] = pairs_of(report)
    assert facts["interval_percent"] is None
    assert facts["needed_runs"] is facts["confirming_runs"] is None
    assert not facts["difference_shown"]


def test_what_is_usual_is_called_so_where_one_side_alone_ran_twice(store: Store) -> None:
    filled(store, "often", {128: FAST})
    filled(store, "once", {128: (22.0,)})
    words = said(compare(store, CompareAsk(("often", "once"))).report())
    assert (
        "Of once only one run counts, which may be luck: the interval is without a test, "
        "assuming that runs of once differ" in words
    )
    assert "by 1%, as usual" in words


def test_of_two_runs_of_each_interval_and_verdict_are_by_one_method(store: Store) -> None:
    filled(store, "study", {128: FAST[:2], 192: (7.5, 7.6)})
    report = compare(store, CompareAsk(("study",), "NB")).report()
    [facts] = pairs_of(report)
    assert facts["test"] == "welch"
    assert facts["difference_shown"] == (facts["interval_percent"][0] > 0)


def test_runs_that_differ_too_much_for_the_difference_are_told_so_in_one_sentence(store: Store) -> None:
    filled(store, "study", {128: (75.0, 70.0, 80.0), 192: (75.1, 80.0, 70.0)})
    words = said(compare(store, CompareAsk(("study",), "NB")).report())
    assert words.startswith("No difference can be shown between NB=")
    assert "Runs differ too much here to show a difference of 1 %: it would take" in words


def test_the_runs_that_confirm_what_was_seen_are_told_and_not_those_for_a_percent(store: Store) -> None:
    filled(store, "study", {128: (75.0, 71.0), 192: (70.0, 66.0)})
    words = said(compare(store, CompareAsk(("study",), "NB")).report())
    assert "more runs of NB=128 and" in words
    assert "to show the 7.4 % that were seen with 80 % probability." in words


@pytest.mark.parametrize("kind", [Kind.RUN, Kind.IMPORTED, Kind.CONFIRMATION])
def test_the_days_of_runs_of_every_kind_are_compared(store: Store, kind: Kind) -> None:
    store.create_study(a_study("run-HPL-1", space_text=""))
    for day, rates in ((0, FAST), (7, FAR)):
        at = begun().started_at + timedelta(days=day)
        for gflops in rates:
            number = store.begin(begun("run-HPL-1", kind=kind, started_at=at))
            store.finish(finished(number, gflops, "run-HPL-1", kind=kind, started_at=at))
    report = compare(store, CompareAsk(("run-HPL-1",), by="date")).report()
    assert "2026-03-01 is 23." in said(report)


def test_a_study_whose_runs_are_all_small_has_no_full_run_to_compare_by_day(store: Store) -> None:
    store.create_study(a_study("small", space_text=""))
    store.finish(finished(store.begin(begun("small", kind=Kind.PILOT)), 70.0, "small", kind=Kind.PILOT))
    with pytest.raises(UsageError, match="no full run of study small is valid"):
        compare(store, CompareAsk(("small",), by="date"))


def test_the_values_of_a_parameter_are_compared_each_at_its_best(store: Store) -> None:
    filled(store, "study", {128: SLOW, 192: FAST, 256: (60.0,)})
    report = compare(store, CompareAsk(("study",), "NB")).report()
    assert len(pairs_of(report)) == 3
    names = [tuple(side["name"] for side in pair["sides"]) for pair in pairs_of(report)]
    assert names == [("NB=192", "NB=128"), ("NB=192", "NB=256"), ("NB=128", "NB=256")]
    assert [pair["test"] for pair in pairs_of(report)] == ["welch", "none", "none"]
    assert "NB=192 is probably 26." in said(report)
    assert "Of NB=256 only one run counts, which may be luck: the interval is from the noise of the study" in said(
        report
    )


def test_without_a_study_the_newest_one_is_taken(store: Store) -> None:
    filled(store, "study", {128: SLOW, 192: FAST})
    assert compare(store, CompareAsk((), "NB")).report().title == "NB in study study: NB=192 and NB=128"


def test_many_pairs_are_counted_in_one_sentence(store: Store) -> None:
    speeds = {64: (40.1, 40.2, 39.9), 128: (50.0, 49.8, 50.1), 192: (60.2, 59.9, 60.0), 256: (70.0, 70.3, 69.9)}
    filled(store, "study", {**speeds, 320: (80.1, 79.9, 80.3)})
    report = compare(store, CompareAsk(("study",), "NB")).report()
    assert said(report) == "A difference can be shown in 10 of 10 pairs."


def test_it_warns_of_studies_that_differ_in_more_than_their_configuration(store: Store) -> None:
    filled(store, "small", {128: SLOW}, host={"cpu_model": "EPYC", "nodes": 1, "physical_cores": 8})
    filled(store, "large", {128: FAST}, N=8000, host={"cpu_model": "Xeon", "nodes": 2, "physical_cores": 16})
    words = said(compare(store, CompareAsk(("small", "large"))).report())
    assert "differ in N, which may be the reason for a difference: small has 6000 and large has 8000." in words
    for fact in ("CPU", "nodes", "cores"):
        assert f"The sides differ in {fact}," in words


def test_it_warns_where_one_study_was_simulated(store: Store) -> None:
    filled(store, "real", {128: SLOW})
    filled(store, "virtual", {128: FAST}, versions={"simulator": "SimGrid 3.32"})
    words = said(compare(store, CompareAsk(("real", "virtual"))).report())
    assert "virtual was simulated and the rest ran on a real machine." in words


def test_of_a_simulated_and_a_measured_side_none_is_said_to_be_faster(store: Store) -> None:
    filled(store, "real", {128: FAR})
    filled(store, "virtual", {128: FAST}, versions={"simulator": "SimGrid 3.32"})
    found = compare(store, CompareAsk(("real", "virtual")))
    assert said(found.report()).startswith(
        "Which of real and virtual is faster cannot be told: a simulated rate and one of a real machine are not "
        "compared."
    )
    assert "faster than" not in said(found.report())
    [facts] = pairs_of(found.report())
    assert (facts["difference_shown"], facts["interval_percent"]) == (False, None)


def test_of_a_side_whose_runs_were_all_disturbed_nothing_is_said_but_that(store: Store) -> None:
    filled(store, "slow", {128: FAR})
    filled(store, "fast", {128: FAST}, run={"measurements": DISTURBED})
    report = compare(store, CompareAsk(("fast", "slow"))).report()
    assert "Which of fast and slow is faster cannot be told: all runs of fast were disturbed." in said(report)
    assert "faster than" not in said(report)
    [facts] = pairs_of(report)
    assert facts["difference_shown"] is False


def test_two_simulated_studies_that_differ_do_differ_without_an_interval(store: Store) -> None:
    filled(store, "before", {128: (70.0,)}, versions={"simulator": "SimGrid 3.32"})
    filled(store, "after", {128: (70.7,)}, versions={"simulator": "SimGrid 3.32"})
    report = compare(store, CompareAsk(("before", "after"))).report()
    assert said(report) == (
        "after is 1.00 % faster than before: simulated runs do not depend on chance. "
        "All rates here were simulated: nothing was measured."
    )
    [facts] = pairs_of(report)
    assert facts["interval_percent"] is None
    assert facts["difference_shown"]
    assert [part.rows[0][-1] for part in report.parts if isinstance(part, Table)][-1] == "B faster"


@pytest.mark.parametrize(
    ("studies", "by", "words"),
    [
        (("study",), None, "needs two studies or more"),
        ((), None, "needs two studies or more"),
        (("study", "study"), None, "study study is named twice"),
        (("study", "empty"), "NB", "⟦by⟧ compares values within one study"),
        (("study",), "blas", "⟦by⟧ blas: study study has no such parameter; it has NB and grid"),
        (("study",), "grid", "⟦by⟧ grid: all valid runs of study study have 1x2"),
    ],
)
def test_wrong_usage_is_one_sentence(store: Store, studies: tuple[str, ...], by: str | None, words: str) -> None:
    filled(store, "study", {128: SLOW, 192: FAST})
    filled(store, "empty", {})
    with pytest.raises(UsageError, match=words):
        compare(store, CompareAsk(studies, by))


@pytest.mark.parametrize(
    ("other", "words"), [("empty", "study empty has no valid run"), ("missing", "there is no study missing")]
)
def test_a_study_that_is_missing_or_has_no_valid_run_is_one_sentence(store: Store, other: str, words: str) -> None:
    filled(store, "study", {128: SLOW})
    filled(store, "empty", {})
    with pytest.raises(ResultsError, match=words):
        compare(store, CompareAsk(("study", other)))


@pytest.mark.parametrize(("text", "percent"), [("1%", 1.0), ("0.5 %", 0.5), ("2", 2.0)])
def test_a_difference_is_written_as_a_percentage(text: str, percent: float) -> None:
    assert parse_percent(text, "difference") == percent


@pytest.mark.parametrize("text", ["much", "0%", "-1%", "nan", "inf", "101%"])
def test_what_is_no_difference_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write a percentage above 0 and at most 100, such as 1%"):
        parse_percent(text, "difference")


def test_the_command_prints_tables_json_and_errors(hpltune: Run, store: Store) -> None:
    filled(store, "before", {128: FAR})
    filled(store, "after", {192: FAST})
    shown = hpltune("compare", "after", "before")
    assert shown.returncode == 0, shown.stderr
    assert "A faster" in shown.stdout
    assert "after is 23." in shown.stdout
    [pair] = json.loads(hpltune("compare", "after", "before", "--difference", "0.5%", "--json").stdout)
    assert pair["difference_percent"] == 0.5
    refused = hpltune("compare", "after")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_tab_completes_the_parameters_that_vary_and_is_silent_without_a_study(store: Store) -> None:
    context = typer.Context(typer.main.get_command(app))
    assert complete_parameter(context, "") == []
    filled(store, "study", {128: SLOW, 192: FAST})
    context.params = {"db": None, "studies": ["study"]}
    assert complete_parameter(context, "") == ["NB"]
    context.params = {}
    assert complete_parameter(context, "g") == []


def test_a_study_of_another_database_is_compared(store: Store, home: Path) -> None:
    filled(store, "mine", {192: FAST})
    with Store.open(home / "other.db") as other:
        filled(other, "mine", {192: FAR})
    report = compare(store, CompareAsk(("mine", f"{home}/other.db#mine"))).report()
    assert "mine is 23." in said(report)
    assert "faster than mine (other.db) (95 % interval " in said(report)


@pytest.mark.parametrize(
    ("named", "sentence"), [("nowhere.db#mine", "nowhere.db"), ("hpltune.db#other", "no study other")]
)
def test_a_database_or_a_study_in_it_that_is_not_there_is_named(
    store: Store, home: Path, named: str, sentence: str
) -> None:
    filled(store, "mine", {192: FAST})
    with pytest.raises(ResultsError, match=sentence):
        compare(store, CompareAsk(("mine", f"{home}/data/{named}")))


def test_the_days_of_a_study_are_compared_as_they_were(store: Store) -> None:
    filled(store, "weekly", {192: FAST})
    for gflops in FAR:
        later = begun("weekly", key="192|1x2", kind=Kind.SEARCH).started_at + timedelta(days=7)
        number = store.begin(begun("weekly", key="192|1x2", started_at=later, session=1))
        done = finished(number, gflops, "weekly", key="192|1x2", started_at=later, session=1)
        store.finish(replace(done, params={"NB": 192, "grid": "1x2"}))
    report = compare(store, CompareAsk(("weekly",), by="date")).report()
    assert "2026-03-01 is 23." in said(report)
    assert "faster than 2026-03-08 (95 % interval " in said(report)


def test_a_study_of_one_day_has_no_days_to_compare(store: Store) -> None:
    filled(store, "once", {192: FAST})
    with pytest.raises(UsageError, match="all valid runs of study once are of 2026-03-01"):
        compare(store, CompareAsk(("once",), by="date"))


def test_libraries_that_ran_in_rounds_are_compared_round_by_round(store: Store) -> None:
    store.create_study(a_study("blas-1", space_text="", options={"shootout": True}))
    falling = {"openblas": (75.0, 70.1, 66.0, 61.2), "blis": (74.2, 69.5, 65.2, 60.6)}
    for turn in range(4):
        for blas, rates in falling.items():
            params = {"blas": blas, "NB": 192}
            number = store.begin(begun("blas-1", key=blas, params=params, kind=Kind.CONFIRMATION))
            done = finished(number, rates[turn], "blas-1", key=blas, params=params)
            store.finish(replace(done, kind=Kind.CONFIRMATION))
    report = compare(store, CompareAsk(("blas-1",), by="blas")).report()
    assert [pair["test"] for pair in pairs_of(report)] == ["rounds"]
    assert "blas=openblas is 1." in said(report)
