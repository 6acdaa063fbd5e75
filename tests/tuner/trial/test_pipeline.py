"""The one way of a trial, with a program of ours in place of HPL, and a book that only memory keeps."""

from dataclasses import replace
from pathlib import Path

import pytest
from as_user import program

from hpl.params import Scalar
from results.record import Invalidity, Kind, TrialRecord, TrialState
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from tuner.machine.textbook import textbook
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.trial.pipeline import NO_STUDY, MemoryBook, begin, run_alone
from tuner.trial.plan import plan
from tuner.trial.records import started
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

pytestmark = pytest.mark.usefixtures("mpirun")


@pytest.fixture
def workbench(home: Path) -> Workbench:
    """Of a program that fails."""
    options = TuneOptions(xhpl=program(home / "xhpl", "#!/bin/sh\nexit 3\n"))
    return Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False)


def new(**changes: Scalar) -> TrialRecord:
    point = {**textbook(N=600, NB=32, blas="xhpl", kernel="auto", ranks=2, threads=1), **changes}
    return started(NO_STUDY, point, Kind.RUN, "")


@pytest.mark.heavy
def test_a_run_that_fails_is_a_record_with_its_reason_and_its_folder(workbench: Workbench, home: Path) -> None:
    book = MemoryBook(home / "runs")
    record = run_alone(workbench.evaluator, book, new(), 60.0, StopRequest())
    assert (record.number, record.state) == (1, TrialState.FAILED)
    assert "ended with code 3" in record.reason
    assert record.directory == str(book.folder(1))
    assert book.records == {1: record}


def test_what_cannot_be_planned_is_a_record_too_and_nothing_starts(workbench: Workbench, home: Path) -> None:
    book = MemoryBook(home / "runs")
    record = run_alone(workbench.evaluator, book, new(layout="4x1", grid="1x2"), 60.0, StopRequest())
    assert (record.state, record.invalidity) == (TrialState.FAILED, Invalidity.CONSTRAINTS)
    assert "needs 2 ranks, the layout starts 4" in record.reason
    assert not (home / "runs").exists()


def test_a_launcher_that_does_not_start_is_a_reason(workbench: Workbench, home: Path) -> None:
    runner = LocalRunner(OpenMpi.installed(home / "no-mpirun", "4.1.4"))
    evaluator = replace(workbench.evaluator, runner=runner)
    record = run_alone(evaluator, MemoryBook(home / "runs"), new(), 60.0, StopRequest())
    assert (record.state, record.invalidity) == (TrialState.FAILED, Invalidity.RUNTIME)


class Taken(MemoryBook):
    """A book where somebody else runs everything."""

    def begin(self, record: TrialRecord) -> None:  # type: ignore[override]
        del record


def test_what_somebody_else_runs_is_left_to_them(workbench: Workbench, home: Path) -> None:
    book = Taken(home / "runs")
    record = begin(book, new(), plan(new().params, workbench.site))
    assert isinstance(record, TrialRecord)
    assert (record.number, record.state) == (0, TrialState.CANCELLED)
    assert not book.records
