"""Pages of reproductions, designs, fronts and simulated studies in a real browser."""

from datetime import date
from pathlib import Path

import pytest
from design_files import designs
from page_visit import NARROW, READABLE, WIDE, Visit
from playwright.sync_api import Browser, expect
from record_builders import a_study, finished

from results.metrics import merit
from results.record import SIMULATOR
from results.report.html import to_html
from results.report.model import Report
from results.stats.ranking import Ranked, rank
from runners.virtual.load import load_cluster
from tuner.commands.predict import PredictResult
from tuner.commands.reproduce import ReproduceResult
from tuner.commands.stored.best import BestResult
from tuner.reports.figures.registry import FigureSource
from tuner.reports.hand_in import HandInPage
from tuner.reports.study_page import StudyPage
from tuner.reports.summary import StudySummary
from tuner.simulation.cluster import cluster_dict, equipment_of
from tuner.simulation.design import Prediction
from tuner.simulation.lesson import lesson
from tuner.simulation.lesson_book import KeptAnswer, KeptRun
from tuner.simulation.reproduction import BestFound, ComparedTest, SettingLoss, published
from tuner.simulation.simulator import Simulated

KRONOS = load_cluster("kronos")
LAYOUTS = {"8x1": 9.0, "4x1": 5.0, "2x1": 2.8, "1x1": 1.5}


def reproduction() -> Report:
    article = published("kronos")
    tests = tuple(ComparedTest(test, Simulated(1.02 * test.gflops, 1.0)) for test in article.tests)
    found = BestFound(Ranked("", {}, (15.3,), 1), (SettingLoss("NB", 208, 180, None, 0.01, 64, 0.11),), None)
    return ReproduceResult(KRONOS, article, tests, found, command="hpltune reproduce kronos").page()


def handed_in(study: StudyPage) -> Report:
    article, taught = published("kronos"), lesson("kronos")
    runs = tuple(KeptRun(str(NB), 11.0 + NB / 1000, 3 if NB == 240 else None) for NB in (64, 128, 240))
    return HandInPage(
        cluster=KRONOS,
        published=article,
        tests=[ComparedTest(test, Simulated(1.02 * test.gflops, 1.0)) for test in article.tests],
        simulator="SimGrid 3.36",
        author="",
        day=date(2026, 11, 28),
        command="hpltune report --as kronos",
        best_dat="HPLinpack benchmark input file",
        answers=[
            (taught.step("blocks"), KeptAnswer("64", "kronos-blocks-1", runs)),
            (taught.step("blocks-ahead"), KeptAnswer(None, "kronos-blocks-ahead-1", runs)),
        ],
        studies=[study],
    ).report()


def prediction(folder: Path) -> Report:
    best = Ranked("", {"N": 12416, "NB": 128, "grid": "2x4", "layout": "8x1", "blas": "atlas"}, (14.2,), 1)
    asked = designs(folder, '[[design]]\nname = "as it is"\n[[design]]\nname = "<script>alert(1)</script>"')
    figures = merit(14.2, rpeak_gflops=28.1, price_usd=2490, power_w=900)
    return PredictResult(tuple(Prediction(one, "study", best, figures) for one in asked), interrupted=False).page()


def studies() -> list[Report]:
    host = {"virtual_cluster": "Kronos", "nodes": 8, "physical_cores": 8, **equipment_of(KRONOS).facts()}
    options, versions = {"cluster": cluster_dict(KRONOS)}, {SIMULATOR: "SimGrid 3.36"}
    study = a_study(space_text="", host=host, options=options, versions=versions)
    records = [
        finished(
            2 * place + slower, gflops - 0.2 * slower, key=f"{layout}{slower}", params={"layout": layout, "NB": 64}
        )
        for place, (layout, gflops) in enumerate(LAYOUTS.items())
        for slower in (0, 1)
    ]
    ranking = rank(records)
    front = BestResult(StudySummary.of(study, ranking, "usd-per-gflops"), "").page()
    found = FigureSource(study, records, records[0], StudySummary.of(study, ranking), lambda: None)
    page = StudyPage(study, found)
    return [front, page.report(), handed_in(page)]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file with a page of each kind, so that a browser opens it once for each width."""
    folder = tmp_path_factory.mktemp("pages")
    path = folder / "pages.html"
    path.write_text(to_html([reproduction(), prediction(folder), *studies()]), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(NARROW, "dark"), (WIDE, "light")])
def test_each_kind_of_page_is_readable_at_any_width_and_in_the_dark(
    browser: Browser, file: Path, width: int, scheme: str
) -> None:
    visit = Visit(browser, file, width, color_scheme=scheme)
    assert visit.page.locator("p.caution").count() == 5
    figures = visit.page.locator("figure.plot").count()
    assert figures >= 9
    visit.page.evaluate("document.querySelectorAll('details:has(figure)').forEach(one => one.open = true)")
    expect(visit.page.locator("figure.answers")).to_have_count(figures)
    assert visit.complaints == []
    assert visit.requests == [file.as_uri()]
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    for selector in (
        "p.caution",
        ".best td",
        "p.plain",
        "figcaption",
        "td",
        "th",
        "h2",
        ".copied",
        ".blank p",
        "summary",
    ):
        assert visit.contrast(selector) >= READABLE, selector
    visit.close()
