"""Pages that commands write beside what they print: complete, and without anything of a study as markup."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run
from record_builders import a_study, begun, finished

from hpl.params import HplParams
from results.record import SIMULATOR, Kind
from results.store.store import Store
from runners.virtual.load import load_cluster
from tuner.simulation.cluster import cluster_dict, equipment_of

MARKUP = "<script>alert(1)</script>"
KRONOS = load_cluster("kronos")
CLUSTER = KRONOS.model_copy(update={"description": MARKUP, "basis": "<b>guessed</b>"})
RATES = {"8x1": (9.0, 8.0), "4x1": (5.0, 4.5), "2x1": (2.8, 2.2), "1x1": (1.6, 1.5)}
"""Rates by layout, the better of which are all on the front of GFLOPS against $/GFLOPS."""


def filled(store: Store, name: str, **changes: object) -> None:
    store.create_study(a_study(name, space_text="", **changes))
    for layout, rates in RATES.items():
        for NB, gflops in zip((128, 192), rates, strict=True):
            params = {"N": 6000, "NB": NB, "layout": layout, "grid": "1x2", "blas": "atlas"}
            number = store.begin(begun(name, key=f"{layout}|{NB}", params=params))
            simulated = {} if name == "real" else {"versions": {SIMULATOR: "SimGrid 3.36"}, "passed": None}
            facts = {"hpl": HplParams(6000, NB, 1, 2), "observed": None, **simulated}
            record = finished(number, gflops, name, key=f"{layout}|{NB}", params=params, **facts)
            store.finish(replace(record, kind=Kind.SEARCH))
    store.end_study(name, "complete")


@pytest.fixture
def studies(home: Path) -> Path:
    """A measured study and a simulated one whose cluster is full of markup."""
    host = {"virtual_cluster": MARKUP, "nodes": 8, "physical_cores": 8, **equipment_of(KRONOS).facts()}
    with Store.open(home / "data/hpltune.db") as store:
        filled(store, "real")
        options = {"cluster": cluster_dict(CLUSTER), "objective": "gflops"}
        filled(store, MARKUP, host=host, options=options, versions={SIMULATOR: "SimGrid <3>"})
    return home


def page_of(folder: Path, name: str = "page.html") -> str:
    page = (folder / name).read_text()
    assert MARKUP not in page
    assert "<b>guessed" not in page
    return page


def test_the_front_of_a_simulated_study_is_a_page_that_says_what_was_simulated(hpltune: Run, studies: Path) -> None:
    done = hpltune("best", MARKUP, "--pareto", "usd-per-gflops", "--html", "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Wrote page.html. Open it in a browser.\n")
    page = page_of(studies)
    assert "Simulated, not measured: SimGrid &lt;3&gt;" in page
    assert "Its figures are &lt;b&gt;guessed&lt;/b&gt;." in page
    (spec,) = [part.partition("</code>")[0] for part in page.split('<code class="spec" hidden>')[1:]]
    series = [row["series"] for row in json.loads(spec)["data"]["values"]]
    assert sorted(series) == ["front"] * 4 + ["other configurations"] * 4


@pytest.mark.parametrize(
    ("asked", "figures"),
    [
        (("best", "real"), 1),
        (("compare", "real", MARKUP), 2),
        (("compare", "real", "--by", "NB"), 1),
        (("plot", "front", MARKUP, "-o", "front.svg"), None),
        (("report", MARKUP, "-o", "page.html"), 4),
    ],
)
def test_each_command_writes_a_page_with_its_figures_and_no_markup_of_others(
    hpltune: Run, studies: Path, asked: tuple[str, ...], figures: int | None
) -> None:
    more = () if "-o" in asked else ("--html", "page.html")
    done = hpltune(*asked, *more)
    assert (done.returncode, done.stderr) == (0, "")
    if figures is None:
        assert MARKUP not in (studies / "front.svg").read_text()
    else:
        assert page_of(studies).count('class="drawn"') == figures
        assert ("Simulated, not measured" in page_of(studies)) == (MARKUP in asked)


def test_a_page_is_written_over_an_old_one_in_a_new_folder_and_json_stays_json(hpltune: Run, studies: Path) -> None:
    (studies / "new").mkdir()
    (studies / "new/page.html").write_text("old")
    for file in ("new/page.html", "other/folder/page.html"):
        done = hpltune("best", "real", "--json", "--html", file)
        assert json.loads(done.stdout)["study"] == "real"
        assert done.stderr == f"Wrote {file}. Open it in a browser.\n"
        assert page_of(studies, file).startswith("<!DOCTYPE html>")


def test_best_without_a_name_says_which_study_has_an_answer_where_the_newest_has_none(hpltune: Run, home: Path) -> None:
    with Store.open(home / "two.db") as store:
        for day, name in enumerate(("first", "second"), start=1):
            study = a_study(name)
            store.create_study(replace(study, created_at=study.created_at.replace(day=day)))
        store.finish(finished(store.begin(begun("first")), study="first"))
    said = hpltune.refused("best", "--db", "two.db", code=1)
    assert said == (
        "hpltune: study second has no valid run: `hpltune show second` lists what ran, and `hpltune best first` ranks "
        "an earlier one\n"
    )


def test_plot_lists_the_figures_of_a_study_and_gives_their_data_to_scripts(hpltune: Run, studies: Path) -> None:
    listed = json.loads(hpltune("plot", MARKUP, "--json").stdout)
    assert {row["kind"]: row["can_be_drawn"] for row in listed}["front"]
    assert not {row["kind"]: row["can_be_drawn"] for row in json.loads(hpltune("plot", "real", "--json").stdout)}[
        "front"
    ]
    drawn = json.loads(hpltune("plot", "front", MARKUP, "-o", "front.svg", "--json").stdout)
    assert (drawn["kind"], drawn["study"], drawn["file"]) == ("front", MARKUP, "front.svg")
    front, others = drawn["figure"]["series"]
    assert front["y"] == [9.0, 5.0, 2.8, 1.6]
    assert (others["behind"], len(others["y"])) == (True, 4)
    assert (studies / "front.svg").exists()
