"""`hpltune report`: the page of a study says what was found, how, on what machine, and how to repeat it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from golden import hold_scene, told
from record_builders import START, a_study, add_facts, begun, finished

from hpl.params import HplParams
from results.record import SIMULATOR, Kind, TrialRecord
from results.report.model import Part, Report, Sentence
from results.stats.ranking import rank
from results.store.networks import NetworkProbe
from results.store.store import Store
from tuner.commands.stored.report import report_studies
from tuner.reports.figures.registry import KINDS, FigureSource
from tuner.reports.figures.runs import growth_of_study, runs_figure
from tuner.reports.story import rate_by_size, story_table
from tuner.reports.study_page import StudyPage, programs_table
from tuner.reports.summary import StudySummary


def trial(number: int, gflops: float | None, **changed: Any) -> TrialRecord:
    return finished(number, gflops, cost_s=60.0, **changed)


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


SMALLER = trial(2, 4.0, kind=Kind.EXTRAPOLATION, hpl=HplParams(3000, 192, 1, 2))
GROWN = [trial(1, 5.0), trial(2, 4.0), trial(3, 6.0), trial(4, 9.0, kind=Kind.SMALL), trial(5, 6.0)]
TAKEN = {"solve_s": 12.0, "cores": 2.0, "foreign_cpu_s": 7.2, "foreign_for_s": 9.0}
VIRTUAL = [
    trial(place, 40.0 + place, passed=None, versions={SIMULATOR: "SimGrid"}, hpl=HplParams(N, 128, 1, 2))
    for place, N in ((1, 1000), (2, 2000))
]
MPIS = a_study(versions={"mpi": "openmpi 4.1.4 (/usr/bin)"})
SCENES: dict[str, Sequence[Part | None]] = {
    "the story has only runs that were faster than all before": [story_table(a_study(), GROWN)],
    "all full runs over time": [runs_figure(a_study(), GROWN)],
    "convergence counts the time of every trial": [growth_of_study(a_study(), GROWN[:3])],
    "without a valid run or a second size nothing is drawn": [
        runs_figure(a_study(), [trial(1, None)]),
        rate_by_size([trial(1, 5.0)], trial(1, 5.0).params),
    ],
    "rates of one configuration at each size": [
        rate_by_size([trial(1, 5.0), SMALLER, trial(3, 5.2)], trial(1, 5.0).params)
    ],
    "disturbed runs are hollow": [
        rate_by_size([trial(1, 5.0, measurements=TAKEN), replace(SMALLER, kind=Kind.SEARCH)], trial(1, 5.0).params)
    ],
    "a simulated configuration at each size": [rate_by_size(VIRTUAL, VIRTUAL[0].params)],
    "a simulated run has no library and no system": [
        programs_table(a_study(versions={SIMULATOR: "SimGrid 3.36", "hpl": "2.3"}, host={"kernel": "6.1"}), VIRTUAL[0])
    ],
    "a run has the MPI that it took of several": [
        programs_table(MPIS, trial(1, 5.0, params={"mpi": mpi})) for mpi in ("openmpi", "mpich")
    ],
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_part_of_a_page_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    drawn = [told(Report("", (part,))) if part else "nothing" for part in SCENES[scene]]
    hold_scene(request, "parts", SCENES, scene, "\n".join(drawn))


def page(store: Store, home: Path) -> str:
    (report,) = report_studies(store, (), home / "page.html", interactive=False)
    return told(replace(report, facts={}))


def test_pages_are_what_they_were(store: Store, home: Path, request: pytest.FixtureRequest) -> None:
    """With messages that were timed, facts of the system, and without a valid run."""
    scenes = ["messages and system", "no valid run", "real", "simulated"]
    filled(store, [60.0, 70.0, 65.0])
    add_facts(store, "study", {"os_release": "Debian GNU/Linux 12 (bookworm)", "kernel": "6.1.0"})
    points = ((0, 9.0), (8, 10.0), (1000, 18.0), (1_000_000, 8010.0))
    store.network.add_probe(
        NetworkProbe("study", START, "ping-pong", ("node1", "node2"), "eth0", {"mtu": 1500}, 10.0, 1000.0, points)
    )
    hold_scene(request, "pages", scenes, scenes[0], page(store, home))
    store.delete_study("study")
    filled(store, [])
    hold_scene(request, "pages", scenes, scenes[1], page(store, home))
    for name, versions in (("real", {}), ("simulated", {SIMULATOR: "SimGrid"})):
        store.create_study(a_study(name, space_text="", versions=versions))
        for gflops in (60.0, 60.1, 60.0):
            number = store.begin(begun(study=name, key="a"))
            store.finish(replace(finished(number, gflops, study=name, key="a"), kind=Kind.SEARCH))
        store.end_study(name, "complete")
        hold_scene(request, "pages", scenes, name, page(store, home))
