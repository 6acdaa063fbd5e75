"""`hpltune report`: the page of a study says what was found, how, on what machine, and how to repeat it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from as_user import Run
from record_builders import START, a_study, begun, finished

from hpl.params import HplParams, Scalar
from results.record import SIMULATOR, Kind, TrialRecord
from results.report.model import Copied, Figure, Heading, Part, Sentence, Table
from results.stats.ranking import rank
from results.store.networks import NetworkProbe
from results.store.store import Store
from tuner.commands.stored.report import ReportRequest, report_studies
from tuner.reports.figures.registry import KINDS, FigureSource
from tuner.reports.story import convergence, improvements, rate_by_size, story_table
from tuner.reports.study_page import StudyPage, programs_table
from tuner.reports.summary import StudySummary


def trial(number: int, gflops: float | None, **changed: Any) -> TrialRecord:
    return finished(number, gflops, cost_s=60.0, **changed)


def headings(parts: Sequence[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Heading)]


def two_columns(table: Table) -> dict[str, str]:
    return {row[0]: row[1] for row in table.rows}


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "data/hpltune.db") as opened:
        yield opened


def filled(store: Store, rates: Sequence[float]) -> None:
    """A study with a trial for each rate, each with a NB of its own."""
    store.create_study(a_study(space_text=""))
    for place, gflops in enumerate(rates):
        NB = 64 * (place + 1)
        params = {"N": 6000, "NB": NB, "grid": "1x2", "blas": "openblas", "layout": "2x1"}
        number = store.begin(begun(key=f"{NB}|1x2", params=params))
        done = finished(number, gflops, key=f"{NB}|1x2", params=params, hpl=HplParams(6000, NB, 1, 2))
        store.finish(replace(done, kind=Kind.SEARCH))
    store.end_study("study", "complete")


def test_the_story_has_only_runs_that_were_faster_than_all_before() -> None:
    records = [trial(1, 5.0), trial(2, 4.0), trial(3, 6.0), trial(4, 9.0, kind=Kind.SMALL), trial(5, 6.0)]
    assert [record.number for record in improvements(records)] == [1, 3]
    table = story_table(a_study(), records)
    assert [row[0] for row in table.rows] == ["1", "3"]
    assert table.bold == {1}
    assert [column.name for column in table.columns] == ["trial", "N", "NB", "P x Q", "library", "% of peak", "GFLOPS"]


def test_convergence_counts_the_time_of_every_trial() -> None:
    drawn = convergence([trial(1, 5.0), trial(2, 4.0), trial(3, 6.0)])
    assert drawn is not None
    best, runs = drawn.series
    assert (best.x, best.y) == ((1.0, 2.0, 3.0), (5.0, 5.0, 6.0))
    assert runs.y == (5.0, 4.0, 6.0)


def test_without_a_valid_run_or_a_second_size_nothing_is_drawn() -> None:
    assert convergence([trial(1, None)]) is None
    assert rate_by_size([trial(1, 5.0)], trial(1, 5.0).params) is None


def test_the_rates_of_one_configuration_are_drawn_at_each_size() -> None:
    smaller = trial(2, 4.0, kind=Kind.EXTRAPOLATION, hpl=HplParams(3000, 192, 1, 2))
    drawn = rate_by_size([trial(1, 5.0), smaller, trial(3, 5.2)], trial(1, 5.0).params)
    assert drawn is not None
    assert drawn.series[0].x == (3000.0, 6000.0, 6000.0)
    assert drawn.series[0].y == (4.0, 5.0, 5.2)


def test_disturbed_runs_are_drawn_apart() -> None:
    taken = {"solve_s": 12.0, "cores": 2.0, "foreign_cpu_s": 7.2, "foreign_for_s": 9.0}
    smaller = trial(2, 4.0, hpl=HplParams(3000, 192, 1, 2))
    drawn = rate_by_size([trial(1, 5.0, measurements=taken), smaller], trial(1, 5.0).params)
    assert drawn is not None
    assert [(one.name, one.y) for one in drawn.series] == [("runs", (4.0,)), ("disturbed runs", (5.0,))]


def test_a_page_begins_with_the_answer_and_ends_with_how_to_repeat_it(store: Store, home: Path) -> None:
    filled(store, [60.0, 70.0, 65.0])
    result = report_studies(store, ReportRequest((), home / "page.html", interactive=False))
    (report,) = result.reports
    assert headings(report.parts) == ["The answer", "The way there", "The machine", "Run it again"]
    ranking = next(part for part in report.parts if isinstance(part, Table))
    assert ranking.rows[0][1].startswith("70.")
    assert any(isinstance(part, Figure) for part in report.parts)
    copied = [part.text for part in report.parts if isinstance(part, Copied)]
    assert copied[0] == "mpirun -np 2 xhpl"
    assert copied[1].startswith("HPLinpack benchmark input file")
    assert "The answer" in (home / "page.html").read_text()


def test_a_study_without_a_valid_run_has_a_page_that_says_so(store: Store, home: Path) -> None:
    filled(store, [])
    result = report_studies(store, ReportRequest(("study",), home / "page.html"))
    assert isinstance(result.reports[0].parts[0], Sentence)
    assert "No run of this study was valid" in (home / "page.html").read_text()


def test_the_command_writes_a_page_of_several_studies(hpltune: Run, store: Store, home: Path) -> None:
    filled(store, [60.0, 70.0])
    done = hpltune("report", "study", "study", "--out", "two.html", "--static")
    assert (done.returncode, done.stdout) == (0, "Wrote two.html. Open it in a browser.\n"), done.stderr
    assert (home / "two.html").read_text().count("<article") == 2


def test_a_study_that_is_not_there_and_a_file_that_cannot_be_written_are_one_sentence(
    hpltune: Run, store: Store, home: Path
) -> None:
    filled(store, [60.0])
    missing = hpltune("report", "other")
    assert missing.returncode == 1
    assert missing.stderr.startswith("hpltune: there is no study other")
    (home / "page.html").mkdir()
    refused = hpltune("report", "study", "--out", "page.html")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "page.html" in refused.stderr


def test_the_answer_begins_with_the_figures_that_lists_of_machines_have(store: Store, home: Path) -> None:
    filled(store, [50.0, 60.0])
    (report,) = report_studies(store, ReportRequest((), home / "page.html")).reports
    headline = next(part for part in report.parts if isinstance(part, Table))
    assert {row[0]: row[1] for row in headline.rows} == {
        "rate at N=6,000 in GFLOPS": "60.00 (trial 2, of no. 1). "
        "That is no Rmax: its matrix takes 1.7 % of the memory.",
        "N": "6000",
        "N½": "not known: no undisturbed run of its configuration was slower than half of it",
        "% of peak at that rate": "44.6",
        "$/GFLOPS at that rate": "41.50",
        "MFLOPS/W at that rate": "66.7",
    }


def test_a_simulated_configuration_has_a_figure_of_its_rate_at_each_size_too() -> None:
    params: dict[str, Scalar] = {"N": 6000, "NB": 128}
    records = [
        trial(
            place,
            40.0 + place,
            params=params,
            passed=None,
            versions={SIMULATOR: "SimGrid"},
            hpl=HplParams(N, 128, 1, 2),
        )
        for place, N in ((1, 1000), (2, 2000))
    ]
    drawn = rate_by_size(records, params)
    assert drawn is not None
    assert drawn.series[0].y == (41.0, 42.0)


def test_a_simulated_study_tells_no_interval(store: Store, home: Path) -> None:
    def told() -> str:
        (report,) = report_studies(store, ReportRequest((), home / "page.html")).reports
        return str(report.parts)

    for name, versions in (("real", {}), ("simulated", {SIMULATOR: "SimGrid"})):
        store.create_study(a_study(name, space_text="", versions=versions))
        for gflops in (60.0, 60.1, 60.0):
            number = store.begin(begun(study=name, key="a"))
            store.finish(replace(finished(number, gflops, study=name, key="a"), kind=Kind.SEARCH))
        store.end_study(name, "complete")
        assert ("95 % probability" in told()) == (name == "real")


def test_what_a_run_is_repeated_with_stands_beside_its_command(store: Store, home: Path) -> None:
    filled(store, [60.0])
    store.note_host("study", {"os_release": "Debian GNU/Linux 12 (bookworm)", "kernel": "6.1.0"})
    (report,) = report_studies(store, ReportRequest((), home / "page.html")).reports
    ran = report.parts[-1]
    assert isinstance(ran, Table)
    facts = two_columns(ran)
    assert (facts["HPL"], facts["library that ran"]) == ("2.3", "/lib/libopenblas.so.0")
    assert (facts["system"], facts["kernel of the system"]) == ("Debian GNU/Linux 12 (bookworm)", "6.1.0")
    assert facts["files of the run"] == "/runs/study/00001"
    assert "MPI" not in facts


def test_a_simulated_run_is_not_said_to_have_a_library_or_a_system() -> None:
    study = a_study(versions={SIMULATOR: "SimGrid 3.36", "hpl": "2.3"}, host={"kernel": "6.1.0"})
    facts = two_columns(programs_table(study, trial(1, 5.0)))
    assert set(facts) == {"HPL", "simulator", "files of the run"}


def test_the_mpi_of_the_run_is_told_where_a_study_has_several() -> None:
    study = a_study(versions={"mpi": "openmpi 4.1.4 (/usr/bin)"})
    told = [
        two_columns(programs_table(study, trial(1, 5.0, params={"mpi": mpi})))["MPI"] for mpi in ("openmpi", "mpich")
    ]
    assert told == ["openmpi 4.1.4 (/usr/bin)", "mpich"]


def test_the_messages_of_a_study_are_drawn_with_the_line_that_the_search_takes_for_them(
    store: Store, home: Path
) -> None:
    filled(store, [60.0])
    points = ((0, 9.0), (8, 10.0), (1000, 18.0), (1_000_000, 8010.0))
    store.network.add_probe(
        NetworkProbe("study", START, "ping-pong", ("node1", "node2"), "eth0", {"mtu": 1500}, 10.0, 1000.0, points)
    )
    (report,) = report_studies(store, ReportRequest((), home / "page.html")).reports
    (drawn,) = (part for part in report.parts if isinstance(part, Figure) and "message" in part.title)
    measured, line = drawn.series
    assert drawn.title == "Time of a message from node1 to node2"
    assert (measured.name, measured.x, measured.y) == ("mtu=1500", (8.0, 1000.0, 1e6), (10.0, 18.0, 8010.0))
    assert line.y == pytest.approx((10.064, 18.0, 8010.0))


@pytest.mark.heavy
def test_a_page_of_a_large_study_names_the_command_that_tells_what_matters() -> None:
    record, asked = trial(1, 5.0), list[str]()

    def taught() -> None:
        asked.append("what matters")

    summary = StudySummary.of(a_study(), rank([record]))
    few, many = (FigureSource(a_study(), [record] * count, record, summary, taught) for count in (10, 20_000))
    StudyPage(a_study(), few).report()
    assert asked == ["what matters"]
    large = StudyPage(a_study(), many).report().parts
    assert asked == ["what matters"]
    assert any(isinstance(part, Sentence) and "hpltune explain study" in part.text for part in large)
    (effects,) = [kind for kind in KINDS if kind.name == "effects"]
    assert effects.draw(many) == []
    assert len(asked) == 2
