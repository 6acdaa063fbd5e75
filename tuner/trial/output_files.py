"""Finds the files that hold outputs of HPL, folder by folder, and says what is odd about them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hpl.dat import HplDat
from hpl.dat_parse import HplDatError, parse
from hpl.log import HplLog, read_log

from ..errors import UsageError
from ..user_files import LARGEST_BYTES, read_text
from ..words import counted, listed

DAT = "HPL.dat"


@dataclass(frozen=True)
class OutputFile:
    """A file with results of HPL.

    Attributes:
        name: relative to the folder that was asked for.
        sha256: of its content.
    """

    name: str
    sha256: str
    changed_at: datetime
    log: HplLog


@dataclass(frozen=True)
class OutputFolder:
    """The outputs in one folder, which become one study.

    Attributes:
        name: of the folder.
        files: those with results, by name.
        dat: the HPL.dat in the folder; None without one.
        remarks: what was left out, and why.
    """

    name: str
    files: tuple[OutputFile, ...]
    dat: HplDat | None
    remarks: tuple[str, ...]

    @property
    def cautions(self) -> tuple[str, ...]:
        """What speaks against ranking all results of the folder together, and which outputs are not whole."""
        results = [result for file in self.files for result in file.log.results]
        ranks = sorted({one.result.P * one.result.Q for one in results})
        programs = sorted({one.program for one in results if one.program})
        apart = "a folder for each machine gives a study for each"
        found = []
        if len(programs) > 1:
            found.append(f"The outputs are of {listed(programs)}; if these ran on different machines, {apart}.")
        elif len(ranks) > 1:
            numbers = listed([f"{number:,}" for number in ranks])
            found.append(f"The runs had {numbers} ranks; if these ran on different machines, {apart}.")
        for file in self.files:
            if not file.log.finished:
                has = counted(len(file.log.results), "result")
                found.append(f"{file.name} ends before HPL's last line: what was printed until then is {has}.")
        return tuple(found)


def folders_of(paths: Sequence[Path]) -> list[OutputFolder]:
    """Read files, and folders with all folders in them; a file that is there twice is read once.

    Raises:
        UsageError: a path is not there or cannot be read.
    """
    seen: dict[str, str] = {}
    groups: dict[Path, list[tuple[Path, str]]] = {}
    for path in paths:
        for file, name in _files(path):
            group = groups.setdefault(file.resolve().parent, [])
            if file not in (known for known, _ in group):
                group.append((file, name))
    return [_folder(folder, files, seen) for folder, files in groups.items()]


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a path, each with its name relative to the folder that was asked for."""
    if path.is_dir():
        below = sorted(path.rglob("*"))
        for file in below:
            inside = file.relative_to(path)
            if file.is_file() and not any(part.startswith(".") for part in inside.parts):
                yield file, str(inside)
    elif path.exists():
        yield path, path.name
    else:
        raise UsageError(f"{path}: there is no such file or folder")


def _folder(folder: Path, files: Sequence[tuple[Path, str]], seen: dict[str, str]) -> OutputFolder:
    """Read the files of one folder.

    Args:
        seen: names of the files that were read before, by their hash; new ones are added.
    """
    found: list[OutputFile] = []
    remarks: list[str] = []
    for path, name in files:
        file, remark = _read(path, name)
        if file is not None and file.sha256 in seen:
            remark = f"{name} is the same file as {seen[file.sha256]}, and is read once."
        elif file is not None:
            seen[file.sha256] = name
            found.append(file)
        if remark:
            remarks.append(remark)
    dat = _dat(folder / DAT) if any(path.name == DAT for path, _ in files) or (folder / DAT).is_file() else None
    return OutputFolder(folder.name or "outputs", tuple(found), dat, tuple(remarks))


def _read(path: Path, name: str) -> tuple[OutputFile | None, str]:
    """Read a file: its results, or why there are none; both are missing where it is none of HPL's outputs."""
    if path.stat().st_size > LARGEST_BYTES:
        return None, f"{name} is larger than {LARGEST_BYTES / 2**20:g} MiB, and is left out."
    text = read_text(path, str(path))
    if "\0" in text:
        return None, ""
    log = read_log(text)
    mixed = f"{name}: {counted(log.mixed_precision, 'result')} of HPL-MxP left out: mixed precision is not HPL."
    if not log.results:
        return None, mixed if log.mixed_precision else _no_result(name, text, log)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    changed_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return OutputFile(name, sha256, changed_at, log), mixed if log.mixed_precision else ""


def _no_result(name: str, text: str, log: HplLog) -> str:
    """The sentence of an output of HPL without a result; "" for any other file."""
    if log.errors:
        return f"{name} has no result. HPL says: {log.errors[0]}."
    if "T/V    : Wall time" in text or "rocHPL" in text or "Residual Check:" in text:
        return f"{name} is an output of HPL without a result line (T/V, N, NB, P, Q, time, Gflops), and is left out."
    return ""


def _dat(path: Path) -> HplDat | None:
    """The HPL.dat of a folder; None where HPL would not read it."""
    try:
        return parse(read_text(path, str(path)), str(path))
    except (HplDatError, UsageError):
        return None
