"""What is stored of networks: originals outlive everything but their being put back."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from record_builders import a_study
from settings_builders import a_probe, an_original

from results.errors import ResultsError
from results.store.lease import Lease
from results.store.store import Store

MINE = str(Lease.mine())
LIVING = str(Lease.of(1))
"""Process 1 always lives, and is never this one."""


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with Store.open(place) as store:
        yield store


def test_originals_are_kept_until_they_are_put_back(store: Store) -> None:
    both = [an_original(), an_original(setting="tso", value="on")]
    assert store.network.remember(both) == both
    assert store.network.originals() == both
    store.network.forget([both[0].key])
    assert store.network.originals() == [both[1]]


def test_a_value_left_by_a_killed_process_is_the_original_not_the_one_found_now(store: Store) -> None:
    store.network.remember([an_original(value="1500")])
    (kept,) = store.network.remember([an_original(value="9000", owner=MINE)])
    assert kept.value == "1500"
    assert [(left.value, left.owner) for left in store.network.originals()] == [("1500", MINE)]


def test_machines_of_one_name_have_originals_of_their_own(store: Store) -> None:
    both = [
        replace(an_original(value=value), machine=digit * 32, boot="b" * 32)
        for digit, value in (("1", "1500"), ("2", "9000"))
    ]
    assert store.network.remember(both) == both
    assert store.network.remember([replace(both[1], value="3")]) == [both[1]]
    store.network.forget([both[0].key])
    assert store.network.originals() == [both[1]]


def test_what_another_living_process_changed_is_refused_and_nothing_is_stored(store: Store) -> None:
    store.network.remember([an_original(owner=LIVING)])
    with pytest.raises(ResultsError, match="the network of h2 is being tuned by process 1 on "):
        store.network.remember([an_original(host="h1", owner=MINE), an_original(owner=MINE)])
    assert [left.host for left in store.network.originals()] == ["h2"]


def test_a_deleted_study_leaves_the_originals_of_its_hosts_and_takes_its_measurements(store: Store) -> None:
    store.create_study(a_study("tuned"))
    store.network.remember([an_original()])
    store.network.add_probe(a_probe("tuned"))
    store.network.add_probe(a_probe())
    store.delete_study("tuned")
    assert store.network.originals() == [an_original()]
    assert store.network.probes() == [a_probe()]


def test_measurements_are_read_as_they_were_stored(store: Store) -> None:
    store.create_study(a_study("tuned"))
    numbers = [store.network.add_probe(probe) for probe in (a_probe("tuned"), replace(a_probe(), interface="ib0"))]
    assert numbers == [1, 2]
    assert store.network.probes("tuned") == [a_probe("tuned")]
    assert [probe.interface for probe in store.network.probes()] == ["eth0", "ib0"]
