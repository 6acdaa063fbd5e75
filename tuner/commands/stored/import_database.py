"""`hpltune import FILE.db`: copies the studies of another database of hpltune."""

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from results.report.model import Report, Sentence
from results.store.store import Store

from ...errors import TunerError, UsageError
from ...study.names import free_name
from ...words import counted, listed

MAGIC = b"SQLite format 3\0"
"""How every SQLite file begins."""


@dataclass(frozen=True)
class CopiedStudy:
    """A study of the other database.

    Attributes:
        study: its name there; `stored_as` its name here.
        trials: how many were copied; 0 where the study was here before.
    """

    study: str
    stored_as: str
    trials: int


@dataclass(frozen=True)
class MergeResult:
    """What was copied, and what was here before."""

    source: str
    copied: Sequence[CopiedStudy]
    known: Sequence[CopiedStudy]

    def report(self) -> Report:
        """Report each study."""
        said = []
        for one in self.copied:
            name = f", called {one.stored_as} here because that name was taken" * (one.study != one.stored_as)
            said.append(f"Copied study {one.study} with {counted(one.trials, 'trial')}{name}.")
        if self.known:
            names = listed([one.study for one in self.known])
            said.append(f"{names}: here already with the same content, and not copied again.")
        if not said:
            said.append(f"{self.source} holds no study.")
        facts = {"copied": [asdict(one) for one in self.copied], "known": [asdict(one) for one in self.known]}
        return Report("Import", tuple(map(Sentence, said)), facts)


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def import_database(store: Store, path: Path) -> MergeResult:
    """Copy each study that is not here; nothing of the other database is changed, also if its schema is older.

    Raises:
        ResultsError: it is no database of hpltune, or one of a newer version.
        TunerError: it cannot be read.
    """
    if Path(store.place).resolve() == path.resolve():
        raise UsageError(f"{path} is the database that would be written: name another one")
    copied, known = [], []
    with _snapshot(path) as snapshot, Store.open(snapshot, create=False) as other:
        here = store.imports.digests()
        taken = {study.name for study in store.studies()}
        for digest, name in other.imports.digests().items():
            if digest in here:
                known.append(CopiedStudy(name, here[digest], 0))
                continue
            new_name = free_name(store, name) if name in taken else name
            taken.add(new_name)
            copied.append(CopiedStudy(name, new_name, other.imports.copy_to(store.imports, name, new_name)))
    return MergeResult(str(path), copied, known)


@contextmanager
def _snapshot(path: Path) -> Iterator[Path]:
    """Copy a database into a folder that lives as long as the block."""
    with TemporaryDirectory(prefix="hpltune-") as folder:
        copy = Path(folder) / "other.db"
        log = path.with_name(path.name + "-wal")
        try:
            if log.exists() and log.stat().st_size:
                address = f"file:{quote(str(path.resolve()))}?mode=ro"
                with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
                    source.backup(target)
            else:
                shutil.copyfile(path, copy)
        except (OSError, sqlite3.Error) as error:
            raise TunerError(f"{path} cannot be read: {error}") from error
        yield copy
