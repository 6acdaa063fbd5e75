"""What a study learnt."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from broken_fitting import BrokenFitting
from engine_contract import CONDITIONAL, SMALL, space_of
from explain_builders import SWAPPING, explain, keep, records, searched
from landscape import Landscape
from record_builders import DISTURBED, START, finished
from report_reading import as_json, printed

from hpl.params import HplParams
from results.record import Kind, TrialRecord, TrialState
from results.report.model import Report
from results.store.networks import NetworkProbe
from results.store.store import Store
from runners.virtual.load import load_cluster
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace
from tuner.commands.stored.explain import explain_study, known_before
from tuner.engines.base import EngineContext
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.model.pool import Pool
from tuner.engines.points import neighbours
from tuner.engines.probes import Probes
from tuner.errors import TunerError
from tuner.explain.explanation import confounded, looked_at, only_values
from tuner.explain.stored_space import stored_space
from tuner.explain.variance import Landscape as Variances
from tuner.explain.variance import Pair, effects, pairs
from tuner.options import TuneOptions
from tuner.reports.explanation import apart, depends, explanation_parts, glossary, untested
from tuner.simulation.cluster import cluster_dict
from tuner.simulation.known import machine_of, probes_of
from tuner.study.sizing.pilot import PROGRAM
from tuner.trial.ladder import outcome_of

LAYOUTS = SMALL + 'layout = "auto"\n'
CROSSED = """
[parameters]
layout = "16x1"
blas = "openblas"
kernel = "Zen"
NB = [64, 128, 192, 256]
grid = ["2x8", "4x4"]
BCAST = ["1rg", "1rM", "LnM", "Lng"]
DEPTH = [0, 1]
"""
MANY = """
[parameters]
layout = "auto"
blas = "openblas"
kernel = ["Haswell", "Zen"]
NB = [96, 128, 160, 192, 224, 256, 320, 384]
grid = "auto"
BCAST = ["1rM", "2rM", "LnM"]
DEPTH = [0, 1]
SWAP = ["bin", "long", "mix"]
RFACT = ["left", "crout", "right"]
NBMIN = [4, 8, 16]
"""
ONE_KERNEL = """
[parameters]
layout = "4x1"
grid = "2x2"
blas = ["openblas", "reference"]
kernel = "auto"
NB = [64, 128]
"""
RECURSION = """
[parameters]
grid = "auto"
NB = [32, 64, 128]
NBMIN = [4, 16, 64]
NDIV = [2, 4]
RFACT = ["left", "right"]
"""


def planted(point: Point) -> float:
    """NB matters most; look-ahead pays with the bin-exchange swap only; broadcasts are all alike."""
    log = {64: 0.0, 128: 0.1, 192: 0.2}[int(point["NB"])]
    if point["grid"] == "2x2":
        log += 0.08 if (point["DEPTH"] == 1) == (point["SWAP"] == "bin") else 0.0
    return 100 * math.exp(log)


def test_the_planted_effect_and_the_planted_interaction_are_found() -> None:
    space = space_of(SWAPPING)
    found = explain(space, records(space, planted, 60))
    assert found.effects[0].name == "NB"
    assert found.effects[0].values[0].value == 192
    assert found.effects[0].share > 0.5
    pair = found.pairs[0]
    assert {pair.one, pair.other} == {"DEPTH", "SWAP"}
    assert pair.h - pair.h_sd > 0.5
    named = {effect.name: effect for effect in found.effects}
    assert named["BCAST"].total < 0.05
    assert all(abs(value.percent) < 1.5 for value in named["BCAST"].values)


@pytest.mark.parametrize("text", [SWAPPING, CONDITIONAL, LAYOUTS, RECURSION])
def test_no_two_parameters_explain_more_together_than_either_takes_part_in(text: str) -> None:
    space = space_of(text)
    found = explain(space, records(space, Landscape(space, 2).rate, 60))
    totals = {effect.name: effect.total for effect in found.effects}
    assert found.pairs
    for pair in found.pairs:
        assert pair.share <= min(totals[pair.one], totals[pair.other])


def test_n_has_no_share_where_full_runs_had_one_n() -> None:
    space = space_of(SMALL + "N = [2000, 4000]\n")
    ran = records(space, lambda point: 100 * (1.0 + int(point["NB"]) / 1000) * int(point["N"]) / 4000, 60)
    both = explain(space, ran)
    assert both.effects[0].name == "N"
    one = explain(space, [run for run in ran if run.params["N"] == 4000])
    assert [effect.name for effect in one.effects if effect.name == "N"] == []
    assert one.alone == {"N": 4000}
    assert {effect.name: effect for effect in one.effects}["NB"].share > 0.8
    small = [replace(run, kind=Kind.SMALL) if run.params["N"] == 2000 else run for run in ran]
    assert only_values(space, small) == {"N": 4000}


def test_values_that_are_never_combined_are_no_joint_effect() -> None:
    space = space_of(RECURSION)
    values = space.parameters["NB"].values
    found = explain(space, records(space, lambda point: 100 * 1.1 ** values.index(point["NB"]), 60))
    [together] = [one for one in found.pairs if {one.one, one.other} == {"NB", "NBMIN"}]
    assert together.share < 0.01


@pytest.mark.parametrize(("text", "pair"), [(LAYOUTS, {"layout", "grid"}), (CONDITIONAL, {"blas", "kernel"})])
def test_a_parameter_whose_values_belong_to_one_of_another_each_is_no_pair_with_it(text: str, pair: set[str]) -> None:
    space = space_of(text)
    values = space.parameters[next(name for name in ("layout", "blas") if name in pair)].values
    found = explain(space, records(space, Landscape(space, 2).rate, 60))
    assert len(values) > 1
    assert pair not in [{one.one, one.other} for one in found.pairs]


def sums(space: SearchSpace, weights: Mapping[str, float]) -> Callable[[Point], float]:
    """A rate to which each named parameter adds something of its own, and nothing else does anything."""

    def gain(name: str, value: object) -> float:
        values = space.parameters[name].values
        return weights[name] * values.index(value) / len(values)

    def rate(point: Point) -> float:
        seen = space.representative(point)
        return 100 * math.exp(sum(gain(name, seen[name]) for name in weights))

    return rate


@pytest.mark.heavy
@pytest.mark.parametrize("weights", [{"NB": 0.2, "BCAST": 0.2}, {"NB": 0.2, "grid": 0.2, "DEPTH": 0.05}])
def test_what_adds_up_is_each_parameters_alone(weights: dict[str, float]) -> None:
    space = space_of(CROSSED, cores=16)
    found = explain(space, records(space, sums(space, weights), 64, noise=1e-4))
    assert {effect.name for effect in found.effects if effect.total > 0.01} == weights.keys()
    assert sum(effect.share for effect in found.effects) == pytest.approx(1, abs=0.01)
    assert all(effect.total == pytest.approx(effect.share, abs=0.01) for effect in found.effects)
    assert all(pair.share < 0.002 for pair in found.pairs)


def test_what_only_one_library_can_choose_explains_no_more_than_all_rates_differ_by() -> None:
    """The library without kernels has a third of the points, and the rate of the slower kernel."""
    space = space_of(ONE_KERNEL)
    pool, points = Pool(space, 0, Probes()), list(space)
    draws = np.array([[0.1 * (point["kernel"] == "Zen") for point in points]])
    found = effects(Variances.over(space, pool, points, draws, draws.var(axis=1)), space, [])
    shares = {effect.name: effect.share for effect in found}
    assert shares == pytest.approx({"kernel": 0.75, "blas": 0.25, "NB": 0.0})


@pytest.mark.heavy
def test_of_a_large_space_the_shares_are_of_all_of_it() -> None:
    space = space_of(MANY, cores=16)
    rate = sums(space, {"layout": 0.1, "NB": 0.2, "NBMIN": 0.2, "RFACT": 0.2, "kernel": 0.15})
    found = explain(space, records(space, rate, 120, noise=1e-3))
    assert sum(effect.share for effect in found.effects) == pytest.approx(1, abs=0.1)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "first", [("NB", "NBMIN", "RFACT", "layout"), ("layout", "NB", "DEPTH"), ("NB", "BCAST", "SWAP", "RFACT", "NBMIN")]
)
def test_of_a_large_space_every_layout_is_looked_at_and_what_adds_up_is_no_joint_effect(first: tuple[str, ...]) -> None:
    space = space_of(MANY, cores=16)
    engine, pool = HplEngine(space, 0), Pool(space, 0, Probes())
    order = [*first, *(name for name in space.varying if name not in first)]
    points = looked_at(engine, pool, order, space.point(0))
    pool.add(points)
    rate = sums(space, dict.fromkeys(("layout", "NB", "NBMIN", "RFACT", "grid", "kernel"), 0.1))
    draws = np.log([[rate(point) for point in points]])
    found = effects(landscape := Variances.over(space, pool, points, draws, draws.var(axis=1)), space, [])
    named = {effect.name: effect for effect in found}
    assert {entry.value for entry in named["layout"].values} == set(space.parameters["layout"].values)
    assert all(effect.total == pytest.approx(effect.share) for effect in found)
    together = pairs(landscape, pool, np.zeros(len(pool)), found)
    assert together
    assert all(pair.share < 1e-9 for pair in together)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, 3])
def test_no_single_change_is_better_than_the_best(seed: int) -> None:
    space = space_of(MANY, cores=16)
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    rate = sums(space, {name: chance.uniform(0, 0.2) for name in space.varying if name != "swap_threshold"})
    found_by = records(space, rate, 60)
    found = explain(space, found_by)
    engine = HplEngine(space, 0, EngineContext(probes=Probes()))
    for record in found_by:
        engine.tell(record.params, outcome_of(record))
    engine.model()
    best = engine.expected_gflops(found.best)
    assert max(map(engine.expected_gflops, neighbours(space, found.best))) <= best * (1 + 1e-6)
    assert engine.expected_gflops(found.one_at_a_time.end) <= best * (1 + 1e-6)
    assert found.one_at_a_time.missing_percent >= 0


LOOKAHEAD = """
[parameters]
layout = "8x1"
grid = "2x4"
NB = 180
DEPTH = [0, 1]
BCAST = ["1rg", "2rM", "Lng", "LnM"]
"""
PLANTED = {
    (0, "1rg"): 14.18, (1, "2rM"): 15.11, (0, "Lng"): 14.40, (1, "LnM"): 13.76,
    (0, "2rM"): 14.66, (1, "1rg"): 15.03, (0, "LnM"): 14.66, (1, "Lng"): 13.52,
}  # fmt: skip


def looked_ahead(point: Point) -> float:
    """Rates of eight runs in which only look-ahead and broadcasts differ."""
    rings = {"1rM": "2rM", "2rg": "2rM"}
    return PLANTED[int(point["DEPTH"]), rings.get(str(point["BCAST"]), str(point["BCAST"]))]


def test_every_value_with_runs_is_told_and_the_best_on_average_is_the_best() -> None:
    space = space_of(LOOKAHEAD, cores=8)
    found = explain(space, records(space, looked_ahead, 8, noise=1e-5))
    named = {effect.name: effect for effect in found.effects}
    assert [value.value for value in named["BCAST"].values] == ["2rM", "1rg", "LnM", "Lng"]
    assert [value.runs for value in named["BCAST"].values] == [2, 2, 2, 2]
    assert named["BCAST"].values[0].percent == pytest.approx(3.3, abs=0.5)
    assert named["DEPTH"].values[0].value == 0
    assert found.best_run["DEPTH"] == 1
    assert apart(found)[0].startswith("Best is DEPTH 0 on average, but 1 in the best run: take the values of one run")


def test_values_that_hpl_treats_alike_are_one_and_none_without_runs_is_called_best() -> None:
    space = space_of(LOOKAHEAD.replace('"1rg", ', '"1rg", "1rM", '), cores=8)
    rated = [one for one in records(space, looked_ahead, len(space), noise=1e-5) if one.params["BCAST"] != "1rM"]
    found = explain(space, rated)
    [broadcasts] = [effect for effect in found.effects if effect.name == "BCAST"]
    told = {value.words: value.runs for value in broadcasts.values}
    assert told == {"1rM = 2rM": 2, "1rg": 2, "LnM": 2, "Lng": 2}
    assert "HPL runs alike on 2x4: BCAST 1rM = 2rM." in apart(found)
    never = explain(space, [one for one in rated if one.params["BCAST"] != "2rM"])
    [broadcasts] = [effect for effect in never.effects if effect.name == "BCAST"]
    assert broadcasts.ran[0].value == "1rg"
    assert [value.words for value in broadcasts.values if not value.runs] == ["1rM = 2rM"]


def test_values_that_no_run_had_are_named() -> None:
    space = space_of(SWAPPING)
    some = [record for record in records(space, planted, 80) if record.params["BCAST"] != "LnM"]
    found = explain(space, some)
    assert found.untested == {"BCAST": ("LnM",)}
    assert untested(found) == "No run that counts had BCAST LnM: what is said of these values is an estimate."


def test_what_matters_is_told_with_what_it_does() -> None:
    space = space_of(SWAPPING)
    found = explain(space, records(space, planted, 60))
    told = glossary(found)
    assert "Look-ahead." in told["DEPTH"]
    assert next(iter(told)) == "NB"
    assert "BCAST" not in told, "all broadcasts are alike in these runs"


def test_small_runs_and_failures_are_understood() -> None:
    space = space_of(CONDITIONAL)
    landscape = Landscape(space, 0)
    full = records(space, landscape.rate, 20)
    small = [
        finished(
            100 + number, 0.6 * (record.gflops or 0.0), params=record.params, hpl=record.hpl, kind=Kind.SMALL, part=0.35
        )
        for number, record in enumerate(full)
    ]
    failed = [finished(300, None, params=full[0].params, state=TrialState.FAILED, passed=None)]
    found = explain(space, [*full, *small, *failed])
    assert found.runs == 40


def test_too_few_runs_explain_nothing() -> None:
    space = space_of(SWAPPING)
    with pytest.raises(TunerError, match="only 3 trials gave a rate that counts: at least 5 are needed"):
        explain(space, records(space, planted, 3))


def test_trials_that_do_not_fit_the_space_are_not_counted() -> None:
    space = space_of(SWAPPING)
    foreign = [replace(record, params={**record.params, "NB": 65}) for record in records(space, planted, 20)]
    with pytest.raises(
        TunerError, match="only 3 trials gave a rate that counts and fit the space made for a test: at least 5"
    ):
        explain(space, [*foreign, *records(space, planted, 3)])


def test_rates_that_no_model_describes_are_one_sentence() -> None:
    space = space_of(SWAPPING)
    with pytest.raises(TunerError, match=r"no model describes the rates of these trials \(not positive\)"):
        explain(space, records(space, planted, 20), fit=BrokenFitting)


def of_layouts(*layouts: str, **changes: Any) -> list[TrialRecord]:
    """One trial a layout, in the words of the space `default`."""
    words = {**HplParams(6000, 192, 1, 8).words(), "blas": "openblas", "kernel": "auto"}
    return [
        finished(number, params={**words, "layout": layout, **changes}, kind=Kind.SEARCH)
        for number, layout in enumerate(layouts, start=1)
    ]


def layouts_of(space: SearchSpace) -> tuple[object, ...]:
    return space.parameters["layout"].values


def test_a_simulated_study_had_one_thread_a_rank_though_it_had_many_nodes() -> None:
    simulated = {"simulator": "SimGrid 3.32"}
    study = searched("default", host={"nodes": 8, "physical_cores": 8}, versions=simulated)
    assert layouts_of(stored_space(study, of_layouts("8x1"))) == ("8x1",)


def test_a_study_of_a_cluster_had_the_layouts_that_spread_over_its_nodes() -> None:
    study = searched("default", host={"nodes": 4, "physical_cores": 32})
    found = stored_space(study, of_layouts("32x1", "16x2"))
    assert layouts_of(found) == ("32x1", "16x2", "8x4", "4x8")


def test_a_library_without_threads_is_not_given_any() -> None:
    study = searched("default")
    found = stored_space(study, [*of_layouts("8x1", "4x2"), *of_layouts("8x1", blas="reference")])
    assert {point["layout"] for point in found if point["blas"] == "reference"} == {"8x1"}
    assert {point["layout"] for point in found if point["blas"] == "openblas"} == {"8x1", "4x2", "2x4", "1x8"}


def test_the_runs_that_confirmed_the_finalists_are_explained_too(tmp_path: Path) -> None:
    space = space_of(SWAPPING)
    found = records(space, planted, 12)
    again = [replace(record, kind=Kind.CONFIRMATION) for record in found[:3]]
    with Store.open(tmp_path / "hpltune.db") as store:
        keep(store, replace(searched("default"), space_text=SWAPPING), [*found, *again])
        explained = explain_study(store, "study")
    assert as_json(explained.report())["runs"] == 15


def test_what_was_timed_when_a_study_began_is_reckoned_with(tmp_path: Path) -> None:
    found = records(space_of(SWAPPING), planted, 8)

    def told(*probes: NetworkProbe) -> dict[str, Any]:
        place = tmp_path / str(len(probes))
        with Store.open(place / "hpltune.db") as store:
            study = replace(searched("default", host={"nodes": 4, "cores": 4}), space_text=SWAPPING)
            keep(store, study, found)
            for probe in probes:
                store.network.add_probe(probe)
                store.note("study", lambda notes: replace(notes, dgemm_half_nb=30.0))
            explained: dict[str, Any] = as_json(explain_study(store, "study").report())
            space = stored_space(study, found)
            known = known_before(store, study, space)
            assert (known == Probes(nodes=4)) == (not probes)
            expected = explain(space, found, known)
        assert explained["best_gflops"] == pytest.approx(expected.best_gflops)
        return explained

    slow = NetworkProbe("study", START, PROGRAM, ("n1", "n4"), "openmpi", {}, 500.0, 80.0, ())
    assert told(slow)["best_gflops"] != pytest.approx(told()["best_gflops"], rel=1e-3)


def test_a_simulated_study_is_explained_with_what_its_search_knew_of_the_cluster(tmp_path: Path) -> None:
    cluster = load_cluster("kronos")
    options = TuneOptions(space="kronos-free", cluster=cluster_dict(cluster)).to_json()
    study = searched("kronos-free", options=options, versions={"simulator": "SimGrid 3.32"}, host={"nodes": 8})
    words = {"N": 12000, "net.mtu": 9000, "net.rx_usecs": 0}
    found = [*of_layouts("8x1", **words, blas="acml"), *of_layouts("8x1", **words, blas="atlas")]
    space = stored_space(study, found)
    assert space.parameters["blas"].values == ("atlas", "acml")
    assert space.machine == machine_of(cluster, 12000)
    with Store.open(tmp_path / "hpltune.db") as store:
        keep(store, study, found)
        known = known_before(store, study, space)
    assert known == probes_of(cluster, space)
    assert known.messages is not None
    assert known.exact


@pytest.mark.parametrize("mpi", ["mpich", "smpi"])
def test_the_mpi_library_of_a_study_is_the_one_its_trials_had(mpi: str) -> None:
    study = searched("full", options=TuneOptions(overrides={"NB": ["192"], "layout": ["8x1"]}).to_json())
    assert stored_space(study, of_layouts("8x1", mpi=mpi)).parameters["mpi"].values == (mpi,)


def test_what_depends_on_what_is_said_as_people_say_it() -> None:
    pair = Pair("NB", "blas", 0.1, 0.01, 0.5, 0.1, {"blis": 232, "openblas": 192, "mkl": 192})
    assert depends(pair) == "NB 232 with blis, 192 with openblas/mkl"
    assert depends(Pair("NB", "grid", 0.1, 0.01, 0.5, 0.1, {"1x4": 128, "2x2": 128})) == "NB 128 for every grid"


def test_parameters_that_always_changed_together_are_named_and_others_are_not() -> None:
    ran = [
        {"layout": layout, "grid": grid, "NB": NB}
        for layout, grid in (("1x2", "1x1"), ("2x1", "1x2"), ("2x1", "2x1"))
        for NB in (64, 128, 192)
    ]
    assert confounded(ran, ["layout", "grid", "NB"]) == (("layout", "grid"),)
    crossed = [*ran, *({**one, "layout": "1x1"} for one in ran)]
    assert confounded(crossed, ["layout", "grid", "NB"]) == ()


def test_a_parameter_with_a_value_of_its_own_in_each_run_says_nothing_of_the_others() -> None:
    ran = [{"NB": 64 * number, "grid": "1x2" if number % 2 else "2x1"} for number in range(1, 9)]
    assert confounded(ran, ["NB", "grid"]) == ()


KINDS: Mapping[object, Mapping[str, Any]] = {
    "LnM": {"state": TrialState.FAILED, "gflops": None, "passed": None, "reason": "killed"},
    "Lng": {"state": TrialState.FAILED, "gflops": 900.0, "passed": False, "residual": 1e9},
    128: {"gflops": 20.0, "measurements": DISTURBED},
}
"""Values that were killed, whose check failed though their rates were the best, and that ran disturbed alone."""


def test_only_runs_that_count_tell_which_value_is_best_or_worst() -> None:
    space = space_of(SWAPPING.replace('"LnM"]', '"LnM", "Lng"]'))
    ran = records(space, planted, 200)
    ran = [replace(one, **KINDS.get(one.params["BCAST"], KINDS.get(one.params["NB"], {}))) for one in ran]
    found = explain(space, ran)
    told = {value for effect in found.effects for one in effect.ran for value in (one.value, *one.alike)}
    assert told.isdisjoint(KINDS)
    assert {"NB", "BCAST"} <= {effect.name for effect in found.effects}
    assert {name: set(values) for name, values in found.untested.items()} == {"NB": {128}, "BCAST": {"LnM", "Lng"}}
    assert {found.best["NB"], found.best["BCAST"]}.isdisjoint(KINDS)
    disturbed = sum(one.disturbed is not None and one.ranked for one in ran)
    text = printed(Report("", tuple(explanation_parts(searched("default"), found))), 1000)
    assert f"{disturbed} of {found.runs} runs were disturbed: other programs took CPU time in {disturbed}" in text
    away = replace(found, one_at_a_time=replace(found.one_at_a_time, had=False))
    text = printed(Report("", tuple(explanation_parts(searched("default"), away))), 1000)
    assert "ends at values that no run had" in text


def test_a_value_beside_which_all_others_failed_is_neither_best_nor_worst() -> None:
    space = space_of(SWAPPING)
    ran = [
        one if one.params["BCAST"] == "1rg" else replace(one, state=TrialState.FAILED, passed=False)
        for one in records(space, planted, 80)
    ]
    found = explain(space, ran)
    assert [effect.name for effect in found.effects if effect.name == "BCAST"] == []
    assert found.alone == {"BCAST": "1rg"}
    assert found.best["BCAST"] == "1rg"


def test_of_runs_that_were_all_disturbed_their_values_are_told_and_that_they_were() -> None:
    space = space_of(SWAPPING)
    found = explain(space, [replace(one, measurements=DISTURBED) for one in records(space, planted, 80)])
    assert found.disturbed.startswith(f"{found.runs} of {found.runs} runs were disturbed")
    assert all(effect.ran for effect in found.effects)
