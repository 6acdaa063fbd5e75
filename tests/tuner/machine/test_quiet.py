"""A study waits for a quiet machine, no longer than was asked for, and tells what it waits for."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from as_user import Run
from hypothesis import given
from hypothesis import strategies as st

from runners.errors import UnreachableError
from runners.hosts.others import HERE, OthersLoad, others_on, parse_load
from tuner.asks.shared import USUAL_QUIET
from tuner.errors import UsageError
from tuner.events import Event, Notice
from tuner.machine.quiet import USUAL, Look, QuietWait, longest_wait_s, told
from tuner.stopping import StopRequest

PRINTED = """cpu  1000 0 500 8000 0 0 0 0 0 0
2
77 300 - python3
78 20 - a (b) c

cpu  1160 0 520 8020 0 0 0 0 0 0
2
77 380 - python3
78 20 - a (b) c
79 60 ada xhpl
"""
"""Two looks, a second apart, at a node of two cores on which one program took a core and another half of one."""
BUSY, QUIET = OthersLoad(2, 0.8, ("python3", "cc1")), OthersLoad(2, 0.02)


def look(*seen: OthersLoad) -> Look:
    """What is seen at each look, the last for ever."""
    left = list(seen)
    return lambda: {HERE: left.pop(0) if len(left) > 1 else left[0]}


def waited(seen: Look | None, left_s: float, stop: StopRequest | None = None) -> tuple[QuietWait, list[str]]:
    events = list[Event]()
    wait = QuietWait(seen, left_s, events.append, stop or StopRequest())
    wait.before("the first run")
    return wait, [event.text for event in events if isinstance(event, Notice)]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(USUAL, raising=False)
    monkeypatch.setattr("tuner.machine.quiet.PAUSE_S", 0.02)


def test_a_quiet_machine_is_not_waited_for() -> None:
    assert waited(look(QUIET), 30.0)[1] == []


def test_what_is_waited_for_and_how_long_is_told_and_so_is_the_end() -> None:
    wait, said = waited(look(BUSY, BUSY, QUIET), 30.0)
    assert said[0] == (
        "Waiting for a quiet machine before the first run: others take 0.8 of 2 cores, mostly python3 and cc1. "
        "It waits 30 s at most, and ⟦wait_for_quiet⟧ 0 does without."
    )
    assert said[1].startswith("The machine is quiet now")
    assert wait.left_s < 30.0


def test_a_machine_that_stays_busy_is_a_caution_and_no_more_is_waited() -> None:
    wait, said = waited(look(BUSY), 0.1)
    assert said[-1].startswith("before the first run the machine was still busy after")
    assert said[-1].endswith(f"others took 0.8 of 2 cores, mostly python3 and cc1; {REMEDY}.")
    assert wait.left_s == 0.0
    said.clear()
    wait.before("the confirmation")
    assert said == []


class Clock:
    """Time that passes only where somebody sleeps or looks."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def slow_look(self) -> Mapping[str, OthersLoad]:
        self.now_s += 1.0
        return {HERE: BUSY}


def test_looks_that_take_long_do_not_make_the_wait_longer_than_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("tuner.machine.quiet.time", clock)
    monkeypatch.setattr("tuner.machine.quiet.PAUSE_S", 2.0)
    _, said = waited(clock.slow_look, 5.0)
    assert "It waits 4.0 s at most" in said[0]
    assert said[1].startswith("before the first run the machine was still busy after")
    assert 4.0 <= clock.now_s <= 5.1


REMEDY = "stop them, or give the wait more time with ⟦wait_for_quiet⟧, as in ⟦wait_for_quiet⟧ 50%"


def test_a_busy_machine_is_told_where_there_is_no_time_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("tuner.machine.quiet.time", clock)
    told_of_it = "before the first run the machine was busy, and no time was left to wait: others took "
    assert waited(clock.slow_look, 1.5)[1] == [f"{told_of_it}0.8 of 2 cores, mostly python3 and cc1; {REMEDY}."]


def test_a_stop_request_knows_that_only_a_wait_is_under_way() -> None:
    stop, during = StopRequest(), list[bool]()

    def seen() -> Mapping[str, OthersLoad]:
        during.append(stop.waits)
        return {HERE: BUSY if len(during) < 3 else QUIET}

    waited(seen, 30.0, stop)
    assert during == [False, True, True]
    assert not stop.waits


def test_a_request_to_stop_ends_the_wait() -> None:
    stop = StopRequest()
    stop.ask()
    _, said = waited(look(BUSY), 600.0, stop)
    assert said == []


