"""Finds the files that hold outputs of HPL, folder by folder, and says what is odd about them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hpl.dat import HplDat
from hpl.dat_parse import HplDatError, parse
from hpl.log import HplLog, read_logs
from hpl.undressed import undressed
from runners.batch.registry import batch_systems
from runners.launchers.foreign import told

from ..errors import UsageError
from ..user_files import read_text
from ..words import counted, listed
from .file_text import file_text

DAT = "HPL.dat"
MIXED_PRECISION = (
    "mixed precision is not HPL. It factorises the matrix with short numbers and refines the solution, so its rate is "
    "not comparable with one of HPL"
)
OTHER_BENCHMARKS = {
    r"(?:Final Summary::)?HPCG(?:-Benchmark version| result is)": (
        "HPCG, not of HPL: it solves a sparse system, and its GFLOPS are others"
    ),
    r"Intel\(R\) Optimized LINPACK Benchmark": (
        "Intel's Optimized LINPACK Benchmark, not of HPL: its rows and checks are others"
    ),
    r"STREAM version": "STREAM, not of HPL: it measures the bandwidth of the memory",
}
"""How a line of another benchmark's output begins, and what that is."""
_COLUMN = re.compile(r"Column=\s*(\d{1,12})\s+Fraction=\s*(\d{1,3}(?:\.\d{1,9})?)(%?)")
_MIXED = re.compile(r"HPL-?MxP|HPL[-_]AI")
_BEGUN = re.compile(r"T/V {1,9}: Wall time|^(?:rocHPL \S*\d|Final Score:|Residual Check:)", re.MULTILINE)
"""What HPL prints before its rows, and rocHPL in place of them."""
_BY_BATCH = (name for batch in batch_systems() for name in batch.starters)
_STARTED = re.compile("|".join(("xhpl", "hpl", "mpirun", "mpiexec", "prterun", *_BY_BATCH, "MPI")), re.IGNORECASE)
"""What a file speaks of that could have been an output of HPL."""


@dataclass(frozen=True)
class OutputFile:
    """A file with results of HPL.

    Attributes:
        name: relative to the folder that was asked for.
        sha256: of its content.
        ended: where and why an output ends that is not whole, as far as it tells.
    """

    name: str
    sha256: str
    changed_at: datetime
    log: HplLog
    ended: str = ""


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
            if file.log.abreast > 1:
                copies = f"{file.name}: {counted(file.log.abreast, 'run')} of one rank went on at once."
                alone = (
                    "If they were meant to be one run, its ranks ran alone, because mpirun is not of the MPI of xhpl"
                )
                found.append(f"{copies} {alone}; then none of the rates is that of the machine.")
            if file.log.missing:
                tests = "test more than it has results" if file.log.missing == 1 else "tests more than it has results"
                found.append(f"{file.name}: its last lines count {file.log.missing:,} {tests}: these are not in it.")
            if not file.log.finished:
                has = counted(len(file.log.results), "result")
                why = f" ({file.ended})" if file.ended else ""
                found.append(f"{file.name} ends before HPL's last line: what was printed until then is {has}{why}.")
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
    content = file_text(path)
    if content.left_out:
        return None, f"{name} is {content.left_out}, and is left out."
    text = "\n".join(texts := undressed(content.text))
    log = read_logs(texts)
    mixed = f"{name}: {counted(log.mixed_precision, 'result')} of HPL-MxP left out: {MIXED_PRECISION}."
    if not log.results:
        return None, mixed if log.mixed_precision else _no_result(name, text, log)
    changed_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    ended = "" if log.finished else end_of(text)
    return OutputFile(name, content.sha256, changed_at, log, ended), mixed if log.mixed_precision else ""


def _no_result(name: str, text: str, log: HplLog) -> str:
    """The sentence of an output without a result; "" for any other file."""
    ended = end_of(text)
    if log.errors:
        return f"{name} has no result. HPL says: {log.errors[0]}."
    for mark, what in OTHER_BENCHMARKS.items():
        if re.search(f"^{mark}", text, re.MULTILINE):
            return f"{name} is left out: it is an output of {what}."
    if _BEGUN.search(text) and _MIXED.search(text):
        return f"{name} is left out: it is an output of HPL-MxP, and {MIXED_PRECISION}."
    if _BEGUN.search(text):
        line = "it has no line of T/V, N, NB, P, Q, time and Gflops, and does not say why"
        return f"{name} is an output of HPL without a result: {ended or line}."
    return f"{name} has no result: {ended}." if ended and _STARTED.search(text) else ""


def end_of(text: str) -> str:
    """Say where a run ended, and why, as far as its output tells; "" where it tells neither."""
    column = ""
    for found in _COLUMN.finditer(text):
        column = _reached(found)
    return "; ".join(filter(None, (column, told(text) or "")))


def _reached(found: re.Match[str]) -> str:
    """Say how far a run had come when it printed a line of its progress; the operations follow from the columns."""
    try:
        part = float(found[2]) / (100 if found[3] else 1)
    except ValueError:
        return ""
    done = f" ({100 * (1 - (1 - part) ** 3):.0f} % of the operations)" if 0 <= part <= 1 else ""
    return f"its last line of progress is of column {int(found[1]):,}{done}"


def _dat(path: Path) -> HplDat | None:
    """The HPL.dat of a folder; None where HPL would not read it."""
    try:
        return parse(read_text(path, str(path)), str(path))
    except (HplDatError, UsageError):
        return None
