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


def db_option(db: str | None, store: Store) -> str:
    """What a printed command needs to find the same store again: " --db …" without a password, or ""."""
    return "" if db is None else f" ⟦db⟧ {shlex.quote(store.place)}"


def resume_command(name: str, store: Store, places: UserDirs) -> str:
    """The command that goes on with a study of a store, as it is printed."""
    db = None if store.place == str(places.database) else store.place
    return f"`hpltune tune ⟦resume⟧ ⟦study⟧ {shlex.quote(name)}{db_option(db, store)}`"


def folder_of(kind: str, store: Store, places: UserDirs) -> Path:
    """Where the "runs" or the "best" files of a store's studies are: two stores may have studies of one name."""
    place = store.place if "://" in store.place else str(Path(store.place).resolve())
    if place == str(places.database.resolve()):
        return places.data / kind
    return places.data / kind / f"{Path(place).stem}-{sha256(os.fsencode(place)).hexdigest()[:8]}"
