"""Several runs in one launch, with real HPL; a program of ours stands in where one of them must fail."""

import shlex
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from as_user import Run, program
from made_loop import SMALL, MakeLoop, launch, point
from record_builders import begun, finished

from hpl.dat_parse import parse
from hpl.witness import of_run, parse_panels
from results.record import Kind, TrialRecord, TrialState
from tuner.budget import Budget, Meter
from tuner.clock import RealClock
from tuner.engines.fidelity import FULL, Fidelity, Rung
from tuner.engines.registry import make_engine
from tuner.events import Event, Notice, TrialEnded, TrialProgress, TrialStarted
from tuner.study.replay import replay_records
from tuner.trial.ladder import outcomes_of, rung_of
from tuner.trial.records import started

ROOT = Path(__file__).parents[3]
pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]

FAILING = """#!{python}
import os, sys
from pathlib import Path
lines = Path("HPL.dat").read_text().splitlines()
N, NBs = int(lines[5].split()[0]), [int(NB) for NB in lines[7].split()[: int(lines[6].split()[0])]]
if os.environ.get("OMPI_COMM_WORLD_RANK", "0") != "0":
    sys.exit()
for NB in NBs:
    if NB == 64:
        {failure}
    seconds = (2 / 3 * N**3 + 3 / 2 * N**2) / 1e9
    print(f"WR11C2R4 {{N}} {{NB}} 1 2 {{seconds:.2f}} 1.0000e+00", flush=True)
    print("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= 0.0039 ...... PASSED", flush=True)
print("End of Tests.")
"""
"""An HPL of 1 GFLOPS that fails at NB = 64, whatever it was to run after that."""


def states(records: list[TrialRecord]) -> list[TrialState]:
    return [record.state for record in records]


def test_a_configuration_that_the_search_runs_once_more_is_told(make_loop: MakeLoop) -> None:
    loop, events = make_loop(), list[Event]()
    loop.bench = replace(loop.bench, listener=events.append)
    for wish, kind, rung in (
        (point(), Kind.SMALL, SMALL),
        (point(), Kind.SEARCH, FULL),
        (point(NB=64), Kind.SEARCH, FULL),
        (point(), Kind.SEARCH, FULL),
        (point(), Kind.CONFIRMATION, FULL),
    ):
        launch(loop, [wish], kind, rung)
    assert [event.again for event in events if isinstance(event, TrialEnded)] == [False, False, False, True, False]


def test_what_an_earlier_sitting_ran_runs_again(make_loop: MakeLoop) -> None:
    first, events = make_loop(), list[Event]()
    launch(first, [point()], Kind.SMALL, SMALL)
    second = replace(first, bench=replace(first.bench, listener=events.append))
    second.count(second.records())
    for NB in (32, 64):
        launch(second, [point(NB=NB)], Kind.SMALL, SMALL)
    assert [event.again for event in events if isinstance(event, TrialEnded)] == [True, False]


def test_each_run_of_a_launch_has_a_record_of_its_own_as_if_it_had_been_alone(make_loop: MakeLoop) -> None:
    loop, events = make_loop(), list[Event]()
    loop.bench = replace(loop.bench, listener=events.append)
    wishes = [point(NB=NB, grid=grid) for NB in (64, 32) for grid in ("2x1", "1x2")]
    records = launch(loop, wishes, Kind.SMALL, SMALL)
    assert [dict(record.params) for record in records] == wishes
    assert len({record.directory for record in records}) == len({record.command for record in records}) == 1
    for record, wish in zip(records, wishes, strict=True):
        stored = loop.bench.store.get("study", record.number)
        assert stored.ranked
        assert stored.hpl is not None
        assert (stored.hpl.N, stored.hpl.NB, f"{stored.hpl.P}x{stored.hpl.Q}") == (320, wish["NB"], wish["grid"])
        assert stored.part == pytest.approx(0.32)
        assert list(parse(stored.hpl_dat, "HPL.dat").runs()) == [stored.hpl]
        assert [panel.column for panel in parse_panels(stored.errors_text)] == list(range(0, 320, int(stored.hpl.NB)))
    assert len(list(parse((Path(records[0].directory) / "HPL.dat").read_text(), "HPL.dat").runs())) == 4
    begun = [event for event in events if isinstance(event, TrialStarted)]
    assert [event.after for event in begun] == [None, *(event.number for event in begun[:-1])]
    assert begun[1].label.endswith("(2 of 4 in one launch)")
    assert [event.number for event in begun] == sorted(record.number for record in records)
    assert sum(isinstance(event, TrialEnded) for event in events) == 4


