"""What a study is to find the best of."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from record_builders import a_study, begun, finished
from report_reading import as_json

from results.stats.confidence import sentence
from results.stats.ranking import Ranked
from results.store.store import Store
from tuner.commands.stored.best import best_of_study
from tuner.commands.stored.export import export_study
from tuner.engines.outcomes import Outcome
from tuner.errors import TunerError
from tuner.study.objective import NEEDS, Objective, check_objective, of_study, pareto, ranking_of

CLUSTER = {"nodes": 8, "physical_cores": 32}
SIMULATED = {"simulator": "SimGrid 3.32"}


def entry(layout: str, *gflops: float) -> Ranked:
    return Ranked(layout, {"layout": layout}, gflops, 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hpltune.db") as opened:
        yield opened


def stored(store: Store, objective: str, rates: Mapping[str, tuple[float, ...]]) -> None:
    """A study on the cluster with some runs of each layout."""
    store.create_study(a_study(host=CLUSTER, versions=SIMULATED, options={"objective": objective}))
    for layout, gflops in rates.items():
        params = {"layout": layout, "NB": 192}
        for rate in gflops:
            number = store.begin(begun(key=layout, params=params))
            store.finish(finished(number, rate, key=layout, params=params, hpl_dat=f"that of {layout}\n"))


def test_on_one_machine_every_objective_ranks_alike() -> None:
    ranking = [entry("2x1", 90.0, 91.0), entry("1x2", 80.0, 81.0)]
    for name in NEEDS:
        objective = Objective.of(name, a_study(host={"physical_cores": 2}))
        assert objective.ranked(list(reversed(ranking))) == ranking


def test_fewer_nodes_may_be_worth_more_for_each() -> None:
    ranking = [entry("32x1", 200.0, 201.0), entry("8x1", 80.0, 80.5), entry("4x1", 30.0, 30.0)]
    rate, price = (
        Objective.of(name, a_study(host=CLUSTER, versions=SIMULATED)) for name in ("gflops", "usd-per-gflops")
    )
    assert [one.key for one in rate.ranked(ranking)] == ["32x1", "8x1", "4x1"]
    assert [one.key for one in price.ranked(ranking)] == ["8x1", "4x1", "32x1"]
    record = begun(params={"layout": "8x1"})
    assert price.outcome(record, Outcome(80.0)).gflops == 320.0
    assert price.outcome(record, Outcome(None)).gflops is None
    assert [one.key for one in pareto(price, ranking)] == ["32x1", "8x1"]


def test_what_a_later_session_found_is_a_finalist_though_it_ran_once() -> None:
    objective = Objective.of("gflops", a_study(host={"physical_cores": 2}))
    old, new = [entry("2x1", 90.0, 91.0), entry("1x2", 89.0, 90.0)], entry("1x1", 90.6)
    assert objective.ranked([*old, new])[0] == old[0]
    assert objective.finalists(objective.ranked([*old, new]), 2) == [new, old[0]]


def test_what_ran_once_is_the_first_where_it_is_faster_than_luck_may_make_it() -> None:
    objective = Objective.of("gflops", a_study(host={"physical_cores": 2}))
    old, new = [entry("2x1", 90.0, 91.0), entry("1x2", 80.0, 81.0)], entry("1x1", 95.0)
    assert objective.ranked([*old, new]) == [new, *old]


def test_a_real_cluster_spreads_ranks_over_all_its_nodes_so_that_none_is_saved() -> None:
    assert Objective.of("usd-per-gflops", a_study(host=CLUSTER)).worth({"layout": "8x1"}, 80.0) == 80.0


def test_an_objective_that_lacks_its_figure_says_which_and_how_to_give_it() -> None:
    with pytest.raises(
        TunerError, match="⟦objective⟧ usd-per-gflops needs price_usd of the machine: give it with ⟦price⟧"
    ):
        Objective.of("usd-per-gflops", a_study(price_usd=None))
    with pytest.raises(TunerError, match="needs power_w of the machine: give it in the cluster's file"):
        Objective.of("mflops-per-watt", a_study(power_w=None, versions=SIMULATED))


def test_a_name_that_is_no_objective_is_refused() -> None:
    with pytest.raises(TunerError, match="⟦objective⟧ speed: choose one of gflops, percent-of-peak, usd-per-gflops"):
        check_objective("speed")


def test_how_sure_the_best_is_does_not_depend_on_how_many_are_shown(store: Store) -> None:
    stored(store, "gflops", {"32x1": (200.0, 204.0), "8x1": (199.0, 203.0), "4x1": (60.0, 60.5)})

    def told(count: int, *, front: str | None = None) -> Any:
        return as_json(best_of_study(store, "study", count, front).report())

    assert [len(told(count)["ranking"]) for count in (1, 5)] == [1, 3]
    assert told(1)["confidence"] == told(5)["confidence"] < 0.9
    assert told(1)["cannot_be_told_apart"] == [1, 2]
    front = told(1, front="usd-per-gflops")
    assert (len(front["ranking"]), front["confidence"], front["cannot_be_told_apart"]) == (2, None, None)


def test_how_sure_the_best_is_is_told_in_the_terms_of_the_objective() -> None:
    ranking = [entry("8x1", 80.0, 80.5), entry("32x1", 200.0, 201.0)]
    price = Objective.of("usd-per-gflops", a_study(host=CLUSTER, versions=SIMULATED))
    sure = price.standing(ranking)
    assert sure is not None
    assert sure.confidence > 0.99
    assert sentence(sure, price.best) == "No. 1 is the best by usd-per-gflops with more than 99 % confidence."


def test_what_is_exported_is_the_best_by_the_objective_with_the_figures_of_the_nodes_in_use(store: Store) -> None:
    stored(store, "usd-per-gflops", {"32x1": (200.0, 201.0), "8x1": (80.0, 80.5)})
    assert "".join(export_study(store, "dat", "study")) == "that of 8x1\n"
    head, _, first, second, *_ = "".join(export_study(store, "md", "study")).splitlines()
    figures = "median GFLOPS | runs | slowest to fastest | expected GFLOPS | % of peak | USD/GFLOPS | MFLOPS/W"
    assert head == f"| rank | {figures} | layout |"
    expected = ranking_of(store, store.study("study"))[0].expected_gflops
    assert expected == pytest.approx(80.25, rel=1e-4)
    percent, price, watts = 100 * expected / (134.4 / 4), 2490 / 4 / expected, 1000 * expected / 225
    assert (
        first == f"| 1 | 80.25 | 2 | 80.00-80.50 | {expected:.2f} | {percent:.1f} | {price:.2f} | {watts:.1f} | 8x1 |"
    )
    assert second.endswith("| 32x1 |")


def test_a_study_of_before_there_were_objectives_is_ranked_by_gflops() -> None:
    assert of_study(a_study()).name == "gflops"
