"""Reports as one HTML file: no network, readable at any width, in the dark, in print and without JavaScript."""

import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest
from page_visit import NARROW, READABLE, WIDE, Visit
from playwright.sync_api import Browser, Error, expect

from results.report.html import live_specification, script_file, to_html
from results.report.model import Column, Copied, Figure, Heading, Matrix, Report, Sentence, Series, Table

SETTLED_MS = 500
"""Until a figure has drawn its axes anew."""
RANKING = Table(
    "Best of study <script>alert(1)</script>",
    (Column("rank"), Column("GFLOPS"), *(Column(f"parameter {number}", words=True) for number in range(12))),
    (("1", "14.73", *("value",) * 12), ("2", "14.65", *("value",) * 12)),
    bold=frozenset({0}),
    caption="Two configurations.",
)
CONVERGENCE = Figure(
    "How the best rate grew",
    "machine time in minutes",
    "GFLOPS",
    (
        Series("best so far", (1.0, 2.0), (13.9, 14.73), line=True),
        Series("runs", (1.0, 2.0), (13.9, 14.73), ("#1", "#2")),
    ),
)
SHARES = Figure(
    "What matters",
    "parameter",
    "$ of $",
    (Series("alone", ("NB", "<b>"), (30.0, 12.0), low=(25.0, 10.0), high=(35.0, 15.0)),),
)
PAIR = Matrix("NB by grid", "grid", "NB", ("1x2", "2x1"), ("64", "128"), ((-60.0, -3.2), (0.0, None)), "% of the best")
REPORT = Report(
    "HPL on two cores & more",
    (
        Heading("The answer"),
        RANKING,
        Sentence("The best is 2 % faster."),
        CONVERGENCE,
        SHARES,
        PAIR,
        Copied("mpirun -np 2 ./xhpl " + "-x" * 200),
        Copied("WR01C2R4        6000   192     1     2               1.91              7.5500e+01", columns="Output"),
    ),
)
PAGE = to_html([REPORT], datetime(2026, 11, 25, tzinfo=UTC))
STATIC = to_html([REPORT, REPORT], interactive=False)


def test_the_page_names_nothing_that_it_would_have_to_fetch() -> None:
    attributes = re.findall(
        r"<(?:script|link|img|iframe)[^>]*\b(?:src|href)=", PAGE.replace(script_file("vega.min"), "")
    )
    assert attributes == []
    assert len(PAGE) < 1_500_000
    assert "@import" not in STATIC
    assert "url(" not in re.sub(r"url\(#", "", STATIC)


def test_what_others_wrote_is_text_and_never_markup() -> None:
    assert "<script>alert(1)" not in STATIC
    assert "Best of study &lt;script&gt;alert(1)&lt;/script&gt;" in STATIC
    assert "<title>HPL on two cores &amp; more, and 1 more</title>" in STATIC
    assert "<title>HPL on two cores &amp; more</title>" in PAGE


def test_a_page_of_several_reports_begins_with_links_to_them() -> None:
    assert STATIC.count('<a href="#report-') == 2
    assert 'id="report-2"' in STATIC


def test_a_static_page_has_every_figure_and_no_script() -> None:
    assert "<script" not in STATIC
    assert STATIC.count("<svg") == 6
    assert len(STATIC) < 300_000


def test_each_figure_has_a_link_of_its_own() -> None:
    for page, names in ((PAGE, ["how-the-best-rate-grew"]), (STATIC, ["what-matters", "what-matters-2"])):
        for name in names:
            assert page.count(f'<figure class="plot" id="{name}"') == 1
            assert page.count(f'href="#{name}"') == 1


