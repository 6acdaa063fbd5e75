"""What pages say of virtual clusters, so that nobody takes a simulated rate for a measured one."""

from dataclasses import replace

import pytest
from record_builders import a_study, finished

from results.record import SIMULATOR, Study
from results.report.model import Card, Report, Sentence, Table, Tone
from results.stats.ranking import rank
from runners.virtual.load import load_cluster, shipped
from tuner.reports.figures.registry import FigureSource
from tuner.reports.study_page import StudyPage
from tuner.reports.summary import StudySummary
from tuner.reports.virtual_cluster import cluster_table, simulated_sentences
from tuner.simulation.cluster import cluster_dict

KRONOS = load_cluster("kronos")


def simulated(name: str = "study", **changes: object) -> Study:
    host = {"virtual_cluster": "Kronos", "nodes": 8, "physical_cores": 8}
    options = {"cluster": cluster_dict(KRONOS)}
    return a_study(name, space_text="", host=host, options=options, versions={SIMULATOR: "SimGrid 3.36"}, **changes)


def page(study: Study) -> Report:
    record = finished(1, 14.5)
    found = FigureSource(study, [record], record, StudySummary.of(study, rank([record])), lambda: None)
    return StudyPage(study, found).report()


def cluster_rows(report: Report) -> list[tuple[str, ...]]:
    return [row for part in report.parts if isinstance(part, Table) for row in part.rows if row[0] == "virtual cluster"]


def cautions(report: Report) -> list[str]:
    return [part.text for part in report.parts if isinstance(part, Sentence) and part.tone is Tone.CAUTION]


def test_the_page_of_a_simulated_study_begins_with_what_was_simulated_and_what_its_figures_are_from() -> None:
    report = page(simulated())
    (said,) = cautions(report)
    card, first = report.parts[:2]
    assert isinstance(card, Card)
    assert card.tiles[0][3].endswith(", simulated")
    assert first == Sentence(said, tone=Tone.CAUTION)
    for word in ("Simulated, not measured", "SimGrid 3.36", "Kronos", "8 nodes", "134.4 GFLOPS", "fitted to tests 3"):
        assert word in said
    assert cluster_rows(report)


def test_the_page_of_a_measured_study_has_no_caution() -> None:
    report = page(a_study(space_text=""))
    assert cautions(report) == []
    assert not cluster_rows(report)


@pytest.mark.parametrize("stored", [None, {"name": "Kronos"}, "kronos"])
def test_a_simulated_study_whose_cluster_cannot_be_read_is_still_told_as_simulated(stored: object) -> None:
    study = replace(simulated(), options={"cluster": stored})
    (said,) = cautions(page(study))
    assert said.startswith("Simulated, not measured: SimGrid 3.36 computed every rate on this page for Kronos.")


def test_of_several_studies_those_that_were_simulated_are_named() -> None:
    (said,) = simulated_sentences([a_study("real"), simulated("model")])
    assert said.text == "Simulated, not measured: the rates of model, on Kronos."
    assert simulated_sentences([a_study("real")]) == []


@pytest.mark.parametrize("name", shipped())
def test_the_table_of_a_shipped_cluster_has_all_nodes_libraries_and_networks_and_where_its_figures_are_from(
    name: str,
) -> None:
    cluster = load_cluster(name)
    table = cluster_table(cluster, None)
    assert isinstance(table, Table)
    told = [row[0] for row in table.rows]
    for fact in ("nodes", "Rpeak in GFLOPS", *(f"network {one}" for one in cluster.networks), "its figures are"):
        assert fact in told
