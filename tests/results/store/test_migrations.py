import json
import platform
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from present import present
from record_builders import START, begun, finished
from sqlalchemy import Engine, NullPool, create_engine, inspect

from results.errors import ResultsError, StoreWarning
from results.record import Invalidity, Kind, StudyNotes, ToldCaution, TrialState
from results.stats.ranking import rank
from results.store import migrations
from results.store.lease import Lease
from results.store.outbox import Reach, Totals
from results.store.schema import METADATA
from results.store.store import Store

DATA = Path(__file__).parents[1] / "data"
FILES = sorted(DATA.glob("schema-*.db"))
pytestmark = pytest.mark.filterwarnings("ignore::results.errors.StoreWarning")
ON_THIS_HOST = 8
"""The schema of a database whose processes ended on this host; those of others ran on a host that nobody has."""
TODAY = [name for name, _ in migrations.MIGRATIONS]


@pytest.fixture
def schema_1(tmp_path: Path) -> Path:
    """A copy of the database that the version of schema 1 wrote."""
    return Path(shutil.copy(DATA / "schema-1.db", tmp_path / "hpltune.db"))


@pytest.fixture
def written(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A copy of the database that the version of a schema wrote, opened by this one: `@of_schema(4)`."""
    path = Path(shutil.copy(DATA / f"schema-{request.param}.db", tmp_path / "hpltune.db"))
    if request.param == ON_THIS_HOST:
        made_on_this_host(path)
    with Store.open(path, create=False) as store:
        yield store


def of_schema(number: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("written", [number], indirect=True, ids=[f"schema {number}"])


def made_on_this_host(path: Path) -> None:
    """Give what runs an owner that ended with this host's boot before: of processes on other hosts nothing is known."""
    owner = str(Lease(platform.node(), "the boot before", 1, "1"))
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("studies", "trials"):
            connection.execute(f"UPDATE {table} SET owner = ? WHERE owner IS NOT NULL", (owner,))  # noqa: S608


def engine_of(place: str) -> Engine:
    kind, _, rest = place.partition("postgresql:")
    return create_engine(f"postgresql+psycopg:{rest}" if rest else f"sqlite:///{kind}", poolclass=NullPool)


def structure(path: Path | str) -> dict[str, object]:
    """Tables with their columns, keys and indexes."""
    inspector = inspect(engine_of(str(path)))
    return {
        table: (
            sorted((one["name"], str(one["type"]), one["nullable"]) for one in inspector.get_columns(table)),
            inspector.get_pk_constraint(table)["constrained_columns"],
            sorted(
                (key["constrained_columns"], key["referred_table"], key["options"])
                for key in inspector.get_foreign_keys(table)
            ),
            sorted((index["name"], index["column_names"]) for index in inspector.get_indexes(table)),
        )
        for table in inspector.get_table_names()
    }


def applied(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM hpltune_migrations ORDER BY number")]


def with_step(monkeypatch: pytest.MonkeyPatch, name: str, *statements: str) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, (name, statements)))


def test_migrations_make_the_tables_that_the_program_reads(place: str) -> None:
    METADATA.create_all(engine_of(place))
    described = structure(place)
    METADATA.drop_all(engine_of(place))
    Store.open(place).close()
    migrated = structure(place)
    del migrated[migrations.MARKER]
    assert migrated == described


