"""`hpltune study`: deletes, renames and trusts stored studies, and keeps notes and tags with them."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from results.errors import StudyExistsError
from results.record import MOST_NOTED, MOST_TAGS, TAG_WORD
from results.report.model import Report, Sentence
from results.store.store import Store

from ...database import folder_of
from ...errors import TunerError, UsageError
from ...reports.lists import noted_sentences
from ...study.names import check_name, study_folder
from ...study.trust import NamedProgram, TrustedPrograms, strange_programs
from ...user_dirs import UserDirs
from ...words import counted

KINDS = ("runs", "best")
"""Of folders that a study has."""


@dataclass(frozen=True)
class PlannedDeletion:
    """What would be deleted; nothing has been deleted yet.

    Attributes:
        trials: how many each study has.
        folders: of their runs and best files on this host.
    """

    trials: tuple[tuple[str, int], ...]
    folders: tuple[Path, ...]

    def report(self) -> Report:
        """Report the studies and the folders."""
        studies = [f"Study {name}: {counted(count, 'trial')}" for name, count in self.trials]
        lines = (*studies, *(f"  {folder}" for folder in self.folders))
        return Report("Delete studies", tuple(Sentence(line, unbroken=True) for line in lines))


def plan_deletion(store: Store, user_dirs: UserDirs, studies: Sequence[str]) -> PlannedDeletion:
    """Find what belongs to studies, before the user is asked.

    Raises:
        ResultsError: there is no such study, or somebody works on it.
    """
    names = list(dict.fromkeys(studies))
    for name in names:
        store.others(name, refused=True)
    folders = [folder for name in names for folder in folders_of(store, user_dirs, name) if folder.exists()]
    return PlannedDeletion(tuple((name, store.count(name)) for name in names), tuple(folders))


def delete_studies(store: Store, planned: PlannedDeletion) -> Report:
    """Delete studies with their trials and the folders of their runs on this host, all of them or none.

    Raises:
        TunerError: a folder cannot be removed.
        ResultsError: there is no such study any more, or somebody works on it.
    """
    store.delete_study(*(name for name, _ in planned.trials))
    for folder in planned.folders:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise TunerError(f"the study is deleted, its folder {folder} remains ({error.strerror})") from error
    done = "Deleted. Folders of runs on other hosts, and files written with ⟦out⟧, remain."
    return Report("Delete studies", (Sentence(done),), {"deleted": [name for name, _ in planned.trials]})


def rename_study(store: Store, user_dirs: UserDirs, old: str, new: str) -> Report:
    """Give a study another name; the folders of its runs on this host get it, too.

    Raises:
        TunerError: the new name cannot be one, or a folder of it is there already.
        ResultsError: there is no such study, somebody works on it, or the new name is taken.
    """
    check_name(new, what="study rename")
    store.others(old, refused=True)
    if store.queue.is_study(new):
        raise StudyExistsError(f"study {new} exists already: choose another name")
    moving = [
        (before, after)
        for before, after in zip(folders_of(store, user_dirs, old), folders_of(store, user_dirs, new), strict=True)
        if before.exists() and before != after
    ]
    for _, after in moving:
        if after.exists():
            raise TunerError(
                f"there is a folder {after} already, though no study of this database has that name: choose another "
                "name, or look at what is in it and move it away"
            )
    runs = folder_of(KINDS[0], store, user_dirs)
    moved = next(((f"{before}/", f"{after}/") for before, after in moving if before.parent == runs), None)
    store.rename_study(old, new, moved)
    for before, after in moving:
        try:
            before.rename(after)
        except OSError as error:
            raise TunerError(
                f"the study is called {new} now, but {before} cannot be moved to {after} ({error.strerror})"
            ) from error
    said = Sentence(f"Study {old} is called {new} now.")
    return Report("Rename a study", (said,), {"old": old, "new": new})


def note_study(
    store: Store, name: str, note: str | None = None, tags: Sequence[str] = (), *, remove: bool = False
) -> Report:
    """Keep a note or tags with a study, also while it runs, and tell what is kept with it now.

    Args:
        note: None leaves the one it has; "" removes it.
        tags: to set, or to remove.

    Raises:
        UsageError: the note is too long or no line of text, a word cannot be a tag, or there are too many.
        ResultsError: there is no such study.
    """
    note = None if note is None else _checked_note(note.strip())
    for word in tags:
        if not TAG_WORD.fullmatch(word):
            raise UsageError(f"{word[:60]!r} is no tag: a tag is one word of at most 40 letters, digits and . _ -")
    added = set() if remove else {*tags}
    if added and len({*store.study(name).notes.tags} | added) > MOST_TAGS:
        raise UsageError(f"a study has at most {MOST_TAGS} tags: take some away first")
    if tags or note is not None:
        store.note(
            name,
            lambda notes: replace(
                notes,
                note=notes.note if note is None else note,
                tags=tuple(sorted({*notes.tags} - {*tags} | added)),
            ),
        )
    study = store.study(name)
    lines = noted_sentences(study) or [f"Study {name} has neither a note nor tags."]
    facts = {"study": name, "note": study.notes.note, "tags": list(study.notes.tags)}
    return Report(f"Study {name}", tuple(map(Sentence, lines)), facts)


def _checked_note(note: str) -> str:
    if len(note) > MOST_NOTED:
        raise UsageError(f"the note has {len(note):,} characters: write at most {MOST_NOTED}")
    if not note.isprintable():
        raise UsageError("the note holds signs that no line of text has: write it in one line")
    return note


def folders_of(store: Store, user_dirs: UserDirs, name: str) -> list[Path]:
    """Where the runs of a study and its best files are on this host, if they are here."""
    return [folder_of(kind, store, user_dirs) / study_folder(name) for kind in KINDS]


@dataclass(frozen=True)
class PlannedTrust:
    """What a study would run that this user has not named; nothing is trusted yet."""

    user_dirs: UserDirs
    study: str
    programs: tuple[NamedProgram, ...]

    def report(self) -> Report:
        """Report what would run."""
        if not self.programs:
            said = f"All that study {self.study} would run, you have named yourself."
            return Report("Trust", (Sentence(said),), {"programs": []})
        lines = (f"Study {self.study} would run as you:", *(f"  {one}" for one in self.programs))
        facts = {"programs": [str(one) for one in self.programs]}
        return Report("Trust", tuple(Sentence(line, unbroken=True) for line in lines), facts)


def plan_trust(store: Store, user_dirs: UserDirs, study: str) -> PlannedTrust:
    """Find what a study would run, before the user is asked.

    Raises:
        ResultsError: there is no such study.
    """
    return PlannedTrust(user_dirs, study, tuple(strange_programs(store, user_dirs, store.study(study))))


def trust_study(planned: PlannedTrust) -> Report:
    """Let a study run what was shown."""
    TrustedPrograms(planned.user_dirs).note(planned.programs)
    said = f"Study {planned.study} may run these as you, until one of them is changed."
    return Report("Trust", (Sentence(said),), {"trusted": [str(one) for one in planned.programs]})