def test_nodes_that_cannot_be_asked_are_not_waited_for() -> None:
    def fails() -> Mapping[str, OthersLoad]:
        raise UnreachableError("node n1: it does not answer", "n1")

    assert waited(fails, 30.0)[1] == []
    assert waited(None, 30.0)[1] == []


def test_busy_nodes_are_named_those_that_are_busiest_first() -> None:
    nodes = {f"n{number}": OthersLoad(4, number / 2) for number in range(1, 6)}
    assert told(nodes) == "2.5 of 4 cores on n5; 2 of 4 cores on n4; 1.5 of 4 cores on n3; and more on 2 others"


@pytest.mark.parametrize(
    ("asked", "budget_s", "longest_s"),
    [("10%", 300.0, 30.0), ("10%", None, 0.0), ("0", 300.0, 0.0), ("2m", None, 120.0), ("2.5 %", 100.0, 2.5)],
)
def test_the_wait_is_a_time_or_a_part_of_the_budget(asked: str, budget_s: float | None, longest_s: float) -> None:
    assert longest_wait_s(asked, budget_s) == pytest.approx(longest_s)


def test_a_variable_stands_in_place_of_the_usual_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USUAL, "20%")
    assert longest_wait_s(USUAL_QUIET, 300.0) == pytest.approx(60.0)
    assert longest_wait_s("5%", 300.0) == pytest.approx(15.0)


@pytest.mark.parametrize("asked", ["", "ten", "x%", "-5s", "30", "-1", "2"])
def test_anything_else_is_refused_with_its_field_and_the_forms_that_may_be_written(asked: str) -> None:
    with pytest.raises(UsageError) as error:
        longest_wait_s(asked, 300.0)
    assert error.value.field == "wait_for_quiet"
    assert str(error.value).endswith("write a part such as 10%, a time such as 30s, or 0 for no wait")


def test_a_part_above_the_whole_is_refused() -> None:
    with pytest.raises(UsageError, match="100% of the budget at most"):
        longest_wait_s("101%", 300.0)


def test_a_wait_that_leaves_nothing_of_the_budget_is_refused() -> None:
    assert longest_wait_s("4m", 300.0, 300.0) == pytest.approx(240.0)
    with pytest.raises(UsageError, match="the wait is a part of the budget, which is 5 min: write a shorter time"):
        longest_wait_s("5m", 300.0, 300.0)


def test_the_variable_takes_half_of_a_budget_that_is_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USUAL, "1h")
    assert longest_wait_s(USUAL_QUIET, 300.0, 300.0) == pytest.approx(150.0)


def test_two_looks_tell_what_was_busy_and_whose_programs_took_most() -> None:
    assert parse_load(PRINTED) == OthersLoad(2, 1.8, ("python3", "xhpl of ada"))
    assert parse_load(PRINTED, own=frozenset({77})) == OthersLoad(2, 1.0, ("xhpl of ada",))


@given(st.text(max_size=200) | st.text("cpu 0123456789\n", max_size=200))
def test_whatever_a_node_prints_is_a_load_or_none(text: str) -> None:
    load = parse_load(text)
    assert load is None or 0 <= load.busy <= load.cores


def test_a_rank_of_ours_that_outlives_its_run_is_no_other_program(tmp_path: Path) -> None:
    assert parse_load(PRINTED.replace(" ada ", " = ")) == OthersLoad(2, 1.2, ("python3",))
    rank = tmp_path / "outlives"
    rank.symlink_to("/bin/sh")
    environment = {**os.environ, "HPLTUNE_JOB": "ours"}
    with subprocess.Popen([rank, "-c", "while :; do :; done"], env=environment) as outlives:
        try:
            seen = [others_on(None, [HERE], job)[HERE].programs for job in ("ours", "", "others")]
        finally:
            outlives.kill()
    assert ["outlives" in programs for programs in seen] == [False, True, True]


def test_this_machine_tells_its_load() -> None:
    load = others_on(None, [HERE])[HERE]
    assert 0 <= load.busy <= load.cores


@pytest.mark.parametrize("command", [("tune", "--budget", "5m"), ("blas",)], ids=["tune", "blas"])
def test_a_wrong_time_is_refused_before_anything_runs(hpltune: Run, command: Sequence[str]) -> None:
    said = hpltune.refused(*command, "--wait-for-quiet", "soon")
    assert "--wait-for-quiet soon: write a part such as 10%" in " ".join(said.split())


@pytest.mark.parametrize("command", ["tune", "blas"])
def test_a_wait_longer_than_the_budget_is_refused(hpltune: Run, command: str) -> None:
    refusal = hpltune.refused(command, "--budget", "0.001s", "--wait-for-quiet", "1h")
    said = " ".join(refusal.split())
    assert "--wait-for-quiet 1h: the wait is a part of the budget, which is 0.001 s" in said