def test_a_database_of_schema_1_is_read_and_goes_on(schema_1: Path) -> None:
    with Store.open(schema_1, create=False) as store:
        study = store.study("kronos")
        assert (study.engine, study.rpeak_gflops, study.price_usd) == ("one-at-a-time", 28.1, 2490.0)
        records = store.records("kronos", outputs=True)
        assert [record.state.value for record in records] == ["complete", "complete", "failed", "failed", "running"]
        assert [entry.median_gflops for entry in rank(records)] == [14.53, 12.74]
        assert {(record.part, record.session) for record in records} == {(1.0, 0)}
        best = records[1]
        assert best.hpl is not None
        assert best.hpl.words() | {"N": 12300, "NB": 180, "grid": "2x4", "BCAST": "1rM"} == best.hpl.words()
        assert best.observed is not None
        assert best.observed.hosts == ("kronos", "node-1")
        assert best.output.startswith("WR11C2R4")
        assert best.hpl_dat.startswith("HPLinpack benchmark input file")
        assert records[2].invalidity is Invalidity.CORRECTNESS
        assert records[2].gflops == 15.9
        assert records[3].kind is Kind.CONFIRMATION
        assert store.abandon_running("kronos", "killed") == 1
        store.finish(finished(store.begin(begun("kronos")), study="kronos"))
        assert len(store.records("kronos", states=[TrialState.COMPLETE])) == 3


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_older_database_is_copied_beside_itself_and_a_sentence_says_so(file: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(file, tmp_path / "hpltune.db"))
    before = list(content(path))
    schema = len(applied(path))
    copy = tmp_path / f"hpltune.db.schema-{schema}"
    sentence = (
        f"database {path}: schema {schema} became schema {len(TODAY)}, which an older hpltune cannot read; "
        f"the database as it was before is {copy}"
    )
    with pytest.warns(StoreWarning, match=f"^{re.escape(sentence)}$"):
        Store.open(path, create=False).close()
    assert sorted(tmp_path.iterdir()) == [path, copy]
    assert list(content(copy)) == before
    assert applied(path) == TODAY
    Store.open(tmp_path / "new.db").close()
    assert structure(path) == structure(tmp_path / "new.db")


