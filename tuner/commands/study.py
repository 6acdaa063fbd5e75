"""`hpltune study`: deletes and renames stored studies."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from results.errors import StudyBusyError
from results.store.store import Store

from ..database import folder_of
from ..errors import TunerError
from ..provision.consent import agreed
from ..study.names import check_name
from ..study.run_folders import study_folder
from ..user_dirs import UserDirs
from ..words import counted

KINDS = ("runs", "best")
"""Of folders that a study has."""


def delete_studies(console: Console, store: Store, places: UserDirs, names: Sequence[str], *, assume_yes: bool) -> int:
    """Delete studies with their trials and the folders of their runs on this host, all of them or none.

    Returns:
        0, or 1 where the user says no.

    Raises:
        TunerError: a folder cannot be removed, or nobody can be asked.
        ResultsError: there is no such study, or somebody works on it.
    """
    names = list(dict.fromkeys(names))
    for name in names:
        _idle(store, name)
        console.print(f"Study {name}: {counted(store.count(name), 'trial')}", soft_wrap=True)
    folders = [folder for name in names for folder in folders_of(store, places, name) if folder.exists()]
    for folder in folders:
        console.print(f"  {folder}", soft_wrap=True)
    if not (assume_yes or agreed("Delete this for good?")):
        console.print("Nothing was deleted.")
        return 1
    store.delete_study(*names)
    for folder in folders:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise TunerError(f"the study is deleted, its folder {folder} remains ({error.strerror})") from error
    console.print("Deleted. Folders of runs on other hosts, and files written with --out, remain.")
    return 0


def rename_study(console: Console, store: Store, places: UserDirs, old: str, new: str) -> None:
    """Give a study another name; the folders of its runs on this host get it, too.

    Raises:
        TunerError: the new name cannot be one, or a folder of it is there already.
        ResultsError: there is no such study, somebody works on it, or the new name is taken.
    """
    check_name(new, "study rename")
    _idle(store, old)
    moving = [
        (before, after)
        for before, after in zip(folders_of(store, places, old), folders_of(store, places, new), strict=True)
        if before.exists() and before != after
    ]
    for _, after in moving:
        if after.exists():
            raise TunerError(
                f"there is a folder {after} already, of an earlier study: remove it, or choose another name"
            )
    runs = folder_of(KINDS[0], store, places)
    moved = next(((f"{before}/", f"{after}/") for before, after in moving if before.parent == runs), None)
    store.rename_study(old, new, moved)
    for before, after in moving:
        try:
            before.rename(after)
        except OSError as error:
            raise TunerError(
                f"the study is called {new} now, but {before} cannot be moved to {after} ({error.strerror})"
            ) from error
    console.print(f"Study {old} is called {new} now.")


def folders_of(store: Store, places: UserDirs, name: str) -> list[Path]:
    """Where the runs of a study and its best files are on this host, if they are here."""
    return [folder_of(kind, store, places) / study_folder(name) for kind in KINDS]


def _idle(store: Store, name: str) -> None:
    """Refuse a study that is being worked on."""
    for lease in store.others(name):
        raise StudyBusyError(
            f"study {name} is being run by process {lease.pid} on {lease.host}: wait for it, or end it there"
        )