@pytest.mark.parametrize("killed", [True, False])
def test_what_a_helper_ended_before_it_left_is_one_of_the_budgets_trials_and_what_was_killed_is_not(
    make_loop: MakeLoop, *, killed: bool
) -> None:
    loop = make_loop()
    loop.meter = Meter(Budget(trials=2), RealClock())
    elsewhere = loop.space.complete(loop.space.point(0))
    begun = started("study", elsewhere, Kind.SEARCH, loop.space.key(elsewhere), 0)
    number = loop.bench.store.begin(begun)
    if not killed:
        complete = replace(begun, number=number, state=TrialState.COMPLETE, gflops=1.0, cost_s=1.0)
        loop.bench.store.finish(replace(complete, ended_at=datetime.now(UTC)))
    engine = make_engine("grid", loop.space, 0)
    ended = loop.search(engine, repeats=1, reserved_runs=0, first=[loop.space.point(0)])
    assert ended.startswith("all 2 trials are done; ")
    assert len(loop.records((Kind.SEARCH,))) == 2 + killed


HELPER = """
import sys
from dataclasses import replace
from pathlib import Path
from results.record import Kind, TrialState
from results.store.store import Store
from tuner.trial.records import started

with Store.open(Path(sys.argv[1])) as store:
    store.join("study")
    begun = started("study", eval(sys.argv[3]), Kind.SEARCH, sys.argv[2])
    number = store.begin(begun)
    print(number, flush=True)
    sys.stdin.readline()
    store.finish(replace(begun, number=number, state=TrialState.CANCELLED))
"""


@pytest.mark.parametrize("killed", [True, False])
def test_what_a_helper_began_and_did_not_end_is_run_by_those_who_go_on(make_loop: MakeLoop, *, killed: bool) -> None:
    loop, said = make_loop(), list[str]()
    theirs = loop.space.complete(loop.space.point(0))
    line = [sys.executable, "-c", HELPER, loop.bench.store.place, loop.space.key(theirs), repr(theirs)]
    helper = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert helper.stdout is not None
    number = int(helper.stdout.readline())

    def hear(event: Event) -> None:
        if isinstance(event, Notice):
            said.append(event.text)
        if isinstance(event, TrialEnded) and helper.poll() is None:
            if killed:
                helper.kill()
            helper.communicate("\n")

    loop.bench = replace(loop.bench, listener=hear)
    loop.search(make_engine("grid", loop.space, 0), repeats=1, reserved_runs=0)
    assert loop.bench.store.get("study", number).state is (TrialState.FAILED if killed else TrialState.CANCELLED)
    complete = [record.key for record in loop.bench.store.records("study", states=[TrialState.COMPLETE])]
    assert sorted(complete) == sorted({loop.space.key(point) for point in loop.space})
    left = "1 trial left behind by a hpltune that was killed."
    assert said == ([left] if killed else [])


def test_a_run_under_way_is_stored_as_the_part_of_a_full_one_that_it_is(make_loop: MakeLoop) -> None:
    loop, rungs = make_loop(), list[Rung]()

    def hear(event: Event) -> None:
        if isinstance(event, TrialStarted):
            rungs.append(rung_of(loop.bench.store.get("study", event.number)))

    loop.bench = replace(loop.bench, listener=hear)
    prefix = Rung(Fidelity.PREFIX, 0.1)
    launch(loop, [point()], Kind.PREFIX, prefix)
    launch(loop, [point()], Kind.SMALL, SMALL)
    assert rungs == [prefix, SMALL]


