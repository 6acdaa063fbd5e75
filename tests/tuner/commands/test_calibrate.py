"""`calibrate` as a program calls it."""

from pathlib import Path

import pytest
from record_builders import DISTURBED

from runners.virtual.load import load_cluster
from tuner.commands.calibrate import CalibrateRequest, calibrate
from tuner.events import Event, Notice, TrialEnded
from tuner.options import TuneOptions
from tuner.simulation.cluster import SimulatedCluster
from tuner.stopping import StopRequest
from tuner.user_dirs import UserDirs


@pytest.mark.real
@pytest.mark.usefixtures("simgrid", "real_hpl")
def test_a_machine_is_calibrated_without_a_terminal_also_where_its_file_cannot_be_written(home: Path) -> None:
    events: list[Event] = []
    (home / "models").mkdir()
    request = CalibrateRequest(home / "models", TuneOptions(blas_only=("openblas",)), 1, 1)
    told = calibrate(request, events.append, StopRequest())
    assert told.cluster is not None
    assert len(told.checks) == 1
    assert told.unwritten is not None
    assert "Is a directory" in str(told.unwritten)
    assert not told.interrupted
    assert Notice("Simulating the 1 checked configuration") in events
    assert {event.spent for event in events if isinstance(event, TrialEnded)} == {1.0}, "one, or two where disturbed"


@pytest.mark.real
@pytest.mark.usefixtures("simgrid", "real_hpl")
def test_a_model_of_disturbed_runs_says_so_wherever_it_goes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.simulation.calibration.what_ranks_told", lambda *_: DISTURBED)
    events: list[Event] = []
    request = CalibrateRequest(home / "mine.toml", TuneOptions(blas_only=("openblas",)), 0, 1)
    told = calibrate(request, events.append, StopRequest())
    assert told.cluster is not None
    assert told.cluster.basis.endswith("in disturbed runs")
    assert "2 of 2 runs were disturbed: other programs took CPU time in 2 (mostly python3)." in told.cluster.caution
    assert Notice(told.cluster.caution, caution=True) in events
    once_more = "Once more, because it was disturbed: timing openblas's routines"
    assert sum(isinstance(event, Notice) and event.text.startswith(once_more) for event in events) == 1
    written = load_cluster(str(home / "mine.toml"))
    assert written.caution == told.cluster.caution
    heard: list[Event] = []
    SimulatedCluster.open(written, UserDirs.of_user(), None, heard.append)
    assert Notice(written.caution, caution=True) in heard


@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
def test_a_stop_while_the_machine_is_measured_gives_no_model(home: Path) -> None:
    stop = StopRequest()

    def ask(event: Event) -> None:
        if isinstance(event, Notice) and event.text.startswith("Round 1 of 1"):
            stop.ask(at_once=True)

    request = CalibrateRequest(home / "mine.toml", TuneOptions(blas_only=("openblas",)), 0, 1)
    told = calibrate(request, ask, stop)
    assert told.interrupted
    assert told.cluster is None
    assert (told.report().parts, told.text) == ((), "")
    assert not (home / "mine.toml").exists()