def test_the_copy_has_what_a_writer_left_in_the_log_and_replaces_no_earlier_copy(schema_1: Path) -> None:
    schema_1.with_name("hpltune.db.schema-1").write_text("an earlier copy")
    with closing(sqlite3.connect(schema_1)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE studies SET engine = 'grid'")
        writer.commit()
        assert schema_1.with_name("hpltune.db-wal").stat().st_size
        Store.open(schema_1).close()
    assert schema_1.with_name("hpltune.db.schema-1").read_text() == "an earlier copy"
    with closing(sqlite3.connect(schema_1.with_name("hpltune.db.schema-1.2"))) as copy:
        assert copy.execute("SELECT engine FROM studies").fetchall() == [("grid",)]


@pytest.mark.filterwarnings("error")
def test_a_new_database_and_one_of_today_are_not_copied(tmp_path: Path) -> None:
    Store.open(tmp_path / "hpltune.db").close()
    Store.open(tmp_path / "hpltune.db").close()
    assert [file.name for file in tmp_path.iterdir()] == ["hpltune.db"]


def content(path: Path) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as connection:
        yield from connection.iterdump()


def test_opening_again_applies_nothing_twice(schema_1: Path) -> None:
    Store.open(schema_1).close()
    before = schema_1.read_bytes()
    Store.open(schema_1).close()
    assert schema_1.read_bytes() == before
    assert applied(schema_1) == TODAY


def test_a_pending_migration_is_applied_and_noted(schema_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_step(monkeypatch, "m999_notes", "ALTER TABLE trials ADD COLUMN note TEXT")
    with Store.open(schema_1) as store:
        assert len(store.records("kronos")) == 5
    assert applied(schema_1) == [*TODAY, "m999_notes"]


def test_a_migration_that_fails_leaves_nothing_behind(schema_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ("ALTER TABLE trials ADD COLUMN note TEXT", "DELETE FROM studies", "UPDATE no_such_table SET x = 1")
    Store.open(schema_1).close()
    before = structure(schema_1)
    with_step(monkeypatch, "m999_broken", *broken)
    with pytest.raises(ResultsError, match="no such table: no_such_table"):
        Store.open(schema_1)
    monkeypatch.undo()
    assert structure(schema_1) == before
    with Store.open(schema_1) as store:
        assert len(store.records("kronos")) == 5


def test_a_newer_database_is_refused_and_unchanged(schema_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_step(monkeypatch, "m999_of_the_future", "ALTER TABLE trials RENAME COLUMN gflops TO tflops")
    Store.open(schema_1).close()
    monkeypatch.undo()
    before = schema_1.read_bytes()
    sentence = (
        rf"{schema_1} was written by a newer hpltune \(its schema is {len(TODAY) + 1}, this hpltune knows up to "
        rf"{len(TODAY)}\): update hpltune, or give another with ⟦db⟧"
    )
    with pytest.raises(ResultsError, match=sentence):
        Store.open(schema_1)
    assert schema_1.read_bytes() == before


@of_schema(2)
def test_a_database_of_schema_2_knows_how_much_of_a_full_run_a_trial_was(written: Store) -> None:
    full, small, prefix = written.records("ladder")
    assert [record.kind for record in (full, small, prefix)] == [Kind.SEARCH, Kind.SMALL, Kind.PREFIX]
    assert [record.part for record in (full, small, prefix)] == [1.0, 0.35, 0.05]
    assert [record.session for record in (full, small, prefix)] == [0, 0, 1]
    assert len(rank([full, small, prefix])) == 1


@of_schema(3)
def test_a_database_of_schema_3_knows_how_hosts_were_and_what_was_measured(written: Store) -> None:
    (original,) = written.network.originals()
    assert (original.key, original.value, original.ssh) == (("h2", "eth0", "mtu", ""), "1500", ("ssh", "-F", "lab"))
    (probe,) = written.network.probes("tuned")
    assert (probe.latency_us, probe.settings, probe.points[0]) == (29.0, {"mtu": 9000}, (1, 29.0))
    assert len(written.network.probes()) == 2


@of_schema(4)
def test_a_database_of_schema_4_knows_whose_a_running_trial_is(written: Store) -> None:
    written.join("shared")
    assert written.abandon_running("shared", "killed") == 0, "whether processes of other hosts live cannot be seen"
    assert [record.state.value for record in written.records("shared")] == ["complete", "running"]


@of_schema(4)
def test_a_run_that_schema_4_stored_as_given_up_by_its_reason_alone_is_of_that_kind(written: Store) -> None:
    given_up, prefix = written.records("ladder")
    assert (given_up.kind, prefix.kind) == (Kind.GIVEN_UP, Kind.PREFIX)
    assert given_up.reason.startswith("given up after 30% of its columns: at most 61.2 GFLOPS")


@of_schema(5)
def test_a_database_of_schema_5_takes_campaigns(written: Store) -> None:
    assert [study.name for study in written.studies()] == ["before-the-service"]
    assert written.queue.find("before-the-service") is None


@of_schema(6)
def test_a_database_of_schema_6_takes_checks_of_nodes(written: Store) -> None:
    assert present(written.queue.find("waits")).order.document == {"kind": "tune", "space": "quick"}
    assert [row.noted.target for row in written.audit.newest(5)] == ["waits"]
    assert written.node_checks.lines() == []


@of_schema(8)
def test_a_database_of_schema_8_tells_how_its_campaigns_stand(written: Store) -> None:
    stands = {name: written.outbox.standing(name) for name in ("complete", "running", "failed", "waits")}
    states = {"complete": "complete", "running": "killed", "failed": "failed", "waits": "queued"}
    assert {name: event.state for name, event in stands.items()} == states
    assert {event.totals for name, event in stands.items() if name != "waits"} == {Totals(2, 0, 6.5, 72.0, 1)}
    assert stands["running"].running == [3, 4]
    assert written.outbox.reach(0, "complete") is Reach.PRUNED
    assert written.abandon_running("running", "killed") == 2
    *_, one, other = written.outbox.after(0, written.outbox.last_id())
    assert (one.totals, other.totals) == (Totals(3, 1, 6.5, 72.0, 1), Totals(4, 2, 6.5, 72.0, 1))


@of_schema(8)
def test_of_trials_of_schema_8_nothing_was_measured(written: Store) -> None:
    assert [before.measurements for before in written.records("complete")] == [{}, {}]
    number = written.begin(begun("complete"))
    written.finish(replace(finished(number, study="complete"), measurements={"package_power_w": 41.5}))
    assert written.get("complete", number).measurements == {"package_power_w": 41.5}


def test_schedules_of_schema_10_are_named_when_they_leave(tmp_path: Path) -> None:
    """The asset is what the version of schema 10 wrote."""
    path = Path(shutil.copy(DATA / "schema-10.db", tmp_path / "hpltune.db"))
    sentence = "schedules hand in nothing any more: weekly (every monday at 06:00 UTC); let cron or a timer of systemd"
    with pytest.warns(StoreWarning, match=f"^{re.escape(sentence)}"):
        Store.open(path, create=False).close()
    with Store.open(path, create=False) as store:
        assert [run.measurements for run in store.records("measured")] == [{"package_power_w": 41.5}]
        assert store.queue.find("waits") is not None


@of_schema(11)
def test_originals_of_schema_11_are_of_unknown_machines_and_nobody_is_told_of_its_campaigns(written: Store) -> None:
    left = written.network.originals()
    assert [(one.host, one.setting, one.value, one.machine, one.boot) for one in left] == [
        ("h1", "mtu", "9000", "", ""),
        ("h2", "mtu", "1500", "", ""),
    ]
    (kept,) = written.network.remember([replace(left[0], value="3000", machine="a" * 32, boot="b" * 32)])
    assert kept == left[0]
    written.network.forget([one.key for one in left])
    assert written.network.originals() == []
    assert present(written.queue.find("monday")).state == "done"
    assert written.untold.take() is None


@of_schema(13)
def test_a_database_of_schema_13_has_notes_of_its_study(written: Store) -> None:
    study, cautions = written.study("noted"), (ToldCaution("node n2 is slow", START),)
    assert study.host.keys() == {"cpu", "cores", "memory_bytes"}
    assert study.notes.disturbed.startswith("2 of 2 runs were disturbed: other programs took CPU time in 2 (")
    noted = StudyNotes("with jumbo frames", ("new",), cautions=cautions, disturbed=study.notes.disturbed)
    assert study.notes == replace(noted, nodes_lost=("n2",), nodes_left=1, noise_at_first=0.0125)


def test_notes_of_schema_13_leave_the_facts_of_the_machine(schema_1: Path) -> None:
    told, later = START.isoformat(), {"at": START.isoformat(), "about": "other programs"}
    host = {
        "cores": 2, "note": "with jumbo frames", "tag new": True, "tag old": False, "like": "one#2",
        "caution node n2 is slow": told, "caution the machine is busy": later, "caution of nobody knows when": None,
        "disturbed_runs": {"runs": 4, "sentence": "2 of 4 runs were disturbed."}, "nodes_lost": ["n2"], "nodes_left": 3,
        "reference trial 3": {"runs": 4, "moved": -0.08}, "reference trial 7": None, "reference trial 9": {"runs": 4},
        "cannot have NB = 96": {"NB": 96}, "simulated_opening": [[{"NB": 96}, 7.5]], "small_n_told": 1856,
        "dgemm_half_nb": 13.5, "whole_memory": None, "noise_at_first": "loud",
        "dgemm_gflops_by_blas": {"blis": 40.0, "mkl": None}, "two_speeds_apart": 0.0,
    }  # fmt: skip
    with closing(sqlite3.connect(schema_1)) as connection, connection:
        (name,) = connection.execute("SELECT name FROM studies").fetchone()
        connection.execute("UPDATE studies SET host = ? WHERE name = ?", (json.dumps(host), name))
    with Store.open(schema_1) as store:
        study = store.study(name)
    assert study.host == {"cores": 2}
    busy = ToldCaution("the machine is busy", START, "other programs")
    assert study.notes == StudyNotes(
        note="with jumbo frames", tags=("new",), like="one#2", disturbed="2 of 4 runs were disturbed",
        cautions=(ToldCaution("node n2 is slow", START), busy, ToldCaution("of nobody knows when")),
        nodes_lost=("n2",), nodes_left=3, machine_changes={"3": (4, -0.08)}, small_n_told=1856, dgemm_half_nb=13.5,
        dgemm_gflops_by_blas={"blis": 40.0}, cannot_have=({"NB": 96},), simulated_opening=(({"NB": 96}, 7.5),),
    )  # fmt: skip
