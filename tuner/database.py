"""What `--db` names: a file of SQLite or a URL of PostgreSQL; without it the user's own file."""

import os
import shlex
from hashlib import sha256
from pathlib import Path

from results.store.store import Store

from .user_dirs import UserDirs


def open_store(db: str | None, places: UserDirs, *, create: bool = True) -> Store:
    """The store at `db`, or the user's own.

    Raises:
        ResultsError: as `Store.open`.
    """
    return Store.open(places.database if db is None else db, create=create)


def db_option(db: str | None, store: Store) -> str:
    """What a printed command needs to find the same store again: " --db …" without a password, or ""."""
    return "" if db is None else f" --db {shlex.quote(store.place)}"


def folder_of(kind: str, store: Store, places: UserDirs) -> Path:
    """Where the "runs" or the "best" files of a store's studies are: two stores may have studies of one name."""
    place = store.place if "://" in store.place else str(Path(store.place).resolve())
    if place == str(places.database.resolve()):
        return places.data / kind
    return places.data / kind / f"{Path(place).stem}-{sha256(os.fsencode(place)).hexdigest()[:8]}"