def test_points_that_are_to_be_tried_first_are_shared_out_where_several_run_at_a_time(make_loop: MakeLoop) -> None:
    loop = make_loop()
    loop.others = (loop.evaluator,)
    first = [loop.space.point(number) for number in range(2)]
    loop.meter = Meter(Budget(trials=2), RealClock())
    loop.search(make_engine("random", loop.space, 0), repeats=1, reserved_runs=0, first=first)
    tried = [record.key for record in loop.records((Kind.SEARCH,))]
    assert sorted(tried) == sorted(loop.space.key(point) for point in first)


def test_a_launch_is_paid_once(make_loop: MakeLoop) -> None:
    loop = make_loop()
    together = launch(loop, [point(NB=NB) for NB in (32, 64)], Kind.SMALL, SMALL)
    spent_s = sum(record.cost_s or 0.0 for record in together)
    ended, started = together[0].ended_at, together[0].started_at
    assert ended is not None
    assert spent_s <= (ended - started).total_seconds()
    assert loop.meter.trials == 2
    assert [outcome.sharing for outcome in outcomes_of(loop.records())] == [2, 2]
    for record in together:
        assert (record.cost_s or 0.0) > (record.time_s or 0.0)


def test_show_names_the_trials_of_the_same_launch(make_loop: MakeLoop, hpltune: Run, home: Path) -> None:
    loop = make_loop()
    launch(loop, [point(NB=NB) for NB in (32, 64, 96)], Kind.SMALL, SMALL)
    shown = hpltune("show", "study", "2", "--db", str(home / "batches.db"))
    assert "trials 1, 3" in shown.stdout, shown.stderr
    assert "with its part of the launch" in shown.stdout


def test_what_no_file_holds_gets_launches_of_its_own(make_loop: MakeLoop) -> None:
    records = launch(make_loop(), [point(SWAP=swap, grid="2x1") for swap in ("long", "bin")], Kind.SMALL, SMALL)
    assert all(record.ranked for record in records)
    assert len({record.directory for record in records}) == 2
    assert [outcome.sharing for outcome in outcomes_of(records)] == [1, 1]


def test_a_point_that_cannot_be_planned_keeps_nothing_else_from_running(make_loop: MakeLoop) -> None:
    records = launch(make_loop(), [point(), point(layout="4x1"), point(NB=64)], Kind.SMALL, SMALL)
    assert [record.ranked for record in records] == [True, False, True]
    assert "needs 2 ranks, the layout starts 4" in records[1].reason
    assert records[0].directory == records[2].directory


@pytest.mark.parametrize(
    ("failure", "walltime_s", "sentence"),
    [
        ("os.kill(os.getpid(), 9)", 60.0, "signal 9"),
        ("__import__('time').sleep(300)", 2.0, "stopped at its time limit of 2 s"),
        ("sys.exit()", 60.0, "HPL printed 1 of 3 results"),
    ],
)
def test_a_run_that_fails_condemns_only_itself(
    make_loop: MakeLoop, home: Path, failure: str, walltime_s: float, sentence: str
) -> None:
    broken = program(home / "xhpl", FAILING.format(python=shlex.quote(sys.executable), failure=failure))
    loop = make_loop(broken, walltime_s=walltime_s)
    wishes = [point(NB=NB, BCAST="1rM", DEPTH=1, RFACT="crout", NBMIN=4, blas="xhpl") for NB in (32, 64, 96)]
    before, failed, after = launch(loop, wishes, Kind.SMALL, SMALL)
    assert states([before, failed, after]) == [TrialState.COMPLETE, TrialState.FAILED, TrialState.COMPLETE], failed
    assert sentence in failed.reason
    assert before.gflops == after.gflops == 1.0
    assert before.directory == failed.directory != after.directory
    assert [outcome.sharing for outcome in outcomes_of([before, failed, after])] == [2, 2, 1]


