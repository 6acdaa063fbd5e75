"""`docs/database.md` says what the database really is."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from results.record import SMALLER_RUNS, Invalidity, Kind, TrialState
from results.store.migrations import MARKER, MIGRATIONS
from results.store.schema import METADATA
from results.store.store import Store
from tuner.commands.stored.export import export_study

PAGE = (Path(__file__).parents[3] / "docs" / "database.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"```sql\n(.*?)```\n\n((?:\|[^\n]*\n?)+)", re.DOTALL)
SCHEMA_1 = Path(__file__).parents[1] / "data" / "schema-1.db"
pytestmark = pytest.mark.filterwarnings("ignore::results.errors.StoreWarning")


def section(table: str) -> str:
    return PAGE.split(f"### `{table}`")[1].split("\n#")[0]


@pytest.fixture(params=[(), tuple(SMALLER_RUNS)], ids=["as it is", "with runs that are less than full ones"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The page's database, also with smaller runs of its best configuration, each faster than a full one."""
    path = Path(shutil.copy(SCHEMA_1, tmp_path / "hpltune.db"))
    with closing(sqlite3.connect(path)) as connection, connection:
        for number, kind in enumerate(request.param, start=10):
            connection.execute("CREATE TEMP TABLE smaller AS SELECT * FROM trials WHERE number = 2")
            connection.execute("UPDATE smaller SET number = ?, kind = ?, gflops = 20.0, params = '{}'", (number, kind))
            connection.execute("INSERT INTO trials SELECT * FROM smaller")
            connection.execute("DROP TABLE smaller")
    return path


@pytest.mark.parametrize("example", EXAMPLE.findall(PAGE), ids=range(PAGE.count("```sql")))
def test_an_example_gives_what_the_page_shows(example: tuple[str, str], database: Path) -> None:
    query, shown = example
    with closing(sqlite3.connect(database)) as connection:
        cursor = connection.execute(query)
        names = [column[0] for column in cursor.description]
        rows = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in (names, *cursor)]
    head, *answers = rows
    assert shown.strip().splitlines() == [head, "|" + "---|" * len(names), *answers]


def test_the_example_in_pandas_prints_what_the_page_shows(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [(code, printed)] = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(database.parent)
    with Store.open("hpltune.db") as store:
        Path("kronos.csv").write_text("".join(export_study(store, "csv", "kronos")), encoding="utf-8")
    exec(code, {})  # noqa: S102 - our own page
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("table", METADATA.tables)
def test_every_column_is_described(table: str) -> None:
    described = set(re.findall(r"`(\w+)`", section(table)))
    assert {column.name for column in METADATA.tables[table].columns} <= described


@pytest.mark.parametrize("word", [*Kind, *TrialState, *Invalidity])
def test_every_word_of_an_enumeration_is_named(word: str) -> None:
    assert f"`{word}`" in section("trials")


def test_the_version_of_the_schema_is_the_current_one() -> None:
    assert f"the schema's version, now {len(MIGRATIONS)}." in section(MARKER)
