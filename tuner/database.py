"""What `--db` names: a file of SQLite or a URL of PostgreSQL; without it the user's own file."""

import os
import shlex
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from results.store.store import Store

from .user_dirs import UserDirs


def open_store(
    db: str | None, places: UserDirs, *, create: bool = True, on_new_folder: Callable[[str], None] = lambda _: None
) -> Store:
    """The store at `db`, or the user's own.

    Args:
        on_new_folder: told the sentence that a folder was made for the database.

    Raises:
        ResultsError: as `Store.open`.
    """
    if db is None:
        return Store.open(places.database, create=create)
    folder = None if "://" in db else Path(db).parent
    new = create and folder is not None and not folder.exists()
    store = Store.open(db, create=create)
    if new:
        on_new_folder(f"{folder} was not there; it is made for the database")
    return store


def db_option(store: Store) -> str:
    """What a printed command needs to find a store again: " --db …" without a password, "" for the user's own."""
    own = store.place == str(UserDirs.of_user(to_read=True).database)
    return "" if own else f" ⟦db⟧ {shlex.quote(store.place)}"


def folder_of(kind: str, store: Store, places: UserDirs) -> Path:
    """Where the "runs" or the "best" files of a store's studies are: two stores may have studies of one name."""
    place = store.place if "://" in store.place else str(Path(store.place).resolve())
    if place == str(places.database.resolve()):
        return places.data / kind
    return places.data / kind / f"{Path(place).stem}-{sha256(os.fsencode(place)).hexdigest()[:8]}"
