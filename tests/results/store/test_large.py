"""Large studies pass through: what is read of them is as much as is shown."""

import sqlite3
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from record_builders import a_study, begun, finished
from record_strategies import outcomes
from sqlalchemy import event

from results.columns import COLUMNS, values_of
from results.errors import DamagedError, StoreWarning
from results.export.csv_lines import csv_parts
from results.record import Kind, TrialState
from results.stats.ranking import on_the_hosts_left, rank
from results.store import contenders
from results.store.store import Store


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with Store.open(place) as opened:
        opened.create_study(a_study())
        yield opened


def add(store: Store, gflops: float | None, **changes: object) -> None:
    key = str(changes.get("key", gflops))
    number = store.begin(begun(key=key))
    store.finish(replace(finished(number, gflops), **{"key": key, **changes}))  # type: ignore[arg-type]


def test_what_ranks_a_usual_study_is_all_of_its_full_runs(store: Store) -> None:
    for rate, changes in (
        (70.0, {}),
        (75.0, {"key": "70.0", "kind": Kind.CONFIRMATION}),
        (None, {"key": "70.0", "state": TrialState.FAILED, "passed": None}),
        (90.0, {"kind": Kind.SMALL}),
        (60.0, {"passed": False, "state": TrialState.FAILED}),
    ):
        add(store, rate, **changes)
    found = store.contenders("study")
    assert rank(found.records) == rank(store.records("study"))
    assert found.configurations == 1


def test_the_version_is_another_one_after_each_write_only(store: Store) -> None:
    before = store.lists.version()
    assert rank(store.contenders("study").records) == []
    assert store.lists.version() == before
    add(store, 70.0)
    assert store.lists.version() != before
    assert store.tallies("study")["study"].trials == store.lists.extent("study").last == 1


def test_of_a_cluster_that_lost_nodes_what_ran_on_those_left_is_ranked(store: Store) -> None:
    def hosts(*names: str) -> dict[str, object]:
        observed = finished(1).observed
        assert observed is not None
        return {"observed": replace(observed, hosts=names)}

    for rate, names in ((95.0, ("a", "b", "c")), (70.0, ("a", "b")), (60.0, ("a", "c"))):
        add(store, rate, **hosts(*names))
    found = rank(store.contenders("study").records)
    assert found == rank(on_the_hosts_left(store.records("study")))
    assert [entry.median_gflops for entry in found] == [70.0, 60.0]


def test_of_a_very_large_study_the_fastest_are_ranked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "CONTENDERS", 4)
    for rate in range(1, 11):
        add(store, float(rate), ranks=2 if rate > 5 else 1)
    found = store.contenders("study")
    assert [entry.median_gflops for entry in rank(found.records)] == [10.0, 9.0, 8.0, 7.0]
    assert found.configurations == 10
    of_each = store.contenders("study", of_each_size=True)
    assert [entry.median_gflops for entry in rank(of_each.records)] == [10.0, 9.0, 5.0, 4.0]


@pytest.mark.heavy
@given(record=outcomes())
def test_a_row_that_passes_through_says_what_the_record_says(
    tmp_path_factory: pytest.TempPathFactory, record: object
) -> None:
    with Store.open(tmp_path_factory.mktemp("row") / "one.db") as memory:
        memory.create_study(a_study())
        done = replace(record, study="study", number=memory.begin(begun()))  # type: ignore[type-var]
        memory.finish(done)  # type: ignore[arg-type]
        _, rows = memory.each_flat("study")
        [(values, params)] = rows
        [read] = memory.records("study")
        assert list(values.items()) == list(values_of(read, COLUMNS).items())
        assert params == read.params


def test_an_export_takes_no_more_memory_for_a_study_of_twice_the_size(tmp_path: Path) -> None:
    with Store.open(tmp_path / "hpltune.db") as store:
        peaks = []
        for size in (1_500, 3_000):
            name = f"of-{size}"
            store.create_study(a_study(name))
            fill(store, name, size)
            tracemalloc.start()
            more, rows = store.each_flat(name)
            lines = sum(part.count("\n") for part in csv_parts(more, rows))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert lines == size + 1
    assert peaks[1] < 1.3 * peaks[0]


def fill(store: Store, study: str, size: int) -> None:
    """Trials as the first one."""
    store.finish(finished(store.begin(begun(study)), study=study))
    with closing(sqlite3.connect(store.place)) as connection, connection:
        connection.execute("CREATE TEMP TABLE more AS SELECT * FROM trials WHERE study = ?", (study,))
        for number in range(2, size + 1):
            connection.execute("UPDATE more SET number = ?, key = ?", (number, str(number)))
            connection.execute("INSERT INTO trials SELECT * FROM more")


def test_a_page_of_a_large_study_reads_that_page_only(tmp_path: Path) -> None:
    fetched: list[str] = []
    with Store.open(tmp_path / "hpltune.db") as store:
        store.create_study(a_study())
        fill(store, "study", 250)

        @event.listens_for(store._database.engine, "before_cursor_execute")
        def _note(*facts: object) -> None:
            fetched.append(str(facts[2]))

        page = store.newest_records("study", 20, before=40)
    assert [record.number for record in page] == list(range(191, 211))
    assert all("LIMIT" in statement for statement in fetched if "FROM trials" in statement)


DAMAGE = {
    "params": "{broken",
    "versions": "[]",
    "params ": "null",
    "hosts": "17",
    "started_at": "yesterday",
    "kind": "dream",
    "BCAST": "pigeon",
    "NBMIN": None,
    "params  ": '{"N": [1]}',
    "measurements": '{"clock_mhz": null}',
}


@pytest.mark.parametrize(("column", "text"), DAMAGE.items())
def test_a_damaged_trial_is_named_and_the_others_stay_readable(tmp_path: Path, column: str, text: str | None) -> None:
    path = tmp_path / "hpltune.db"
    with Store.open(path) as store:
        store.create_study(a_study())
        for rate in (70.0, 75.0, 80.0):
            add(store, rate)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f'UPDATE trials SET "{column.strip()}" = ? WHERE number = 2', (text,))  # noqa: S608 - ours
    with Store.open(path) as store:
        with pytest.warns(StoreWarning, match=r"trial 2 of study study is damaged in .*; it is left out"):
            assert [record.number for record in store.records("study")] == [1, 3]
        with pytest.raises(DamagedError, match="trial 2 of study study is damaged in the database"):
            store.get("study", 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StoreWarning)
            assert [record.gflops for record in store.each("study")] == [70.0, 80.0]
            assert {entry.median_gflops for entry in rank(store.contenders("study").records)} >= {70.0, 80.0}
            assert len(list(store.each_flat("study")[1])) >= 2


def test_a_damaged_study_is_named_and_the_others_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "hpltune.db"
    with Store.open(path) as store:
        store.create_study(a_study())
        store.create_study(a_study("broken"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE studies SET host = '{\"cpu\"' WHERE name = 'broken'")
    with Store.open(path) as store:
        with pytest.raises(DamagedError, match=r"study broken is damaged in .*: its column host holds no JSON"):
            store.study("broken")
        with pytest.warns(StoreWarning, match="study broken is damaged"):
            assert [study.name for study in store.studies()] == ["study"]
