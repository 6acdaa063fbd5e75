"""`hpltune import FILE.db`: the studies of another database are copied, and the other database stays as it is."""

import hashlib
import shutil
from pathlib import Path

import pytest
from record_builders import a_study, begun, finished
from report_reading import as_json

from results.errors import ResultsError
from results.record import TrialState
from results.report.model import Report, Sentence
from results.store.store import Store
from tuner.commands.stored.import_outputs import import_database, is_database
from tuner.errors import UsageError

SCHEMAS = Path(__file__).parents[3] / "results/data"


def a_database(path: Path, *names: str, gflops: float = 75.5) -> Path:
    with Store.open(path) as other:
        for name in names:
            other.create_study(a_study(name))
            number = other.begin(begun(study=name))
            other.finish(finished(number, gflops, study=name))
            other.end_study(name, "complete")
    return path


def said(result: Report) -> list[str]:
    return [part.text for part in result.parts if isinstance(part, Sentence)]


def test_studies_are_copied_with_their_trials_and_outputs(store: Store, home: Path) -> None:
    other = a_database(home / "other.db", "one", "two")
    result = import_database(store, other)
    assert said(result) == ["Copied study one with 1 trial.", "Copied study two with 1 trial."]
    with Store.open(other) as source:
        assert store.records("two", outputs=True) == source.records("two", outputs=True)
        assert store.study("two") == source.study("two")


def test_importing_again_copies_nothing_even_after_a_rename(store: Store, home: Path) -> None:
    other = a_database(home / "other.db", "one")
    import_database(store, other)
    store.rename_study("one", "uno")
    result = import_database(store, other)
    facts = as_json(result)
    assert (facts["copied"], [one["stored_as"] for one in facts["known"]]) == ([], ["uno"])
    assert "here already" in said(result)[0]
    assert len(store.studies()) == 1


def test_a_name_that_is_taken_gets_a_number(store: Store, home: Path) -> None:
    import_database(store, a_database(home / "first.db", "one", gflops=60.0))
    second = a_database(home / "second.db", "one", gflops=70.0)
    result = import_database(store, second)
    assert said(result) == ["Copied study one with 1 trial, called one-1 here because that name was taken."]
    assert [record.gflops for record in store.records("one-1")] == [70.0]
    assert as_json(import_database(store, second))["copied"] == []


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
def test_an_older_schema_is_migrated_on_a_copy(store: Store, home: Path, schema: int) -> None:
    older = Path(shutil.copy(SCHEMAS / f"schema-{schema}.db", home))
    before = hashlib.sha256(older.read_bytes()).hexdigest()
    assert as_json(import_database(store, older))["copied"]
    assert hashlib.sha256(older.read_bytes()).hexdigest() == before
    assert {path.name for path in home.iterdir()} == {"data", older.name}


def test_what_was_running_is_not_running_in_the_copy(store: Store, home: Path) -> None:
    with Store.open(home / "busy.db") as other:
        other.create_study(a_study("busy"))
        other.begin(begun(study="busy"))
        import_database(store, home / "busy.db")
    assert store.study("busy").state == "interrupted"
    (record,) = store.records("busy")
    assert (record.state, record.reason) == (TrialState.FAILED, "it was running when its database was imported")


def test_a_database_of_another_program_and_ones_own_are_refused(store: Store, home: Path) -> None:
    import sqlite3

    other = sqlite3.connect(home / "foreign.db")
    other.execute("CREATE TABLE birds (name TEXT)")
    other.close()
    with pytest.raises(ResultsError, match="is not a database of hpltune"):
        import_database(store, home / "foreign.db")
    with pytest.raises(UsageError, match="is the database that would be written"):
        import_database(store, Path(store.place))
    (home / "text.db").write_text("no database")
    assert not is_database(home / "text.db")