def test_below_each_figure_stand_its_data() -> None:
    data = re.findall(r'<pre class="copied" tabindex="0"[^>]*>(.*?)</pre></details>', to_html([REPORT]), re.DOTALL)
    convergence, shares, pair = (unescape(text).splitlines() for text in data)
    assert convergence[:2] == ["series,machine time in minutes,GFLOPS,label", "best so far,1,13.9,"]
    assert convergence[3:] == ["runs,1,13.9,#1", "runs,2,14.73,#2"]
    assert shares == ["series,parameter,$ of $,lowest,highest", "alone,NB,30,25,35", "alone,<b>,12,10,15"]
    assert pair == ["NB,grid,% of the best", "64,1x2,-60", "64,2x1,-3.2", "128,1x2,0"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(PAGE, encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable_at_any_width_and_in_the_dark(
    browser: Browser, file: Path, width: int, scheme: str
) -> None:
    visit = Visit(browser, file, width, color_scheme=scheme)
    expect(visit.page.locator("figure.answers")).to_have_count(3)
    assert visit.complaints == []
    assert visit.requests == [file.as_uri()]
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    for selector in ("p.plain", "figcaption", "td", "th", "h2", ".made", ".copied", ".caption"):
        assert visit.contrast(selector) >= READABLE, selector
    for drawn in visit.page.query_selector_all(".live svg"):
        box = drawn.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
    visit.close()


def test_figures_are_there_without_javascript(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file, WIDE, java_script_enabled=False)
    assert visit.page.locator(".plot svg").first.is_visible()
    assert not visit.page.locator(".hint").is_visible()
    visit.close()


def test_a_figure_says_the_value_below_the_pointer_and_shows_one_series_alone(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file, WIDE)
    pair = visit.page.locator("figure.answers", has_text="NB by grid")
    pair.locator(".live .mark-rect path").first.hover(position={"x": 3, "y": 3})
    told = visit.page.locator("#vg-tooltip-element")
    assert re.split(r"\s+", told.inner_text())[:4] == ["NB", "64", "grid", "1x2"]
    grown = visit.page.locator("figure.answers", has_text="How the best rate grew")
    line = grown.locator(".live .mark-line path").first
    assert line.get_attribute("opacity") == "1"
    grown.locator(".live").get_by_text("runs", exact=True).click(force=True)
    expect(line).to_have_attribute("opacity", "0.06")
    assert visit.complaints == []
    visit.close()


def test_a_drag_moves_the_axes_of_a_figure_and_a_double_click_shows_all_again(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file, WIDE)
    figure = visit.page.locator("figure.answers", has_text="How the best rate grew")
    numbers, svg = figure.locator(".live .role-axis-label").first.locator("text"), figure.locator(".live svg")
    svg.wait_for()
    whole = sorted(numbers.all_text_contents())
    svg.drag_to(svg, source_position={"x": 300, "y": 160}, target_position={"x": 200, "y": 160})
    visit.page.wait_for_timeout(SETTLED_MS)
    assert sorted(numbers.all_text_contents()) != whole
    svg.dblclick(position={"x": 200, "y": 160})
    visit.page.wait_for_timeout(SETTLED_MS)
    assert sorted(numbers.all_text_contents()) == whole
    visit.close()


def test_a_figure_is_saved_as_a_picture_with_its_title_and_its_own_colours(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file, WIDE)
    figure = visit.page.locator("figure.answers", has_text="What matters")
    figure.get_by_text("Save", exact=True).click()
    for name in ("what-matters.png", "what-matters.svg"):
        with visit.page.expect_download() as saved:
            figure.get_by_text(f"Save as {name[-3:].upper()}").click()
        assert saved.value.suggested_filename == name
    drawn = saved.value.path().read_text("utf-8")
    assert ">What matters<" in drawn
    assert not re.search(r"currentColor|var\(", drawn)
    visit.close()


def test_a_figure_that_gets_new_rows_is_not_drawn_anew(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file, WIDE)
    few, all_of_them = (
        live_specification(Figure("Runs", "minutes", "GFLOPS", (Series("runs", x, x),)))
        for x in ((1.0, 2.0), (1.0, 2.0, 3.0))
    )
    put = """text => {
      document.querySelector("main").innerHTML = `<figure class="plot" id="runs"><div class="drawn"></div></figure>`;
      const spec = Object.assign(document.createElement("code"), { className: "spec", textContent: text });
      document.getElementById("runs").append(spec);
      document.dispatchEvent(new Event("htmx:afterSettle"));
    }"""
    visit.page.evaluate(put, few)
    figure = visit.page.locator("#runs.answers")
    expect(figure.locator(".mark-symbol.role-mark path")).to_have_count(2)
    figure.locator(".live svg").evaluate("element => { element.id = 'kept'; }")
    visit.page.evaluate(put, all_of_them)
    expect(figure.locator("#kept .mark-symbol.role-mark path")).to_have_count(3)
    visit.close()


def test_a_printed_page_shows_the_figures_and_no_hint_for_a_mouse(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file, WIDE)
    assert visit.page.locator(".hint").is_visible()
    visit.page.emulate_media(media="print")
    assert visit.page.locator(".plot svg").first.is_visible()
    assert not visit.page.locator(".hint").is_visible()
    visit.close()


def test_a_wide_table_is_reached_with_the_keyboard(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file, NARROW)
    visit.page.keyboard.press("Tab")
    focused = visit.page.evaluate("document.activeElement.className")
    assert focused == "scroll"
    visit.close()


def test_lines_with_columns_are_scrolled_on_a_narrow_page_and_never_broken(browser: Browser, file: Path) -> None:
    visit = Visit(browser, file, NARROW)
    lines = visit.page.get_by_role("group", name="Output")
    lines.focus()
    shown = lines.evaluate("element => [element.scrollWidth > element.clientWidth, element.clientHeight]")
    assert shown[0]
    assert shown[1] < 50, "one line"
    visit.close()


def test_a_page_of_the_network_is_never_asked_for(browser: Browser, file: Path) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    try:
        page.goto(file.as_uri())
    except Error as error:
        pytest.fail(str(error))
    assert page.title() == REPORT.title
    context.close()
