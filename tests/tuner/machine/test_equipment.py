"""Peak, price and power of the nodes that a configuration uses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study

from results.record import Study
from results.stats.ranking import Ranked
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import parse_cluster
from tuner.errors import TunerError
from tuner.machine.equipment import Equipment
from tuner.reports.ranking import figures
from tuner.simulation.cluster import equipment_of
from tuner.study.objective import Objective, merit_text

FIGURES = ("percent_of_peak", "usd_per_gflops", "mflops_per_watt")
SIMULATED = {"simulator": "SimGrid 3.32"}
REST = """
[core]
memory_gb_s = 10
cache_kib = 512
cache_gb_s = 60
strided_ns = 4
level2_gflops = 8

[blas.openblas]
dgemm_gflops = 7

[networks.gige]
latency_us = 30
gbit_s = 1
"""
BOXES = f"""
name = "two boxes"
[[nodes]]
count = 2
cores = 4
clock_ghz = 3.0
flops_per_cycle = 16
memory_gib = 30
price_usd = 900
power_w = 150
{REST}
switch = {{ price_usd = 60, power_w = 10 }}

[networks.fast]
latency_us = 5
gbit_s = 40
switch = {{ price_usd = 4000, power_w = 200 }}
"""
UNLIKE = f"""
name = "unlike pair"
[[nodes]]
count = 1
cores = 2
clock_ghz = 2.0
flops_per_cycle = 4
memory_gib = 4
price_usd = 100
power_w = 10
[[nodes]]
count = 1
cores = 6
clock_ghz = 3.0
flops_per_cycle = 16
memory_gib = 30
price_usd = 5000
power_w = 300
{REST}
"""


def cluster(text: str, **changes: object) -> VirtualCluster:
    return parse_cluster("mine.toml", text).model_copy(update=changes)


def stored(equipment: Equipment) -> Study:
    """A study with these facts, as it comes out of the database."""
    whole = equipment.whole
    return a_study(
        host=json.loads(json.dumps({"nodes": 2, "physical_cores": 8, **equipment.facts()})),
        rpeak_gflops=whole.rpeak_gflops,
        price_usd=whole.price_usd,
        power_w=whole.power_w,
        versions=SIMULATED,
    )


def merits(study: Study, gflops: float, layout: str, network: str = "gige") -> list[float | None]:
    """% of peak, $/GFLOPS and MFLOPS/W, None where one is not told."""
    entry = Ranked(layout, {"layout": layout, "net.network": network}, (gflops,), 1)
    told = figures(Equipment.of(study), gflops, entry)
    return [told.get(name) for name in FIGURES]


def about(*figures: float) -> object:
    return pytest.approx(figures, rel=0.005)


def test_price_and_power_are_those_of_the_network_that_was_used() -> None:
    study = stored(equipment_of(cluster(BOXES)))
    assert merits(study, 143.0, "8x1", "fast") == about(37.2, 5800 / 143, 143_000 / 500)
    assert merits(study, 22.06, "8x1", "gige") == about(5.745, 1860 / 22.06, 22_060 / 310)
    assert merits(study, 71.5, "4x1", "fast") == about(37.2, 5800 / 143, 143_000 / 500)


@pytest.mark.parametrize(("fast", "best"), [(60.0, "gige"), (80.0, "fast")])
def test_a_dear_network_has_to_be_as_much_faster_to_be_the_best(fast: float, best: str) -> None:
    price = Objective.of("usd-per-gflops", stored(equipment_of(cluster(BOXES))))
    rates = {"gige": 22.06, "fast": fast}
    worth = {name: price.worth({"layout": "8x1", "net.network": name}, rate) for name, rate in rates.items()}
    assert max(worth, key=lambda name: worth[name]) == best
    assert worth["gige"] == pytest.approx(22.06)


def test_nodes_that_differ_count_as_the_ones_that_ranks_fill() -> None:
    study = stored(equipment_of(cluster(UNLIKE)))
    assert merits(study, 10.26, "2x1") == about(64.1, 9.75, 1026)
    assert merits(study, 16.04, "4x1") == about(5.28, 318, 51.7)
    price, power = (Objective.of(name, study) for name in ("usd-per-gflops", "mflops-per-watt"))
    for objective in (price, power):
        assert objective.worth({"layout": "2x1"}, 10.26) > objective.worth({"layout": "4x1"}, 16.04)


def test_what_is_said_of_the_whole_cluster_is_divided_among_its_nodes_whichever_network_they_use() -> None:
    study = stored(equipment_of(cluster(BOXES, price_usd=3000.0, power_w=400.0), rpeak_gflops=200.0))
    for network in ("gige", "fast"):
        assert merits(study, 50.0, "8x1", network) == about(25, 60, 125)
        assert merits(study, 50.0, "4x1", network) == about(50, 30, 250)


def test_a_figure_that_some_configurations_lack_is_told_of_none() -> None:
    study = stored(equipment_of(cluster(UNLIKE.replace("price_usd = 100\n", ""))))
    for layout in ("2x1", "4x1"):
        percent, price, power = merits(study, 16.0, layout)
        assert price is None
        assert percent
        assert power
    with pytest.raises(TunerError, match="needs price_usd of the machine: give it in the cluster's file"):
        Objective.of("usd-per-gflops", study)


def test_an_older_study_counts_nodes_as_if_they_were_alike() -> None:
    study = a_study(host={"nodes": 2, "physical_cores": 8}, versions=SIMULATED)
    assert merits(study, 50.0, "4x1", "fast") == about(100 * 50 / 67.2, 2490 / 2 / 50, 50_000 / 450)
    assert merits(study, 50.0, "8x1", "fast") == about(100 * 50 / 134.4, 2490 / 50, 50_000 / 900)


def test_a_cluster_that_lost_a_node_has_the_peak_the_price_and_the_power_of_those_that_are_left() -> None:
    study = a_study(host={"nodes": 4, "physical_cores": 16})
    whole = Equipment.of(study)
    run = Ranked("8x1", {"layout": "8x1"}, (50.0,), 1)
    assert figures(whole, 50.0, replace(run, hosts=4)) == figures(whole, 50.0, run)
    left = figures(whole, 50.0, replace(run, hosts=3))
    assert [left[name] for name in FIGURES] == about(100 * 50 / 100.8, 1867.5 / 50, 50_000 / 675)


TWO = ("--space", "quick", "--engine", "grid", "--set", "N=1000", "--set", "NB=64", "--set", "DEPTH=1")


@pytest.mark.usefixtures("simgrid")
def test_tune_best_and_export_agree_on_what_a_network_costs(hpltune: Run, home: Path) -> None:
    (home / "boxes.toml").write_text(BOXES)
    tuned = hpltune.well(
        *("tune", "--cluster", "boxes.toml", *TWO, "--set", "grid=2x4", "--set", "net.network=gige,fast"),
        *("--confirm", "0", "--objective", "usd-per-gflops"),
    )
    ranking = json.loads(hpltune("best", "--json").stdout)["ranking"]
    assert {entry["params"]["net.network"] for entry in ranking} == {"gige", "fast"}
    exported = hpltune("export", "md").stdout
    for entry in ranking:
        price = {"gige": 1860, "fast": 5800}[entry["params"]["net.network"]]
        assert entry["usd_per_gflops"] == pytest.approx(price / entry["expected_gflops"])
        assert merit_text("usd_per_gflops", entry["usd_per_gflops"]) in tuned.stdout
        assert merit_text("usd_per_gflops", entry["usd_per_gflops"]) in exported
    assert ranking == sorted(ranking, key=lambda entry: entry["usd_per_gflops"])


DESIGNS = """
base = "boxes.toml"
[[design]]
name = "fast"
network = "fast"
[[design]]
name = "four of them"
nodes = { count = 4 }
"""
EIGHT_RANKS = """
name = "eight ranks"
[parameters]
layout = ["8x1"]
N = [1000]
NB = [64]
"""


@pytest.mark.usefixtures("simgrid")
def test_predict_has_the_figures_of_best_and_says_where_nodes_are_idle(hpltune: Run, home: Path) -> None:
    (home / "boxes.toml").write_text(BOXES)
    (home / "designs.toml").write_text(DESIGNS)
    (home / "eight.toml").write_text(EIGHT_RANKS)
    shown = hpltune.well("predict", "designs.toml", "--space", "eight.toml", "--trials", "2")
    assert "four of them: 2 of 4 nodes are used" in shown.stdout
    assert shown.stdout.count("nodes are used") == 1
    told = json.loads(hpltune("predict", "designs.toml", "--space", "eight.toml", "--trials", "2", "--json").stdout)
    assert [(entry["nodes"], entry["nodes_used"]) for entry in told] == [(2, 2), (4, 2)]
    assert told[0]["usd_per_gflops"] == pytest.approx(5800 / told[0]["gflops"])
    for entry in told:
        (best,) = hpltune.told("best", entry["study"], "--count", "1")["ranking"]
        for name in FIGURES:
            assert best[name] == pytest.approx(entry[name])


def test_dropped_nodes_are_not_paid_for_and_the_slowest_go_first() -> None:
    slow_first = UNLIKE.replace("price_usd = 100", "speed = 0.5\nprice_usd = 100")
    found = Equipment.of(stored(equipment_of(cluster(slow_first))))
    assert found.used({"layout": "6x1", "nodes_dropped": 1}).price_usd == 5000
    assert found.used({"layout": "8x1", "nodes_dropped": 0}).price_usd == 5100
    alike = Equipment.of(stored(equipment_of(cluster(BOXES))))
    assert alike.used({"layout": "4x1", "nodes_dropped": 1}).price_usd == 930


def test_on_a_real_cluster_a_configuration_that_drops_nodes_counts_with_the_others() -> None:
    study = a_study(host={"nodes": 4, "physical_cores": 8}, rpeak_gflops=400.0, price_usd=4000.0, power_w=None)
    price = Objective.of("usd-per-gflops", study)
    assert price.worth({"layout": "6x1", "nodes_dropped": 1}, 90.0) == pytest.approx(120.0)
    assert price.worth({"layout": "8x1"}, 110.0) == pytest.approx(110.0)
    used = Equipment.of(study).used_on(3, {"layout": "6x1", "nodes_dropped": 1})
    assert (used.rpeak_gflops, used.price_usd) == (300.0, 3000.0)
