"""What a study's report says of published results of the same CPU."""

import json
from typing import Any

import pytest
from record_builders import a_study, finished

from results.record import IMPORT, SIMULATOR, Study
from results.report.html import to_html
from results.report.model import Column, Report, Table
from results.report.text_forms import to_markdown
from results.stats.headline import FastestRun
from results.stats.ranking import Ranked
from tuner.machine.known_machines import known_machines
from tuner.reports.published_results import PublishedStanding, known_table, published_standing
from tuner.reports.summary import StudySummary

RANKING = [Ranked("a", {}, (7.0,), 1)]


def on(cpu: str, **changes: Any) -> Study:
    """A study on 40 cores of a CPU, with a peak of 1000 GFLOPS."""
    host = {"cpu_model": cpu, "physical_cores": 40, "nodes": 1}
    return a_study(**{"host": host, "rpeak_gflops": 1000.0, **changes})


def fastest(study: Study, gflops: float, **params: Any) -> FastestRun:
    """A study's fastest run, at N = 6,000."""
    return FastestRun.of(study, finished(1, gflops, params={"N": 6000, **params}, observed=None))


def standing(study: Study, gflops: float, **params: Any) -> PublishedStanding:
    found = published_standing(study, fastest(study, gflops, **params))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("gflops", "where", "words"),
    [
        (300.0, "below", "The fastest full run here got 30.0 % of peak: below that. Published runs fill most"),
        (650.0, "inside", "The fastest full run here got 65.0 % of peak: inside that range."),
        (680.0, "highest", "The fastest full run here got 68.0 % of peak: as much as the highest of them."),
        (573.0, "lowest", "The fastest full run here got 57.3 % of peak: as much as the lowest of them."),
        (900.0, "above", "The fastest full run here got 90.0 % of peak: above that."),
    ],
)
def test_a_study_is_told_where_it_stands(gflops: float, where: str, words: str) -> None:
    found = standing(on("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz"), gflops)
    assert found.where == where
    assert found.sentence().startswith(
        "Others got 57.6 to 67.8 % of peak on this CPU, Intel Xeon Gold 6148, with 32,400 to 80,640"
    )
    assert "(4 published results: TaiYi, Orion, Hera and 1 more)" in found.sentence()
    assert words in found.sentence()


def test_an_imported_run_is_not_told_as_one_of_here() -> None:
    found = standing(on("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", engine=IMPORT), 650.0)
    assert "The fastest imported run got 65.0 % of peak: inside that range." in found.sentence()


def test_a_study_below_is_told_its_n() -> None:
    assert "here N was 6,000" in standing(on("AMD EPYC 7763 64-Core Processor"), 300.0).sentence()


def test_a_virtual_machine_below_is_told_that_its_cores_may_be_halves() -> None:
    host = {"cpu_model": "AMD EPYC 7763 64-Core Processor", "physical_cores": 4, "hypervisor": True}
    halves = "In a virtual machine a core may be half of a real one."
    assert halves in standing(on("", host=host), 300.0).sentence()
    assert halves not in standing(on("", host=host), 800.0).sentence()
    assert halves not in standing(on("", host={**host, "hypervisor": False}), 300.0).sentence()


def test_one_result_is_no_range() -> None:
    said = standing(on("AMD Ryzen 5 5600X 6-Core Processor"), 644.0).sentence()
    assert "Others got 64.5 % of peak on this CPU, AMD Ryzen 5 5600X, with 6 cores (1 published result: " in said
    assert said.endswith("got 64.4 % of peak: as much. `hpltune known ryzen 5 5600x` has the sources.")


def test_without_a_peak_rates_per_core_are_compared() -> None:
    study = on("Intel(R) N100", host={"cpu_model": "Intel(R) N100", "physical_cores": 4}, rpeak_gflops=40.0)
    found = standing(study, 50.0)
    assert found.unit == "GFLOPS per core"
    assert "Others got 9.31 to 15.7 GFLOPS per core on this CPU, Intel N100" in found.sentence()
    assert "got 12.5 GFLOPS per core: inside that range" in found.sentence()


