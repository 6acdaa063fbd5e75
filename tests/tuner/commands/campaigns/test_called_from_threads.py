"""Use cases as a service calls them: from any thread, stopped from another, several at once in one process."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event as Flag
from threading import current_thread, main_thread

import pytest
from replayed import replaying
from waiting import PATIENCE_S

from hpl.build.simgrid import SimGrid
from results.store.store import Store
from runners.virtual.load import load_cluster
from tuner.budget import Budget
from tuner.commands.campaigns.tune import TuneRequest, TuneResult, tune
from tuner.events import Event, Notice, TrialEnded, TrialStarted
from tuner.options import TuneOptions
from tuner.simulation.cluster import cluster_dict
from tuner.stopping import StopRequest


def on_this_machine(home: Path, study: str, trials: int) -> TuneRequest:
    options = TuneOptions(
        space="quick",
        budget=Budget(trials=trials),
        overrides={"N": ["600"], "NB": ["32", "48", "64", "96", "128"]},
        confirm=0,
        xhpl=replaying(home),
    )
    return TuneRequest(options, study)


def simulated(study: str, db: Path, seed: int) -> TuneRequest:
    options = TuneOptions(
        space="quick",
        seed=seed,
        budget=Budget(trials=3),
        overrides={"N": ["1000"]},
        cluster=cluster_dict(load_cluster("kronos")),
        jobs=1,
    )
    return TuneRequest(options, study, db=str(db))


@pytest.mark.usefixtures("mpirun")
def test_a_study_runs_in_a_thread_is_stopped_from_another_and_returns_what_it_found(home: Path) -> None:
    stop, first_done = StopRequest(), Flag()
    threads = set()

    def watch(event: Event) -> None:
        threads.add(current_thread())
        if isinstance(event, TrialEnded) and event.record.kind != "pilot":
            first_done.set()

    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(tune, on_this_machine(home, "threaded", 1000), watch, stop)
        assert first_done.wait(PATIENCE_S)
        stop.ask()
        result: TuneResult = running.result(PATIENCE_S)
    assert main_thread() not in threads
    assert result.interrupted
    assert result.summary is not None
    assert result.summary.ranking[0].expected_gflops > 0
    assert result.notices[0].text.startswith("Stopped before its budget was used: `hpltune tune ⟦resume⟧")
    report = result.report()
    assert isinstance(report.facts, Mapping)
    assert report.facts["study"] == "threaded"
    assert result.written is not None
    assert Path(result.written.hpl_dat).is_file()


@pytest.mark.usefixtures("mpirun")
def test_a_second_request_from_another_thread_ends_the_run_that_goes_on(home: Path) -> None:
    stop, begun = StopRequest(), Flag()

    def watch(event: Event) -> None:
        if isinstance(event, TrialStarted):
            begun.set()

    options = TuneOptions(space="quick", overrides={"N": ["20000"]}, budget=Budget(trials=1), xhpl=replaying(home))
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(tune, TuneRequest(options, "ended"), watch, stop)
        assert begun.wait(PATIENCE_S)
        stop.ask(at_once=True)
        result = running.result(PATIENCE_S)
    assert result.interrupted
    assert result.summary is None
    assert result.notices[0].text == ("Stopped before its first result: `hpltune tune ⟦resume⟧ ⟦study⟧ ended` goes on.")


def test_two_studies_run_at_once_in_one_process_on_two_databases(home: Path, simgrid: SimGrid) -> None:
    del simgrid
    said: dict[str, list[str]] = {"one": [], "two": []}

    def listener(study: str) -> "list[str]":
        return said[study]

    def run(study: str) -> TuneResult:
        def watch(event: Event) -> None:
            if isinstance(event, Notice):
                listener(study).append(event.text)

        return tune(simulated(study, home / f"{study}.db", seed=len(study)), watch, StopRequest())

    with ThreadPoolExecutor(2) as executor:
        results = list(executor.map(run, said))
    for study, result in zip(said, results, strict=True):
        assert not result.interrupted
        assert result.study == study
        assert said[study][0].startswith(f"Study {study}: ")
        with Store.open(str(home / f"{study}.db"), create=False) as store:
            assert [one.name for one in store.studies()] == [study]
            assert len(store.records(study)) >= 3
    assert results[0].report().facts != results[1].report().facts
