"""What a study's report says of published results of the same CPU."""

import json
from typing import Any

import pytest
from golden import hold_scene
from record_builders import a_study, finished

from results.record import IMPORT, SIMULATOR, Study
from results.report.html import to_html
from results.report.model import Column, Report, Table
from results.report.text_forms import to_markdown
from results.stats.headline import FastestRun
from results.stats.ranking import Ranked
from tuner.machine.known_machines import known_machines
from tuner.reports.published_results import known_table, published_standing
from tuner.reports.summary import StudySummary

RANKING = [Ranked("a", {}, (7.0,), 1)]


def on(cpu: str, **changes: Any) -> Study:
    """A study on 40 cores of a CPU, with a peak of 1000 GFLOPS."""
    host = {"cpu_model": cpu, "physical_cores": 40, "nodes": 1}
    return a_study(**{"host": host, "rpeak_gflops": 1000.0, **changes})


def fastest(study: Study, gflops: float, **params: Any) -> FastestRun:
    """A study's fastest run, at N = 6,000."""
    return FastestRun.of(study, finished(1, gflops, params={"N": 6000, **params}, observed=None))


def simulated(name: str, rpeak_gflops: float) -> Study:
    host = {"virtual_cluster": name, "physical_cores": 8, "nodes": 8}
    return a_study(host=host, rpeak_gflops=rpeak_gflops, versions={SIMULATOR: "3.32"})


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


XEON, EPYC = "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "AMD EPYC 7763 64-Core Processor"
VIRTUAL = {"cpu_model": EPYC, "physical_cores": 4, "hypervisor": True}
N100 = {"cpu_model": "Intel(R) N100", "physical_cores": 4}
SCENES = {
    **{f"{gflops:g} of 1000 GFLOPS": (on(XEON), gflops) for gflops in (300.0, 650.0, 680.0, 573.0, 900.0)},
    "an imported run is not of here": (on(XEON, engine=IMPORT), 650.0),
    "below, with its N": (on(EPYC), 300.0),
    "a virtual machine below may have halves of cores": (on("", host=VIRTUAL), 300.0),
    "a virtual machine inside": (on("", host=VIRTUAL), 800.0),
    "no virtual machine": (on("", host={**VIRTUAL, "hypervisor": False}), 300.0),
    "one result is no range": (on("AMD Ryzen 5 5600X 6-Core Processor"), 644.0),
    "published without a peak, so rates per core": (on("", host=N100, rpeak_gflops=40.0), 50.0),
    "a study without a peak": (on(EPYC, rpeak_gflops=None), 400.0),
    "a study without a peak and cores": (on("", host={"cpu_model": "AMD EPYC 7763"}, rpeak_gflops=None), 400.0),
    **{f"no result of {cpu!r}": (on(cpu), 10.0) for cpu in ("Intel(R) Xeon(R) Processor", "Ryzen 9 7950X", "ARM", "")},
    "a simulated Kronos is compared with the real one": (simulated("Kronos", 28.096), 14.27),
    "a Kronos with another peak": (simulated("Kronos", 100.0), 10.0),
    "another virtual cluster": (simulated("Pi 5 pile", 614.4), 10.0),
}


@pytest.mark.parametrize("scene", SCENES)
def test_where_a_study_stands_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    study, gflops = SCENES[scene]
    found = published_standing(study, fastest(study, gflops))
    text = f"{found.where}; own {found.own} {found.unit}\n{found.sentence()}" if found else "nothing"
    hold_scene(request, "published", SCENES, scene, text)
