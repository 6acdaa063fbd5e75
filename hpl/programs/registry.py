"""All families of programs that compute HPL, HPL-MxP or HPCG. A new family is one file and one line here.

All but netlib's are imported only where a file may be one of their programs, or a source theirs.
"""

import difflib
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..build.source import HplSource, Recognise, SourceError, UserSourceError, find_source, unpacked
from ..errors import HplError
from ..search_paths import SearchPaths
from ..workload import HPL, Workload
from .built import SourceProgram
from .family import HplProgram, UserProgramError
from .netlib import NetlibHpl
from .terms import TAKES_ALL, Terms

TO_BUILD: HplProgram = NetlibHpl()
"""What runs unless the user brings a program, before it is known which source there is."""

NEAR = 0.8
"""A name that is so like that of a family means it, by difflib's ratio: amdzen, not intel, which may be a name."""


def families() -> tuple[type[HplProgram], ...]:
    """Return all families in the order in which they are asked what a file is; the last takes any file."""
    from .amd_zen import AmdZenHpl  # noqa: PLC0415 - see above
    from .hpcg import Hpcg, NvidiaHpcg  # noqa: PLC0415
    from .intel_mp import IntelHpl  # noqa: PLC0415
    from .mxp import NvidiaMxp, RocHplMxp  # noqa: PLC0415
    from .nvidia import NvidiaHpl  # noqa: PLC0415
    from .rochpl import RocHpl  # noqa: PLC0415
    from .yours import YourXhpl  # noqa: PLC0415

    return (*_built(), AmdZenHpl, IntelHpl, NvidiaHpl, RocHpl, NvidiaMxp, RocHplMxp, NvidiaHpcg, Hpcg, YourXhpl)


def program_at(file: Path | None) -> HplProgram:
    """Return the program that a file is, by what its family recognises; without a file one that is built.

    Raises:
        UserProgramError: the file cannot be started as it is; the sentence says what to name in its place.
    """
    if file is None:
        return TO_BUILD
    return next(program for family in families() if (program := family.recognised(file)) is not None)


def in_image(program: HplProgram, file: Path | None) -> HplProgram:
    """Return a program with its path in an image, where it was recognised by another path; one that is built stays."""
    from .yours import ProgramFile  # noqa: PLC0415

    if file is None or not isinstance(program, ProgramFile):
        return program
    return replace(program, file=file, in_image=True)


def programs_named(files: Mapping[str, Path], asked: Sequence[str] = ()) -> dict[str, HplProgram]:
    """Return the programs of a study by their names, those that are built first.

    Args:
        files: of the user's, by the names that the study gives them; the name of a family says which one it is.
        asked: names of files, and of families that are built; empty for all files.

    Raises:
        UserProgramError: a name is of nothing, or a file is of another family than its name says.
    """
    built = {family.name: family for family in _built()}
    found: dict[str, HplProgram] = {}
    for name in dict.fromkeys(asked or files):
        if name in files:
            found[name] = _named(name, files[name])
        elif name in built:
            found[name] = built[name]()
        else:
            known, vendors = ", ".join((*built, *files)), ", ".join(_of_vendors())
            file = f"name its file with ⟦program⟧ {name}=FILE (families of programs are {vendors})"
            raise UserProgramError(f"there is no program {name} (there are: {known}): {file}")
    found = dict(sorted(found.items(), key=lambda named: not named[1].built))
    _require_one_workload(found)
    return found


def _require_one_workload(programs: Mapping[str, HplProgram]) -> None:
    """Refuse programs of two workloads.

    Raises:
        UserProgramError: there are.
    """
    first = next(iter(programs.items()), None)
    for name, program in programs.items():
        if first is not None and program.workload is not first[1].workload:
            both = f"{first[0]} computes {first[1].workload.title} and {name} computes {program.workload.title}"
            raise UserProgramError(
                f"{both}, whose rates are never ranked together: give each a study of its own", field="program"
            )


def _named(name: str, file: Path) -> HplProgram:
    """Return the program of a file; its name counts where no family recognises it."""
    from .yours import ProgramFile, YourXhpl  # noqa: PLC0415

    given = f"{name}={file}"
    try:
        found = program_at(file)
    except UserProgramError as error:
        raise UserProgramError(error.sentence, field="program", given=given) from error
    family = next((family for family in families() if family.name == name), type(found))
    if (
        family is YourXhpl
        and name != family.name
        and (near := difflib.get_close_matches(name.lower(), _of_vendors(), cutoff=0.8))
    ):
        known = f"families are {', '.join(_of_vendors())}; did you mean {near[0]}?"
        raise UserProgramError(f"there is no family {name}: {known}", field="program", given=given)
    if type(found) is family or not issubclass(family, ProgramFile):
        return found
    if not isinstance(found, YourXhpl):
        raise UserProgramError(f"this is {found.name}, not {name}: give it that name", field="program", given=given)
    return family(file)


