"""Checks of nodes are read as they were kept, and each cluster has a baseline."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from node_check_builders import FIRST_DAY, a_check, any_kept, kept
from sqlalchemy import update
from store_contract import MANY

from results.errors import ResultsError
from results.node_check import NodeRun
from results.store.node_checks import KeptCheck, NodeCheckState
from results.store.schema import NODE_CHECKS
from results.store.store import Store


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with Store.open(place) as store:
        yield store


@pytest.mark.heavy
@MANY
@given(told=any_kept)
def test_any_check_is_read_as_it_was_kept(store: Store, told: KeptCheck) -> None:
    assert store.node_checks.read(store.node_checks.add(told)) == told


def test_further_runs_stand_behind_those_that_are_kept(store: Store) -> None:
    known = kept()
    number = store.node_checks.add(known)
    further = tuple(replace(run, reason="again") for run in known.check.runs)
    store.node_checks.add_runs(number, further, len(known.check.runs) + 1)
    store.node_checks.add_runs(number, (), 9)
    assert store.node_checks.read(number).check == replace(known.check, runs=(*known.check.runs, *further))


def test_checks_are_listed_newest_first_and_by_cluster(store: Store) -> None:
    checks = store.node_checks
    later = checks.add(kept(a_check(checked_at=FIRST_DAY + timedelta(days=1)), ready=False))
    earlier = checks.add(kept())
    other = checks.add(kept(a_check("attic"), campaign="nightly"))
    assert [line.number for line in checks.lines()] == [later, other, earlier]
    assert [line.number for line in checks.lines("lab")] == [later, earlier]
    assert [line.number for line in checks.lines(count=1, before=later)] == [other]
    assert [line.number for line in checks.lines(campaign="nightly")] == [other]
    line = checks.lines("lab")[0]
    assert (line.nodes, line.ready, line.alike, line.findings) == (2, False, True, ("node2 is slow",))


def test_a_running_check_grows(store: Store) -> None:
    begun = kept(replace(a_check(), runs=(), pairs=()), state=NodeCheckState.RUNNING)
    number = store.node_checks.add(begun)
    assert store.node_checks.read(number) == begun
    store.node_checks.replace(number, kept())
    assert store.node_checks.read(number) == kept()


def test_the_baseline_is_the_oldest_sound_check_unless_people_mark_another(store: Store) -> None:
    checks = store.node_checks
    assert checks.baseline_of("lab") is None
    days = [a_check(checked_at=FIRST_DAY + timedelta(days=day)) for day in range(5)]
    checks.add(kept(days[0], ready=False))
    checks.add(kept(days[1], alike=False))
    checks.add(kept(days[2], state=NodeCheckState.INTERRUPTED))
    fourth, fifth = checks.add(kept(days[4])), checks.add(kept(days[3]))
    checks.add(kept(a_check("attic")))
    assert checks.baseline_of("lab") == fifth
    assert checks.mark_baseline(fourth).baseline
    assert checks.baseline_of("lab") == fourth
    checks.mark_baseline(fifth)
    assert [line.number for line in checks.lines() if line.baseline] == [fifth]


def test_a_check_of_an_older_version_with_a_burn_in_and_runs_of_hpcc_is_read(store: Store) -> None:
    told = kept(a_check(runs=(NodeRun("fft-1", "node1", 1.4), NodeRun("random-access-1", "node1", 0.03))))
    number = store.node_checks.add(told)
    with store.node_checks.database.writing() as connection:
        connection.execute(
            update(NODE_CHECKS).values(more='{"soak": [{"node": "node1", "at_s": 60.0, "gflops": 75.0}]}')
        )
    assert store.node_checks.read(number) == told
    assert set(store.node_checks.read(number).check.results()) == {"fft-1", "random-access-1"}


def test_a_check_that_is_not_there_is_told(store: Store) -> None:
    for ask in (store.node_checks.read, store.node_checks.line, store.node_checks.mark_baseline):
        with pytest.raises(ResultsError, match="there is no check 7 of nodes: `hpltune nodes list` shows all"):
            ask(7)
