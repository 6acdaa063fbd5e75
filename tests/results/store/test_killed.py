"""SIGKILL at any moment loses no trial that was reported as finished."""

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from record_builders import a_study, begun, finished
from waiting import until

from results.errors import ResultsError
from results.record import TrialState
from results.store.store import Store

ROOT = Path(__file__).parents[3]
INSERTS = """
import sys
from dataclasses import replace
from record_builders import begun, finished
from results.store.store import Store

with Store.open(sys.argv[1]) as store:
    store.abandon_running("study", "killed")
    print("ready", flush=True)
    while True:
        number = store.begin(begun())
        store.finish(finished(number))
        print(number, flush=True)
"""


def process(text: str, place: str) -> "subprocess.Popen[str]":
    """A process of its own that works on a database."""
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'contracts'}"}
    line = [sys.executable, "-c", text, place]
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def inserting(place: str) -> "subprocess.Popen[str]":
    """A process that stores trials for ever and prints the number of each once it is finished."""
    child = process(INSERTS, place)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


@pytest.mark.parametrize("after_s", [0.02, 0.11, 0.23])
def test_sigkill_loses_no_finished_trial(place: str, after_s: float) -> None:
    with Store.open(place) as store:
        store.create_study(a_study())
        store.end_study("study", "interrupted")
    with inserting(place) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(after_s)
        child.send_signal(signal.SIGKILL)
        reported = [int(line) for line in (first + child.stdout.read()).split()]
        child.wait()
    with Store.open(place, create=False) as store:
        kept = [record.number for record in store.records("study", states=[TrialState.COMPLETE])]
        assert kept[: len(reported)] == reported
        assert len(kept) - len(reported) <= 1  # finished, but killed before it could say so
        assert len(reported) > 0
        left = store.abandon_running("study", "hpltune was killed while this trial ran")
        assert left == len(store.records("study", states=[TrialState.FAILED])) <= 1
        assert store.get("study", reported[-1]).output


@pytest.mark.heavy
def test_a_study_of_a_living_process_is_not_taken(place: str) -> None:
    from results.errors import StudyBusyError

    with Store.open(place) as store:
        store.create_study(a_study())
        store.end_study("study", "interrupted")
        child = inserting(place)
        busy = rf"study study is being run by process {child.pid} on .*: wait for it or end it there, help it"
        try:
            for steal in (
                lambda: store.abandon_running("study", "stolen"),
                lambda: store.take("study"),
                lambda: store.set_options("study", {}),
                lambda: store.end_study("study", "complete"),
                lambda: store.delete_study("study"),
            ):
                with pytest.raises(StudyBusyError, match=busy):
                    steal()
            assert store.records("study", states=[TrialState.FAILED]) == []
        finally:
            child.kill()

        def taken() -> bool:
            with suppress(StudyBusyError):
                store.take("study")
                return True
            return False

        until(taken)  # the process is not reaped yet: one that has ended does not hold a study
        assert store.take("study").name == "study"
        child.communicate()


def test_several_processes_may_work_on_one_study_and_the_last_ends_it(place: str) -> None:
    with Store.open(place) as store:
        store.create_study(a_study())
        store.end_study("study", "interrupted")
        with pytest.raises(ResultsError, match="nobody works on study study now: go on with ⟦resume⟧"):
            store.join("study")
        child = inserting(place)
        store.join("study")
        assert [lease.pid for lease in store.others("study")] == [child.pid]
        mine = store.begin(begun())
        store.finish(finished(mine))
        store.end_study("study", "complete")
        assert store.study("study").state == "running", "the other goes on"
        store.join("study")
        child.kill()
        child.communicate()
        store.end_study("study", "complete")
        assert store.study("study").state == "complete"
        numbers = [record.number for record in store.records("study")]
        assert len(set(numbers)) == len(numbers)
        assert mine in numbers


BEGINS = """
import sys
from record_builders import begun
from results.store.store import Store

with Store.open(sys.argv[1]) as store:
    store.join("study")
    print(store.begin(begun()), flush=True)
    sys.stdin.read()
"""


def test_those_who_go_on_end_what_a_killed_one_ran_and_leave_the_living_theirs(place: str) -> None:
    with Store.open(place) as store:
        store.create_study(a_study())
        mine = store.begin(begun())
        children = [process(BEGINS, place) for _ in range(2)]
        killed, living = (int((child.stdout or sys.stdin).readline()) for child in children)
        assert store.abandon_running("study", "killed", {mine}) == 0
        children[0].kill()
        children[0].communicate()
        until(lambda: store.abandon_running("study", "killed", {mine}))  # a server has to notice
        assert store.get("study", killed).reason == "killed"
        assert {record.number for record in store.records("study", states=[TrialState.RUNNING])} == {mine, living}
        children[1].communicate()