def test_a_study_without_a_peak_is_told_the_range_of_cores_or_of_peaks() -> None:
    assert standing(on("AMD EPYC 7763 64-Core Processor", rpeak_gflops=None), 400.0).unit == "GFLOPS per core"
    study = on("AMD EPYC 7763", host={"cpu_model": "AMD EPYC 7763"}, rpeak_gflops=None)
    found = standing(study, 400.0)
    assert (found.own, found.where) == (None, "")
    assert found.sentence().endswith("more). `hpltune known epyc 7763` has the sources.")


@pytest.mark.parametrize("cpu", ["Intel(R) Xeon(R) Processor", "AMD Ryzen 9 7950X 16-Core Processor", "aarch64", ""])
def test_nothing_is_said_of_a_cpu_without_published_results(cpu: str) -> None:
    assert published_standing(on(cpu), fastest(on(cpu), 10.0)) is None


def simulated(name: str, rpeak_gflops: float) -> Study:
    host = {"virtual_cluster": name, "physical_cores": 8, "nodes": 8}
    return a_study(host=host, rpeak_gflops=rpeak_gflops, versions={SIMULATOR: "3.32"})


def test_a_simulated_kronos_is_compared_with_the_real_one() -> None:
    said = standing(simulated("Kronos", 28.096), 14.27).sentence()
    assert said == (
        "Others published 14.53 GFLOPS (51.7 % of peak) on the real Kronos; this study simulates it. "
        "The fastest simulated run got 50.8 % of peak: below that."
    )


def test_another_virtual_cluster_is_compared_with_none() -> None:
    for study in (simulated("Kronos", 100.0), simulated("Pi 5 pile", 614.4)):
        assert published_standing(study, fastest(study, 10.0)) is None


def test_best_and_its_json_have_the_comparison() -> None:
    study = on("AMD EPYC 7763 64-Core Processor")
    summary = StudySummary.of(study, [Ranked("a", {"N": 6000}, (700.0,), 1)], fastest=fastest(study, 700.0))
    text = to_markdown(Report("", tuple(summary.parts(5))))
    assert "Others got 71.3 to 83.2 % of peak on this CPU, AMD EPYC 7763" in text
    facts = json.loads(json.dumps(summary.to_json()))["known_machines"]
    assert (facts["unit"], facts["standing"], facts["own"]) == ("% of peak", "below", pytest.approx(70.0))
    assert {"LUMI-C", "Anvil"} <= {one["machine"] for one in facts["results"]}
    assert (
        StudySummary.of(on("aarch64"), RANKING, fastest=fastest(on("aarch64"), 7.0)).to_json()["known_machines"] is None
    )


def test_a_page_links_the_sources_and_nothing_of_a_user_becomes_markup() -> None:
    machines = [machine for machine in known_machines() if machine.cpu == "AMD EPYC 7763"]
    page = to_html([Report("<script>a user's title</script>", (known_table(machines),))])
    assert '<td><a href="https://www.top500.org/system/180045/">LUMI-C</a></td>' in page
    assert "<script>a user" not in page
    assert "[LUMI-C](https://www.top500.org/system/180045/)" in to_markdown(Report("", (known_table(machines),)))


@pytest.mark.parametrize("link", ["javascript:alert(1)", "/etc/passwd", ""])
def test_a_table_links_to_pages_only(link: str) -> None:
    with pytest.raises(ValueError, match="which is no address of a page"):
        Table("", (Column("a"),), (("x",),), links=(link,))


def test_each_row_of_a_table_with_links_has_one() -> None:
    with pytest.raises(ValueError, match="has 1 links for 2 rows"):
        Table("", (Column("a"),), (("x",), ("y",)), links=("https://example.org/",))
