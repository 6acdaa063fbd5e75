"""What is timed on all ranks at the beginning of a study, with real MPI; an mpirun of ours stands in to fail."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import program
from made_study import MadeStudy
from record_builders import a_study
from typer.testing import CliRunner

from results.store.store import Store
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from search_spaces.load import load
from tuner.budget import Budget, Meter
from tuner.cli import app
from tuner.clock import RealClock
from tuner.engines.probes import Probes
from tuner.events import Event, Notice
from tuner.machine.calibrator import Shape, messages_of
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.study.objective import of_study
from tuner.study.session import StudyContext, StudySession
from tuner.study.sizing.pilot import timed_at_first
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
FAKE = Path(__file__).parents[3] / "fake_bin/mpirun"
Told = Callable[..., tuple[list[str], Probes]]
NOTHING = Probes(nodes=1)


@pytest.fixture
def told(home: Path) -> Iterator[Told]:
    """What a study with so much time says and knows, on so many cores, with a real or a fake mpirun."""
    store = Store.open(home / "study.db")
    store.create_study(a_study())
    options = TuneOptions(blas_only=("openblas",))
    workbench = Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False)

    def tell(*, cores: int = 2, wall_s: float | None = None, mpirun: Path | None = None) -> tuple[list[str], Probes]:
        site = replace(workbench.site, host=replace(workbench.site.host, physical_cores=cores))
        evaluator = replace(workbench.evaluator, machine=site)
        if mpirun is not None:
            evaluator = replace(evaluator, runner=LocalRunner(OpenMpi.installed(mpirun, "4.1.4")))
        events: list[Event] = []
        session = StudySession(
            context=StudyContext(store, events.append, StopRequest(), home / "runs"),
            study=a_study().name,
            space=load("quick", site.machine(all_blas=True, N=1000)),
            objective=of_study(a_study()),
            meter=Meter(Budget(wall_s=wall_s), RealClock()),
        )
        known = timed_at_first(MadeStudy.of(session, (evaluator,)).trials, NOTHING)
        return [event.text for event in events if isinstance(event, Notice)], known

    yield tell
    store.close()


def test_latency_and_bandwidth_are_measured_and_told(told: Told, home: Path) -> None:
    (sentence,), probes = told()
    known = probes.messages
    found = re.fullmatch(r"Ping-pong between two ranks: (\S+) us, (\S+) GB/s\.", sentence)
    assert found is not None, sentence
    assert known is not None
    assert 0.01 < float(found[1]) == pytest.approx(1e6 * known.latency_s, rel=0.1)
    assert 0.001 < float(found[2]) == pytest.approx(1e-9 * known.bytes_s, rel=0.1)
    assert known.latency_s < 1
    assert known.bytes_s < 1e12
    assert "calibrate" in (home / "runs/study/ping-pong/command").read_text()


def test_what_narrow_blocks_cost_is_measured_and_kept_with_the_study(told: Told, home: Path) -> None:
    _, known = told()
    with Store.open(home / "study.db") as store:
        assert store.study("study").notes.dgemm_half_nb == known.half_nb
        assert store.study("study").host["cpu"] == "AMD EPYC"
    assert known.half_nb is not None
    assert 1 <= known.half_nb <= 384


def test_a_study_that_is_gone_on_with_knows_what_it_was_begun_with(told: Told) -> None:
    _, known = told()
    assert told(mpirun=Path("/nowhere/mpirun")) == ([], known)


def test_what_was_measured_is_shown_with_the_study(told: Told, home: Path) -> None:
    told()
    shown = CliRunner().invoke(app, ["show", "study", "--db", str(home / "study.db")]).output
    assert re.search(r"Messages within \S+ \(openmpi, as it is\): [0-9.]+ µs, \d+ Mbit/s", " ".join(shown.split()))


@pytest.mark.parametrize(("behaviour", "words"), [("crash", "signal 9"), ("slots", "fewer cores than ranks")])
def test_a_failure_is_told_and_ends_nothing(
    told: Told, monkeypatch: pytest.MonkeyPatch, behaviour: str, words: str
) -> None:
    monkeypatch.setenv("FAKE_MPI", behaviour)
    (*repeated, sentence), known = told(mpirun=FAKE)
    assert (known, len(repeated)) == (NOTHING, behaviour == "crash"), "as a trial whose rank was killed"
    assert sentence.startswith("The ping-pong between two ranks failed, so the message times are unknown: ")
    assert words in sentence


def test_a_program_that_says_nothing_is_told(told: Told, home: Path) -> None:
    (sentence,), _ = told(mpirun=program(home / "mpirun", "#!/bin/sh\nexit 0\n"))
    assert "it printed 0 figures" in sentence


def test_an_mpirun_that_hangs_is_ended_soon(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MPI", "hang")
    (sentence,), _ = told(mpirun=FAKE, wall_s=45.0)
    assert "stopped at its time limit of 2 s" in sentence


@pytest.mark.parametrize(("largest", "kept"), [(65_536, True), (512, False)])
def test_what_was_measured_before_its_time_was_up_is_kept_where_it_tells_the_rate(
    told: Told,
    home: Path,
    largest: int,
    kept: bool,  # noqa: FBT001
) -> None:
    sizes = [size for power in range(3, 23) if (size := 2**power) <= largest]
    lines = [{"what": "message", "m": size, "n": 0, "k": 0, "time_s": 1e-4 + size / 1.25e7} for size in sizes]
    text = "\n".join(map(json.dumps, lines))
    slow = program(home / "mpirun", f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexec sleep 1000\n")
    (sentence,), known = told(mpirun=slow, wall_s=45.0)
    if kept:
        assert sentence == "Ping-pong between two ranks: 101 us, 0.012 GB/s."
        assert known.messages is not None
        assert known.messages.bytes_s == pytest.approx(1.25e7, rel=0.01)
    else:
        assert "stopped at its time limit of 2 s" in sentence
        assert known == NOTHING


def test_nothing_is_measured_with_one_rank_or_little_time(told: Told) -> None:
    assert told(cores=1) == told(wall_s=20.0) == ([], NOTHING)


@pytest.mark.parametrize(("questions", "late"), [((2, 3), True), ((1, 2), False), ((), True)])
def test_a_message_is_late_where_no_run_found_it_by_its_first_question(questions: tuple[int, ...], late: bool) -> None:  # noqa: FBT001
    times = {Shape("message", 8 * 4**size, 0, 0): 1e-6 * 4**size for size in range(5)}
    probes = {Shape("probed", question, 0, 0): 1e-6 for question in questions}
    assert messages_of({**times, **probes}).late_probe is late


def test_a_message_that_took_longer_than_longer_ones_was_late_and_tells_no_latency() -> None:
    taken_us = {8: 2136.0, 64: 1.1, 512: 90.0, 2**20: 100.0, 2**21: 200.0, 2**22: 400.0}
    found = messages_of({Shape("message", size, 0, 0): 1e-6 * one for size, one in taken_us.items()})
    assert found.latency_us == pytest.approx(1.1)
    assert found.bytes_s == pytest.approx(2**20 / 100e-6, rel=0.1)


@pytest.mark.parametrize("largest_us", [90.0, 100.0, 101.0])
def test_a_rate_is_no_noise_of_two_times_that_are_alike(largest_us: float) -> None:
    taken_us = {8: 1.0, 2**20: 100.0, 2**21: 110.0, 2**22: largest_us}
    found = messages_of({Shape("message", size, 0, 0): 1e-6 * one for size, one in taken_us.items()})
    assert found.bytes_s == pytest.approx(2**22 / largest_us * 1e6)