def _of_vendors() -> tuple[str, ...]:
    """Return the names of the families whose programs come from their vendors."""
    return tuple(family.name for family in families() if family.needs)


def found_here(home: Path = Path("~")) -> dict[str, tuple[Path, ...]]:
    """Return the files of each family of vendors that lie where they usually do.

    Args:
        home: the folder of the user.
    """
    return {family.name: tuple(_lying(family, home.expanduser())) for family in families() if family.places}


def _lying(family: type[HplProgram], home: Path) -> Iterator[Path]:
    for place in family.places:
        if "/" not in place:
            yield from filter(None, [shutil.which(place) and Path(str(shutil.which(place)))])
            continue
        pattern = os.path.expandvars(place.replace("~", str(home), 1)).lstrip("/")
        yield from (path for path in sorted(Path("/").glob(pattern)) if os.access(path, os.X_OK))


def workload_of(name: object) -> Workload:
    """Return what the programs of a family compute; HPL for a family that is not known."""
    return next((family.workload for family in families() if family.name == name), HPL)


def terms_of(name: object) -> Terms:
    """Return what the programs of a family take; a family that is not known takes everything."""
    return next((family.terms for family in families() if family.name == name), TAKES_ALL)


def with_source(
    program: HplProgram, search: SearchPaths, user_source: Path | None = None, *, of_its_family: bool = False
) -> HplProgram:
    """Return a program with the source that it is built from; one that is there already needs none.

    Args:
        of_its_family: take no other source than one of its family; a source of the user's that is of another family is
            for another program.

    Raises:
        SourceError: as `obtain`.
    """
    if not program.built:
        return program
    only = [family for family in _built() if family.name == program.name] if of_its_family else _built()
    source = obtain(search, user_source, _built()) if user_source else None
    if source is None or source.kind not in {family.name for family in only}:
        source = obtain(search, None, only)
    return next(family(source) for family in _built() if family.name == source.kind)


def obtain(
    search: SearchPaths, user_source: Path | None = None, built: Sequence[type[SourceProgram]] = ()
) -> HplSource:
    """Get HPL's source, from the cache if it was obtained before.

    The order is: the user's source; the cache; netlib's hpl-2.3.tar.gz with a checked SHA-256; Debian's package hpcc.

    Args:
        user_source: a folder or an archive of HPL or of HPCC; if given, nothing else is tried.
        built: families whose sources are tried; empty for all.

    Raises:
        SourceError: no source could be obtained; the message says what was tried and what to do.
    """
    folder, built = search.cache / "source", built or _built()
    layouts = [family.source_in for family in built]
    if user_source is not None:
        return _of_user(folder, user_source.expanduser().absolute(), layouts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"cannot make {folder} for HPL's source: {error.strerror}") from error
    from filelock import FileLock  # noqa: PLC0415 - only what builds needs it

    with FileLock(folder / "lock"):
        cached = cached_source(search, built)
        if cached is not None:
            return cached
        tried = []
        for family in built:
            try:
                return unpacked(family.fetched(folder), folder / family.name, layouts)
            except (OSError, HplError) as error:
                tried.append(f"{family.name}: {error}")
    raise SourceError(
        f"HPL's source could not be had ({'; '.join(tried)}): "
        "download hpl-2.3.tar.gz yourself and give it with ⟦hpl_source⟧, or your own program with ⟦xhpl⟧"
    )


def cached_source(search: SearchPaths, built: Sequence[type[SourceProgram]] = ()) -> HplSource | None:
    """Return the source that was obtained before; None where there is none.

    Args:
        built: as `obtain` takes it.
    """
    folder, built = search.cache / "source", built or _built()
    layouts = [family.source_in for family in built]
    for family in built:
        if (folder / family.name).is_dir():
            return find_source(folder / family.name, f"{family.origin} (cached)", layouts)
    return None


def _built() -> tuple[type[SourceProgram], ...]:
    """Return the families that are built, in the order in which they are asked for a source."""
    from .hpcc import HpccHpl  # noqa: PLC0415

    return NetlibHpl, HpccHpl


def _of_user(folder: Path, path: Path, layouts: Sequence[Recognise]) -> HplSource:
    origin = f"⟦hpl_source⟧ {path}"
    if path.is_dir():
        return find_source(path, origin, layouts)
    if not path.is_file():
        raise UserSourceError("there is no such file or folder", field="hpl_source", given=path)
    target = folder / f"user-{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    if not target.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        unpacked(path, target, layouts)
    return find_source(target, origin, layouts)
