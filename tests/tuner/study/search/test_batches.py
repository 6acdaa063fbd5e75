"""Several runs in one launch of a program of ours that prints HPL's output."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from as_user import Run
from made_study import SMALL, MakeStudy, point
from record_builders import begun, finished
from replayed import GFLOPS

from hpl.dat_parse import parse
from hpl.witness import of_run, parse_panels
from results.record import Kind, TrialRecord, TrialState
from runners.errors import Mishap
from runners.hosts.others import HERE, OthersLoad
from tuner.budget import Budget
from tuner.engines.outcomes import FULL, Fidelity, Rung
from tuner.engines.registry import make_engine
from tuner.events import Event, Notice, TrialEnded, TrialProgress, TrialStarted
from tuner.stopping import StopRequest
from tuner.study.search.loop import replay_records
from tuner.study.search.trials import UnavailableParts
from tuner.trial.ladder import outcomes_of, rung_of
from tuner.trial.records import started

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.usefixtures("mpirun")


def states(records: list[TrialRecord]) -> list[TrialState]:
    return [record.state for record in records]


def test_a_configuration_that_the_search_runs_once_more_is_told(make_study: MakeStudy) -> None:
    events = list[Event]()
    study = make_study(listener=events.append)
    for wish, kind, rung in (
        (point(), Kind.SMALL, SMALL),
        (point(), Kind.SEARCH, FULL),
        (point(NB=64), Kind.SEARCH, FULL),
        (point(), Kind.SEARCH, FULL),
        (point(), Kind.CONFIRMATION, FULL),
    ):
        study.launch([wish], kind, rung)
    assert [event.again for event in events if isinstance(event, TrialEnded)] == [False, False, False, True, False]


def test_what_an_earlier_session_ran_runs_again(make_study: MakeStudy) -> None:
    first, events = make_study(), list[Event]()
    first.launch([point()], Kind.SMALL, SMALL)
    second = first.later(events.append)
    second.ledger.count(second.records())
    for NB in (32, 64):
        second.launch([point(NB=NB)], Kind.SMALL, SMALL)
    assert [event.again for event in events if isinstance(event, TrialEnded)] == [True, False]


def test_each_run_of_a_launch_has_a_record_of_its_own_as_if_it_had_been_alone(make_study: MakeStudy) -> None:
    events = list[Event]()
    study = make_study(listener=events.append)
    wishes = [point(NB=NB, grid=grid) for NB in (64, 32) for grid in ("2x1", "1x2")]
    records = study.launch(wishes, Kind.SMALL, SMALL)
    assert [dict(record.params) for record in records] == wishes
    assert len({record.directory for record in records}) == len({record.command for record in records}) == 1
    for record, wish in zip(records, wishes, strict=True):
        stored = study.store.get("study", record.number)
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
    make_study: MakeStudy, *, killed: bool
) -> None:
    study = make_study(budget=Budget(trials=2))
    elsewhere = study.space.complete(study.space.point(0))
    begun = started("study", elsewhere, Kind.SEARCH, study.space.key(elsewhere), 0)
    number = study.store.begin(begun)
    if not killed:
        complete = replace(begun, number=number, state=TrialState.COMPLETE, gflops=1.0, cost_s=1.0)
        study.store.finish(replace(complete, ended_at=datetime.now(UTC)))
    engine = make_engine("grid", study.space, 0)
    ended = study.search(engine, first=[study.space.point(0)])
    assert ended.startswith("all 2 trials are done; ")
    assert len(study.records((Kind.SEARCH,))) == 2 + killed


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
def test_what_a_helper_began_and_did_not_end_is_run_by_those_who_go_on(make_study: MakeStudy, *, killed: bool) -> None:
    said = list[str]()

    def hear(event: Event) -> None:
        if isinstance(event, Notice):
            said.append(event.text)
        if isinstance(event, TrialEnded) and helper.poll() is None:
            if killed:
                helper.kill()
            helper.communicate("\n")

    study = make_study(listener=hear)
    theirs = study.space.complete(study.space.point(0))
    line = [sys.executable, "-c", HELPER, study.store.place, study.space.key(theirs), repr(theirs)]
    helper = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert helper.stdout is not None
    number = int(helper.stdout.readline())
    study.search(make_engine("grid", study.space, 0))
    assert study.store.get("study", number).state is (TrialState.FAILED if killed else TrialState.CANCELLED)
    complete = [record.key for record in study.store.records("study", states=[TrialState.COMPLETE])]
    assert sorted(complete) == sorted({study.space.key(point) for point in study.space})
    left = "1 trial left behind by a hpltune that was killed."
    assert said == ([left] if killed else [])


def test_a_run_under_way_is_stored_as_the_part_of_a_full_one_that_it_is(make_study: MakeStudy) -> None:
    rungs = list[Rung]()

    def hear(event: Event) -> None:
        if isinstance(event, TrialStarted):
            rungs.append(rung_of(study.store.get("study", event.number)))

    study = make_study(listener=hear)
    prefix = Rung(Fidelity.PREFIX, 0.1)
    study.launch([point()], Kind.PREFIX, prefix)
    study.launch([point()], Kind.SMALL, SMALL)
    assert rungs == [prefix, SMALL]


def test_points_that_are_to_be_tried_first_are_shared_out_where_several_run_at_a_time(make_study: MakeStudy) -> None:
    study = make_study(parts=2, budget=Budget(trials=2))
    first = [study.space.point(number) for number in range(2)]
    study.search(make_engine("random", study.space, 0), first=first)
    tried = [record.key for record in study.records((Kind.SEARCH,))]
    assert sorted(tried) == sorted(study.space.key(point) for point in first)


def test_a_launch_is_paid_once(make_study: MakeStudy) -> None:
    study = make_study()
    together = study.launch([point(NB=NB) for NB in (32, 64)], Kind.SMALL, SMALL)
    spent_s = sum(record.cost_s or 0.0 for record in together)
    ended, started = together[0].ended_at, together[0].started_at
    assert ended is not None
    assert spent_s <= (ended - started).total_seconds()
    assert study.meter.trials == 2
    assert [outcome.sharing for outcome in outcomes_of(study.records())] == [2, 2]
    for record in together:
        assert (record.cost_s or 0.0) > (record.time_s or 0.0)


def test_show_names_the_trials_of_the_same_launch(make_study: MakeStudy, hpltune: Run, home: Path) -> None:
    study = make_study()
    study.launch([point(NB=NB) for NB in (32, 64, 96)], Kind.SMALL, SMALL)
    shown = hpltune("show", "study", "2", "--db", str(home / "batches.db"))
    assert "trials 1, 3" in shown.stdout, shown.stderr
    assert "with its part of the launch" in shown.stdout


def test_what_no_file_holds_gets_launches_of_its_own(make_study: MakeStudy) -> None:
    records = make_study().launch([point(SWAP=swap, grid="2x1") for swap in ("long", "bin")], Kind.SMALL, SMALL)
    assert all(record.ranked for record in records)
    assert len({record.directory for record in records}) == 2
    assert [outcome.sharing for outcome in outcomes_of(records)] == [1, 1]


def test_a_point_that_cannot_be_planned_keeps_nothing_else_from_running(make_study: MakeStudy) -> None:
    records = make_study().launch([point(), point(layout="4x1"), point(NB=64)], Kind.SMALL, SMALL)
    assert [record.ranked for record in records] == [True, False, True]
    assert "needs 2 ranks, the layout starts 4" in records[1].reason
    assert records[0].directory == records[2].directory


@pytest.mark.parametrize(
    ("failure", "walltime_s", "sentence"),
    [
        ({"ends": "signal", "number": 9}, 60.0, "signal 9"),
        ({"ends": "hang"}, 2.0, "stopped at its time limit of 2 s"),
        ({"ends": "silence"}, 60.0, "HPL printed 1 of 3 results"),
    ],
)
def test_a_run_that_fails_condemns_only_itself(
    make_study: MakeStudy, failure: dict[str, object], walltime_s: float, sentence: str
) -> None:
    study = make_study(runs=[{"when": {"NB": 64}, **failure}], walltime_s=walltime_s)
    wishes = [point(NB=NB) for NB in (32, 64, 96)]
    before, failed, after = study.launch(wishes, Kind.SMALL, SMALL)
    assert states([before, failed, after]) == [TrialState.COMPLETE, TrialState.FAILED, TrialState.COMPLETE], failed
    assert sentence in failed.reason
    assert before.gflops == after.gflops == GFLOPS
    assert before.directory == failed.directory != after.directory
    assert [outcome.sharing for outcome in outcomes_of([before, failed, after])] == [2, 2, 1]


def test_a_time_limit_that_came_while_others_were_at_work_counts_only_the_second_time(
    make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.machine.quiet.others_on", lambda *_: {HERE: OthersLoad(2, 1.2, ("python3",))})
    study = make_study(runs=[{"when": {"NB": 64}, "ends": "hang"}], walltime_s=2.0)
    last = study.trial(point(NB=64), Kind.SEARCH)
    assert last.reason.startswith("stopped at its time limit of 2 s, while others took 1.2 of 2 cores, mostly python3")
    assert states([*study.records()]) == [TrialState.CANCELLED, TrialState.FAILED]


def test_what_all_launches_share_that_lost_a_node_is_blamed_where_runs_without_it_ended_well(
    make_study: MakeStudy,
) -> None:
    study = make_study()
    parts = UnavailableParts(study.session.context, study.session.study)
    assert parts.blamed(Mishap.NODE_LOST, {"net.mtu": 9000, "net.tso": "on"}) == {}, "once may be chance"
    assert parts.blamed(Mishap.NODE_LOST, {"net.mtu": 9000, "net.tso": "on"}) == {}, "nothing else ran"
    study.trial(point(NB=64), Kind.SEARCH)
    assert parts.blamed(Mishap.NODE_LOST, {"net.mtu": 9000, "net.tso": "off"}) == {"net.mtu": 9000}
    assert UnavailableParts(study.session.context, study.session.study).parts == ({"net.mtu": 9000},)
    lost = [(1500, "on"), (3000, "off")] * 2
    found = [parts.blamed(Mishap.NODE_LOST, {"net.mtu": mtu, "net.tso": tso}) for mtu, tso in lost]
    assert found == [{}] * 4, "they share nothing: the node is to blame"


def test_the_first_ctrl_c_lets_the_running_variant_end_and_not_the_whole_launch(make_study: MakeStudy) -> None:
    stop = StopRequest()

    def interrupt(event: Event) -> None:
        if isinstance(event, TrialProgress) and not stop.requested:
            stop.ask()

    study = make_study(listener=interrupt, stop=stop)
    records = study.launch([point(N=4500, NB=NB) for NB in (96, 128, 192)], Kind.SMALL, Rung(Fidelity.SMALL, 1.0))
    assert records[0].state is TrialState.COMPLETE
    assert records[2].state is TrialState.CANCELLED
    assert study.meter.trials == sum(record.state is TrialState.COMPLETE for record in records)
    engine = make_engine("hpl", study.space, 0)
    replay_records(engine, records, study.session.objective)
    assert not engine.seen({"NB": 64, "grid": "1x2", "layout": "2x1"})


def test_an_engine_is_not_told_of_trials_whose_end_was_not_seen(make_study: MakeStudy) -> None:
    study = make_study()
    wish = study.space.point(0)
    record = study.trial(study.space.complete({**wish, "blas": "openblas"}), Kind.SEARCH)
    for seen, state in ((True, TrialState.COMPLETE), (False, TrialState.FAILED)):
        engine = make_engine("grid", study.space, 0)
        told = record if seen else replace(record, state=state, ended_at=None)
        replay_records(engine, [told], study.session.objective)
        assert engine.seen(wish) is seen


def test_progress_lines_of_one_run_are_told_from_those_of_the_others() -> None:
    def panel(column: int, N: int) -> str:
        return f'hpltune-panel {{"N": {N}, "column": {column}, "time_s": 1.0}}\n'

    text = "hello\n" + panel(0, 100) + panel(32, 100) + "noise\n" + panel(0, 100) + panel(64, 100)
    assert of_run(text, 0) == "hello\n" + panel(0, 100) + panel(32, 100) + "noise\n"
    assert of_run(text, 1) == "hello\nnoise\n" + panel(0, 100) + panel(64, 100)
    assert of_run(text, 2) == "hello\nnoise\n"


def test_a_trial_that_ends_while_a_helper_gets_ready_is_counted_once(make_study: MakeStudy) -> None:
    study = make_study()
    done, running = (study.store.begin(begun(key=key)) for key in ("a", "b"))
    study.store.finish(finished(done))
    study.ledger.count(study.records())
    study.store.finish(finished(running))
    for _ in range(2):
        study.ledger.count(study.records())
    assert (study.meter.trials, study.meter.run_s) == (2, 6.5)


def test_what_the_study_has_run_itself_is_not_charged_again_when_the_store_is_read(make_study: MakeStudy) -> None:
    study = make_study()
    records = [study.trial(point(), kind) for kind in (Kind.PILOT, Kind.SEARCH)]
    study.ledger.count(study.records())
    assert study.meter.run_s == pytest.approx(sum(record.cost_s or 0.0 for record in records))


def test_a_study_whose_time_is_used_up_before_its_search_still_has_one_full_run(make_study: MakeStudy) -> None:
    study = make_study(budget=Budget(wall_s=1e-6), expected_s=5.0)
    ended = study.search(make_engine("random", study.space, 0), reserved_runs=8, ladder=(SMALL, FULL))
    assert "more than is left" in ended
    assert [record.kind for record in study.records()] == [Kind.SEARCH]
    assert study.ledger.incumbent.gflops is not None
