"""A signal while an engine works out what to try next: it ends that at once, and nothing more is started."""

import os
import signal
import time
from pathlib import Path
from threading import Thread

import pytest
from as_user import Run
from made_study import MakeStudy
from waiting import PATIENCE_S

from hpl.params import Scalar
from tuner.cli.signals import stop_on_signals
from tuner.engines.base import Engine
from tuner.stopping import Interrupted, StopRequest
from tuner.study.search.loop import STOPPED


class Endless(Engine):
    """Is sent a signal when it is asked, and would work on for ever."""

    number = signal.SIGTERM

    def _propose(self) -> dict[str, Scalar] | None:
        os.kill(os.getpid(), self.number)
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE_S:
            sum(range(1_000))
        return self.space.point(0)


def told(_stop: StopRequest) -> None:
    """Says nothing."""


def test_a_signal_leaves_what_is_to_be_stored_alone() -> None:
    with stop_on_signals(told) as stop:
        with stop.thinking():
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.at_once
        with pytest.raises(Interrupted), stop.thinking():
            pytest.fail("after a request nothing is worked out any more")


def test_a_request_from_another_thread_ends_what_thinks_at_its_end_and_lets_preparations_finish() -> None:
    stop = StopRequest()
    with stop.preparing():
        other = Thread(target=stop.ask)
        other.start()
        other.join()
    with pytest.raises(Interrupted), stop.thinking():
        pytest.fail("after a request nothing is worked out any more")


@pytest.mark.usefixtures("mpirun")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_search_ends_without_a_trial_where_the_signal_comes_while_the_engine_thinks(
    make_study: MakeStudy, number: signal.Signals
) -> None:
    with stop_on_signals(told) as stop:
        study = make_study(stop=stop)
        engine = Endless(study.space, 0)
        engine.number = number
        assert study.search(engine) == STOPPED
    assert study.records() == []


@pytest.mark.process
@pytest.mark.usefixtures("prints_hpl")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_study_that_is_ended_while_the_next_run_is_prepared_says_how_to_go_on(
    hpltune_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    ended = "import os\nfrom tuner.study import campaign\ncampaign.seed_engine = lambda *_: os.kill(os.getpid(), "
    (tmp_path / "sitecustomize.py").write_text(f"{ended}{number:d})\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    small = ("--space", "quick", "--set", "N=1000", "--trials", "1")
    done = hpltune_process("tune", *small, "--xhpl", "xhpl", "--study", "ended")
    assert done.returncode == 128 + number
    assert done.stderr.endswith("; `hpltune tune --resume --study ended` goes on\n")


@pytest.mark.process
def test_ctrl_c_while_the_program_still_starts_ends_it_without_a_word(
    hpltune_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    (tmp_path / "typer.py").write_text(pressed, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = hpltune_process("show")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
