"""`hpltune compare`: how the best of studies, or of the values of a parameter, differ, and whether that is chance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from golden import hold_scene, told
from record_builders import DISTURBED, a_study, begun, finished

from hpl.params import HplParams
from results.record import Kind, StudyNotes
from results.store.store import Store
from tuner.asks.compare import CompareAsk
from tuner.cli import app
from tuner.cli.common import complete_parameter
from tuner.commands.stored.compare import compare
from tuner.units import parse_percent

FAST, SLOW = (75.1, 75.9, 75.4, 76.0), (70.9, 71.6, 71.1)
FAR = (60.9, 61.6, 61.1)
"""Slower by more than two occasions of one machine are apart."""
Rates = Mapping[int, Sequence[float]]
Filled = tuple[str, Rates, Mapping[str, Any]]


def filled(
    store: Store,
    name: str,
    rates: Rates,
    N: int = 6000,
    later: timedelta = timedelta(),
    run: Mapping[str, Any] | None = None,
    kind: Kind | None = None,
    **changes: Any,
) -> None:
    """A study with the runs of each NB, which began so much later than those of others."""
    if name not in [study.name for study in store.studies()]:
        store.create_study(a_study(name, **{"space_text": "", **changes}))
    at = begun().started_at + later
    for NB, runs in rates.items():
        for place, gflops in enumerate(runs):
            made = kind or (Kind.CONFIRMATION if place else Kind.SEARCH)
            same: dict[str, Any] = {"key": f"{NB}|1x2", "params": {"NB": NB, "grid": "1x2"}, "kind": made}
            number = store.begin(begun(name, started_at=at, **same))
            hpl = HplParams(N, NB, 1, 2)
            store.finish(finished(number, gflops, name, hpl=hpl, started_at=at, **same, **run or {}))
    store.end_study(name, "complete")


LEVELS = (1.0, 1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.999)
"""Speeds of a steady machine at eight checks."""
PAIR: list[Filled] = [("one", {128: FAST}, {}), ("other", {192: SLOW}, {})]
IMPORTED = {"engine": "import", "host": {}}
SIMULATED = {"versions": {"simulator": "SimGrid 3.32"}}
LIKE_ONE = {"notes": StudyNotes(like="one#1")}
WEEK = timedelta(days=7)
MANY = {64: (40.1, 40.2, 39.9), 128: (50.0, 49.8, 50.1), 192: (60.2, 59.9, 60.0), 256: (70.0, 70.3, 69.9)}


def checks(apart: timedelta, **changes: Any) -> list[Filled]:
    """Checks of the best of study "one", each so much later than the one before."""
    return [
        (f"check-{place}", {128: tuple(level * rate for rate in FAST)}, {"later": place * apart, **LIKE_ONE, **changes})
        for place, level in enumerate(LEVELS, start=1)
    ]


def close(runs: int) -> list[Filled]:
    """Two studies that hardly differ."""
    ends = ((70.0, "one", 128), (70.2, "other", 192))
    return [(name, {NB: tuple(rate + 0.5 * (place % 3) for place in range(runs))}, {}) for rate, name, NB in ends]


def days(kind: Kind | None) -> list[Filled]:
    return [("weekly", {192: FAST}, {"kind": kind}), ("weekly", {192: FAR}, {"kind": kind, "later": WEEK})]


def one(rates: Rates) -> list[Filled]:
    return [("study", rates, {})]


ONE_OTHER, OF_NB = CompareAsk(("one", "other")), CompareAsk(("study",), "NB")
SCENES: Mapping[str, tuple[list[Filled], CompareAsk]] = {
    "the best of two studies are compared": (
        [("one", {128: (65.0,), 192: FAST}, {}), ("other", {128: FAR, 192: (50.0,)}, {})],
        ONE_OTHER,
    ),
    "a slower first study is told the other way round": (
        [("one", {128: FAR, 192: (50.0,)}, {}), ("other", {128: (65.0,), 192: FAST}, {})],
        ONE_OTHER,
    ),
    "where no difference can be shown it tells how many more runs would": (
        one({128: (70.0, 71.0, 72.0), 192: (70.2, 71.4, 71.9)}),
        OF_NB,
    ),
    "fewer runs show a larger difference": (
        one({128: (70.0, 71.0, 72.0), 192: (70.2, 71.4, 71.9)}),
        CompareAsk(("study",), "NB", 2.0),
    ),
    "no number of runs is said to show what two occasions may differ": (close(3), ONE_OTHER),
    "nor of many runs": (close(12), ONE_OTHER),
    "a difference that may be one of the occasions is told as that": (PAIR, ONE_OTHER),
    "checks of eight days tell how much occasions differ": ([*PAIR, *checks(timedelta(days=1))], ONE_OTHER),
    "checks one after the other are one occasion": ([*PAIR, *checks(timedelta(minutes=1))], ONE_OTHER),
    "checks of every fourth hour are as many occasions as half days": ([*PAIR, *checks(timedelta(hours=4))], ONE_OTHER),
    "imported checks tell nothing of how this machine differs between days": (
        [(name, rates, IMPORTED) for name, rates, _ in PAIR] + checks(timedelta(days=1), engine="import"),
        ONE_OTHER,
    ),
    "two single runs have no interval, and an unknown machine may be another": (
        [("one", {128: (22.0,)}, IMPORTED), ("other", {128: (833.0,)}, IMPORTED)],
        ONE_OTHER,
    ),
    "what is usual is called so where one side alone ran twice": (
        [("one", {128: FAST}, {}), ("other", {128: (22.0,)}, {})],
        ONE_OTHER,
    ),
    "of two runs of each interval and verdict are by one method": (one({128: FAST[:2], 192: (7.5, 7.6)}), OF_NB),
    "runs that differ too much for the difference are told so": (
        one({128: (75.0, 70.0, 80.0), 192: (75.1, 80.0, 70.0)}),
        OF_NB,
    ),
    "the runs that confirm what was seen are told": (one({128: (75.0, 71.0), 192: (70.0, 66.0)}), OF_NB),
    "the days of a study are compared as they were": (days(None), CompareAsk(("weekly",), by="date")),
    "the days of runs of a file": (days(Kind.RUN), CompareAsk(("weekly",), by="date")),
    "the days of imported runs": (days(Kind.IMPORTED), CompareAsk(("weekly",), by="date")),
    "the values of a parameter are compared each at its best": (one({128: SLOW, 192: FAST, 256: (60.0,)}), OF_NB),
    "without a study the newest one is taken": (one({128: SLOW, 192: FAST}), CompareAsk((), "NB")),
    "many pairs are counted in one sentence": (one({**MANY, 320: (80.1, 79.9, 80.3)}), OF_NB),
    "it warns of studies that differ in more than their configuration": (
        [
            ("one", {128: SLOW}, {"host": {"cpu_model": "EPYC", "nodes": 1, "physical_cores": 8}}),
            ("other", {128: FAST}, {"N": 8000, "host": {"cpu_model": "Xeon", "nodes": 2, "physical_cores": 16}}),
        ],
        ONE_OTHER,
    ),
    "of a simulated and a measured side none is said to be faster": (
        [("one", {128: FAR}, {}), ("other", {128: FAST}, SIMULATED)],
        ONE_OTHER,
    ),
    "of a side whose runs were all disturbed nothing is said but that": (
        [("one", {128: FAR}, {}), ("other", {128: FAST}, {"run": {"measurements": DISTURBED}})],
        ONE_OTHER,
    ),
    "two simulated studies that differ do differ, without an interval": (
        [("one", {128: (70.0,)}, SIMULATED), ("other", {128: (70.7,)}, SIMULATED)],
        ONE_OTHER,
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_told_of_a_difference_is_what_it_was(store: Store, request: pytest.FixtureRequest, scene: str) -> None:
    studies, ask = SCENES[scene]
    for name, rates, changes in studies:
        filled(store, name, rates, **changes)
    hold_scene(request, "compare", SCENES, scene, told(compare(store, ask).report()))


@pytest.mark.parametrize(("text", "percent"), [("1%", 1.0), ("0.5 %", 0.5), ("2", 2.0)])
def test_a_difference_is_written_as_a_percentage(text: str, percent: float) -> None:
    assert parse_percent(text, "difference") == percent


def test_tab_completes_the_parameters_that_vary_and_is_silent_without_a_study(store: Store) -> None:
    context = typer.Context(typer.main.get_command(app))
    assert complete_parameter(context, "") == []
    filled(store, "study", {128: SLOW, 192: FAST})
    context.params = {"db": None, "studies": ["study"]}
    assert complete_parameter(context, "") == ["NB"]
    context.params = {}
    assert complete_parameter(context, "g") == []


def test_a_study_of_another_database_is_compared(store: Store, home: Path, request: pytest.FixtureRequest) -> None:
    filled(store, "mine", {192: FAST})
    with Store.open(home / "other.db") as other:
        filled(other, "mine", {192: FAR})
    found = told(compare(store, CompareAsk(("mine", f"{home}/other.db#mine"))).report())
    hold_scene(request, "compare_databases", ["two databases"], "two databases", found.replace(str(home), "HOME"))


def test_libraries_that_ran_in_rounds_are_compared_round_by_round(store: Store, request: pytest.FixtureRequest) -> None:
    store.create_study(a_study("blas-1", space_text="", options={"shootout": True}))
    falling = {"openblas": (75.0, 70.1, 66.0, 61.2), "blis": (74.2, 69.5, 65.2, 60.6)}
    for turn in range(4):
        for blas, rates in falling.items():
            params = {"blas": blas, "NB": 192}
            number = store.begin(begun("blas-1", key=blas, params=params, kind=Kind.CONFIRMATION))
            done = finished(number, rates[turn], "blas-1", key=blas, params=params)
            store.finish(replace(done, kind=Kind.CONFIRMATION))
    found = told(compare(store, CompareAsk(("blas-1",), by="blas")).report())
    hold_scene(request, "compare_rounds", ["rounds"], "rounds", found)