def test_the_first_ctrl_c_lets_the_running_variant_end_and_not_the_whole_launch(make_loop: MakeLoop) -> None:
    loop = make_loop()

    def interrupt(event: Event) -> None:
        if isinstance(event, TrialProgress) and not loop.bench.stop.requested:
            loop.bench.stop.ask()

    loop.bench = replace(loop.bench, listener=interrupt)
    records = launch(loop, [point(N=4500, NB=NB) for NB in (96, 128, 192)], Kind.SMALL, Rung(Fidelity.SMALL, 1.0))
    assert records[0].state is TrialState.COMPLETE
    assert records[2].state is TrialState.CANCELLED
    assert loop.meter.trials == sum(record.state is TrialState.COMPLETE for record in records)
    engine = make_engine("hpl", loop.space, 0)
    replay_records(engine, records, loop.objective)
    assert not engine.seen({"NB": 64, "grid": "1x2", "layout": "2x1"})


def test_an_engine_is_not_told_of_trials_whose_end_was_not_seen(make_loop: MakeLoop) -> None:
    loop = make_loop()
    wish = loop.space.point(0)
    record = loop.trial(loop.space.complete({**wish, "blas": "openblas"}), Kind.SEARCH)
    for seen, state in ((True, TrialState.COMPLETE), (False, TrialState.FAILED)):
        engine = make_engine("grid", loop.space, 0)
        told = record if seen else replace(record, state=state, ended_at=None)
        replay_records(engine, [told], loop.objective)
        assert engine.seen(wish) is seen


def test_progress_lines_of_one_run_are_told_from_those_of_the_others() -> None:
    def panel(column: int, N: int) -> str:
        return f'hpltune-panel {{"N": {N}, "column": {column}, "time_s": 1.0}}\n'

    text = "hello\n" + panel(0, 100) + panel(32, 100) + "noise\n" + panel(0, 100) + panel(64, 100)
    assert of_run(text, 0) == "hello\n" + panel(0, 100) + panel(32, 100) + "noise\n"
    assert of_run(text, 1) == "hello\nnoise\n" + panel(0, 100) + panel(64, 100)
    assert of_run(text, 2) == "hello\nnoise\n"


def test_a_trial_that_ends_while_a_helper_gets_ready_is_counted_once(make_loop: MakeLoop) -> None:
    loop = make_loop()
    done, running = (loop.bench.store.begin(begun(key=key)) for key in ("a", "b"))
    loop.bench.store.finish(finished(done))
    loop.count(loop.records())
    loop.bench.store.finish(finished(running))
    for _ in range(2):
        loop.count(loop.records())
    assert (loop.meter.trials, loop.meter.run_s) == (2, 6.5)


def test_what_the_study_has_run_itself_is_not_charged_again_when_the_store_is_read(make_loop: MakeLoop) -> None:
    loop = make_loop()
    records = [loop.trial(point(), kind) for kind in (Kind.PILOT, Kind.SEARCH)]
    loop.count(loop.records())
    assert loop.meter.run_s == pytest.approx(sum(record.cost_s or 0.0 for record in records))


def test_a_study_whose_time_is_used_up_before_its_search_still_has_one_full_run(make_loop: MakeLoop) -> None:
    loop = make_loop()
    loop.meter = Meter(Budget(wall_s=1e-6), RealClock())
    loop.ladder, loop.expected_s = (SMALL, FULL), 5.0
    ended = loop.search(make_engine("random", loop.space, 0), repeats=1, reserved_runs=8)
    assert "more than is left" in ended
    assert [record.kind for record in loop.records()] == [Kind.SEARCH]
    assert loop.best_gflops is not None
