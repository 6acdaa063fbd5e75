"""Whose programs run here: those that the user of this process named, and none that only a shared database names.

A database that others can write may hold their command lines: for ssh, for HPL, files of libraries and of HPL's
source, and variables by which a program loads others; parameters by which MPI would start a program are refused
whoever names them. What a user names on a command line, or in a file, is noted with checksums in a file of the user's
own; what a database names besides runs only after `hpltune study trust`. A database that nobody else can write is
one's own.
"""

import json
import os
import shlex
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from results.record import Study
from results.store.store import Store
from runners.batch.registry import BATCH_SYSTEMS, batch_system
from runners.settings.sys import ENVIRONMENT
from search_spaces.errors import SpaceError
from search_spaces.load import entries, space_text

from ..errors import UsageError
from ..options import TuneOptions
from ..user_dirs import UserDirs
from ..words import listed

USUAL_SSH = ("ssh",)
OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""Rights of others to write a file."""


@dataclass(frozen=True)
class NamedProgram:
    """Something that is run, or changes what is run.

    Attributes:
        what: in words.
        command: its words, as a shell would read them.
    """

    what: str
    command: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.what} `{shlex.join(self.command)}`"

    @property
    def key(self) -> str:
        """What is noted of it: the words, and the checksums of those that are files."""
        return json.dumps([self.what, self.command, [_sum_of(word) for word in self.command]])


class TrustedPrograms:
    """What a user has named, in a file that nobody else can read."""

    def __init__(self, folders: UserDirs) -> None:
        self._file = folders.data / "trusted.json"

    def note(self, programs: Sequence[NamedProgram]) -> None:
        """Note what the user has named."""
        known = self._known()
        new = [one.key for one in programs if one.key not in known]
        if not new:
            return
        draft = self._file.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump([*known, *new], file, indent=1)
        draft.replace(self._file)

    def unknown(self, programs: Sequence[NamedProgram]) -> list[NamedProgram]:
        """What the user has not named, or what was changed since."""
        known = self._known()
        return [one for one in programs if one.key not in known]

    def _known(self) -> list[str]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def note_named(store: Store, folders: UserDirs, options: TuneOptions) -> None:
    """Note what a user names in the options of a new study, or beside those of a stored one."""
    if not is_own(store):
        named = entries(options.space, options.overrides, space_text(options.space))
        TrustedPrograms(folders).note([*programs_of(options), *_variables(named)])


def require_trusted(store: Store, folders: UserDirs, study: Study) -> None:
    """Refuse to run what only a shared database names.

    Raises:
        UsageError: the study names something that this user has not named.
    """
    strange = strange_programs(store, folders, study)
    if strange:
        raise UsageError(
            f"study {study.name} would run {listed([str(one) for one in strange])}, which you have not named yourself "
            f"and others can write in {store.place}: look at it, then "
            f"`hpltune study trust {shlex.quote(study.name)} ⟦db⟧ {shlex.quote(store.place)}` lets it run"
        )


def strange_programs(store: Store, folders: UserDirs, study: Study) -> list[NamedProgram]:
    """What a study of a shared database would run that this user has not named."""
    if is_own(store):
        return []
    options = TuneOptions.from_json(study.options)
    names = set(options.overrides or {}).union(*(record.params for record in store.records(study.name)))
    with suppress(SpaceError):  # what is no space runs nothing
        names.update(entries(study.space_name, None, study.space_text))
    return TrustedPrograms(folders).unknown([*programs_of(options), *_variables(names)])


def may_reach(store: Store, folders: UserDirs, ssh: tuple[str, ...]) -> bool:
    """Whether this user has named this way to reach hosts, or the database is nobody else's."""
    return ssh == USUAL_SSH or is_own(store) or not TrustedPrograms(folders).unknown([_ssh(ssh)])


def is_own(store: Store) -> bool:
    """Whether a database is a file that only this user, or root, can write."""
    file = Path(store.place)
    try:
        return all(_only_mine(one) for one in (file, file.parent))
    except OSError:  # a database on a server
        return False


def programs_of(options: TuneOptions) -> Iterator[NamedProgram]:
    """All that the options of a study run besides what hpltune finds or builds itself."""
    cluster = options.real_cluster or {}
    ssh = tuple(map(str, cluster.get("ssh") or USUAL_SSH))
    if ssh != USUAL_SSH:
        yield _ssh(ssh)
    for name in BATCH_SYSTEMS.keys() & cluster.keys():
        if further := tuple(map(str, (cluster[name] or {}).get("further") or ())):
            yield NamedProgram(f"{batch_system(name).words.submit} with", further)
    yield from _around_ranks(options)
    if options.xhpl is not None:
        yield NamedProgram("the program", (str(options.xhpl),))
    yield from (NamedProgram("the program", (str(path),)) for path in options.programs.values())
    yield from (NamedProgram("the BLAS library", (str(path),)) for path in (options.blas_files or {}).values())
    if options.hpl_source is not None:
        yield NamedProgram("what is built from", (str(options.hpl_source),))


def _around_ranks(options: TuneOptions) -> Iterator[NamedProgram]:
    """What stands around the program of each rank, and what measures the power meanwhile."""
    cluster = options.real_cluster or {}
    own = ("the wrapper", options.wrap), ("the wrapper", cluster.get("wrap")), ("the modules", cluster.get("modules"))
    yield from (NamedProgram(what, tuple(map(str, words))) for what, words in own if words)
    if options.image:
        yield NamedProgram("the image", (options.image.rpartition("=")[2],))
    if options.power_command:
        yield NamedProgram("the meter", tuple(options.power_command.split()))


def _variables(names: Iterable[str]) -> Iterator[NamedProgram]:
    """The variables of ranks among parameters: libraries load what some of them name."""
    return (NamedProgram("ranks with the variable", (name,)) for name in sorted(names) if name.startswith(ENVIRONMENT))


def _ssh(command: tuple[str, ...]) -> NamedProgram:
    return NamedProgram("for ssh", command)


def _only_mine(path: Path) -> bool:
    found = path.stat()
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    return found.st_uid in {0, os.geteuid()} and (not found.st_mode & OTHERS or bool(sticky))


def _sum_of(word: str) -> str:
    """The checksum of a file that a word names; "" where it names none."""
    path = shutil.which(word) or word
    try:
        if not Path(path).is_absolute() or not Path(path).is_file():
            return ""
        with open(path, "rb") as file:  # noqa: PTH123
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
