"""Finds files with outputs of HPL, reads their text, says what is odd about them, and makes records of them."""

import bz2
import hashlib
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hpl.dat import HplDat, render
from hpl.dat_parse import HplDatError, parse
from hpl.log import VARIANT, HplLog, LoggedResult, read_logs
from hpl.output import MIXED_PRECISION
from hpl.params import HplParams, Scalar
from hpl.undressed import undressed
from hpl.variant import contradicts
from results.record import IMPORTED_FROM, IMPORTED_SHA256, Invalidity, Kind, TrialRecord, TrialState
from runners.batch.registry import batch_systems
from runners.launchers import mpich, openmpi
from runners.launchers.base import explained

from ..errors import UsageError
from ..user_files import LARGEST_BYTES, read_text
from ..words import counted, listed
from .plausible import MachineLimits, too_fast

_UNPACKERS: Mapping[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES),
}
_UNKNOWN_PACKERS = {b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}
_PROGRAM = b"\x7fELF"
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""The byte order marks of encodings."""
_HOLE = re.compile("\0{2,}")
_XZ_MEMORY_BYTES = 128 * 2**20


@dataclass(frozen=True)
class FileText:
    """What a file says.

    Attributes:
        text: "" for a program and for a file that is left out.
        sha256: of the bytes in the file.
        left_out: why it was not read; "" where it was.
    """

    text: str
    sha256: str = ""
    left_out: str = ""


def file_text(path: Path, largest_bytes: int = LARGEST_BYTES) -> FileText:
    """Read a file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(largest_bytes + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    limit = f"larger than {largest_bytes / 2**20:g} MiB"
    if len(content) > largest_bytes:
        return FileText("", left_out=limit)
    sha256 = hashlib.sha256(content).hexdigest()
    for magic, packer in _UNKNOWN_PACKERS.items():
        if content.startswith(magic) and path.suffix in {".zip", ".zst", ".zstd"}:
            return FileText("", sha256, f"packed by {packer}, which is not read here")
    if unpacker := next((one for magic, one in _UNPACKERS.items() if content.startswith(magic)), None):
        content = _unpacked(content, unpacker, largest_bytes + 1)
        if len(content) > largest_bytes:
            return FileText("", sha256, f"{limit} when it is unpacked")
    return FileText("" if content.startswith(_PROGRAM) else decoded(content), sha256)


def decoded(content: bytes) -> str:
    """Return the text in bytes: in UTF-8, or as a byte order mark tells.

    UTF-16 without a mark, or added to another text as Windows does, has a NUL beside each letter of English; these are
    dropped. More NULs together are a hole that a file system filled, and end a line.
    """
    encoding = next((encoding for mark, encoding in _MARKS if content.startswith(mark)), "utf-8")
    text = content.decode(encoding, errors="replace")
    return _HOLE.sub("\n", text).replace("\0", "") if "\0" in text else text


def _unpacked(content: bytes, new_unpacker: Callable[[], Any], at_most: int) -> bytes:
    """Unpack as much as is whole of a file, and no more bytes than this."""
    found, rest = bytearray(), content
    while rest and len(found) < at_most:
        unpacker = new_unpacker()
        try:
            found += unpacker.decompress(rest, at_most - len(found))
        except (OSError, EOFError, zlib.error, lzma.LZMAError):
            break
        rest = unpacker.unused_data if unpacker.eof else b""
    return bytes(found)


def imported_record(
    logged: LoggedResult, dat: HplDat | None, blas: str, file: tuple[str, str, datetime], rpeak_gflops: float = 0.0
) -> TrialRecord:
    """The trial of a result, without study and number.

    Args:
        dat: an HPL.dat beside the file, which says what the output does not; None without one.
        blas: the library that HPL used; "" where nobody said it.
        file: relative name, hash and time of change of the file.
        rpeak_gflops: of its machine; 0 where nobody said it.
    """
    result, (name, sha256, changed_at) = logged.result, file
    hpl = logged.hpl or _from_dat(logged, dat)
    words: dict[str, Scalar] = {**({"blas": blas} if blas else {}), **(logged.words if hpl is None else hpl.words())}
    words.pop("threshold", None)
    fault = why_not(logged) or too_fast(result, MachineLimits(rpeak_gflops, 0.0, dgemm=False))
    program = {"hpl": logged.program} if logged.program else {}
    return TrialRecord(
        study="",
        number=0,
        kind=Kind.IMPORTED,
        state=TrialState.FAILED if fault else TrialState.COMPLETE,
        params=words,
        key="|".join(f"{key}={value}" for key, value in sorted(words.items())),
        started_at=_local(logged.started_at) or changed_at,
        ended_at=_local(logged.ended_at),
        invalidity=Invalidity.CORRECTNESS if fault else None,
        reason=fault,
        hpl=hpl,
        blas=blas,
        ranks=result.P * result.Q,
        time_s=result.time_s,
        gflops=result.gflops,
        residual=result.residual,
        passed=result.passed,
        hpl_dat=render(HplDat.of(hpl)) if hpl else "",
        output=logged.text,
        versions={**program, IMPORTED_FROM: name, IMPORTED_SHA256: sha256},
    )


def why_not(logged: LoggedResult) -> str:
    """The sentence why a result does not count; "" where it counts."""
    result = logged.result
    if result.passed is None and logged.threshold is not None and logged.threshold <= 0:
        return f"the residual was not checked: the threshold of HPL.dat is {logged.threshold:g}, not above 0"
    if result.passed is None:
        return "the output has no residual check for it, so it is stored and not ranked"
    return result.why_not(logged.threshold) or logged.doubt


def _from_dat(logged: LoggedResult, dat: HplDat | None) -> HplParams | None:
    """The run of an HPL.dat that gave a result; None where none or several could have."""
    if dat is None or VARIANT in logged.words:
        return None
    code = logged.result.code
    found = {run for run in dat.runs() if logged.words.items() <= run.words().items() and not contradicts(code, run)}
    return found.pop() if len(found) == 1 else None


def _local(moment: datetime | None) -> datetime | None:
    """A time that HPL printed; it names no zone, so it is taken for one of this machine."""
    return None if moment is None else moment.astimezone(UTC)


_WITHOUT_MEMORY = "a rank was killed (signal 9): often by the kernel for want of memory"
_UNKNOWN_INSTRUCTION = "a rank met an instruction this CPU lacks: the BLAS kernel does not fit it"
_SAYINGS: tuple[tuple[str, str], ...] = (
    (r"DUE TO TIME LIMIT|PBS: job killed: walltime|TERM_RUNLIMIT", "the job came to the end of its time limit"),
    (r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED", "the job was cancelled"),
    (r"Signal: Illegal instruction|Caught signal 4 ", _UNKNOWN_INSTRUCTION),
    (r"Signal: ([A-Z][\w ]+) \((\d+)\)", r"a rank was ended by signal \2 (\1)"),
    (r"Caught signal (\d+) \(([^):]+)", r"a rank was ended by signal \1 (\2)"),
    (r"(?m)^(?:\S+: line \d+: )?\s*\d* ?Killed\b", _WITHOUT_MEMORY),
    (r"(?m)^(?:\S+: line \d+: )?\s*\d* ?Illegal instruction\b", _UNKNOWN_INSTRUCTION),
    (r"(?m)^(?:\S+: line \d+: )?\s*\d* ?(Segmentation fault|Bus error|Floating point exception|Aborted)\b",
     r"the program was ended: \1"),
    (r"(\S+): command not found|command not found: (\S+)", r"the shell did not find the command \1\2"),
    (r"sh: (?:line )?(?:\d+: )?(\S+): not found", r"the shell did not find the command \1"),
    (r"sh: (?:line )?(?:\d+: )?(\S+): (Permission denied|No such file or directory|cannot execute[^\n]*)",
     r"the shell could not start \1 (\2)"),
)  # fmt: skip
"""Messages of shells, batch systems and programs that no launcher explained."""


DAT = "HPL.dat"
OTHER_BENCHMARKS = {
    r"(?:Final Summary::)?HPCG(?:-Benchmark version| result is)": (
        "HPCG, not of HPL: it solves a sparse system, and its GFLOPS are others"
    ),
    r"Intel\(R\) Optimized LINPACK Benchmark": (
        "Intel's Optimized LINPACK Benchmark, not of HPL: its rows and checks are others"
    ),
    r"STREAM version": "STREAM, not of HPL: it measures the bandwidth of the memory",
    r"[ =]*HPL-(?:AI|MxP) Mixed-Precision Benchmark\b[\w ]*[ =]*$": f"HPL-MxP, and {MIXED_PRECISION}",
}
"""How a line of another benchmark's output begins, and what that is."""
_COLUMN = re.compile(r"Column=\s*(\d{1,12})\s+Fraction=\s*(\d{1,3}(?:\.\d{1,9})?)(%?)")
_STREAM = re.compile(r"\.(?:(std)?out|o(\d+))$")
"""How the name of a job's standard output ends; that of its errors says `err` and `e` there."""
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
            found += [f"{file.name}: HPL says: {error}." for error in file.log.errors[:1]]
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
    read_beside = {_errors_of(path) for path, _ in files}
    for path, name in files:
        if path in read_beside:
            continue
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


def _errors_of(path: Path) -> Path | None:
    """The file beside a job's standard output that has what the same job wrote as errors; None where there is none."""
    stream = _STREAM.search(path.name)
    if stream is None:
        return None
    end = f".e{stream[2]}" if stream[2] else f".{stream[1] or ''}err"
    errors = path.with_name(path.name[: stream.start()] + end)
    return errors if errors.is_file() else None


def _read(path: Path, name: str) -> tuple[OutputFile | None, str]:
    """Read a file: its results, or why there are none; both are missing where it is none of HPL's outputs."""
    content, errors = file_text(path), _errors_of(path)
    if content.left_out:
        return None, f"{name} is {content.left_out}, and is left out."
    texts = [*undressed(content.text), *(undressed(file_text(errors).text) if errors else ())]
    text = "\n".join(texts)
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
    if log.mixed_begun:
        return f"{name} is left out: it is an output of HPL-MxP, and {MIXED_PRECISION}."
    if _BEGUN.search(text):
        line = "it has no line of T/V, N, NB, P, Q, time and Gflops, and does not say why"
        return f"{name} is an output of HPL without a result: {ended or line}."
    return f"{name} has no result: {ended}." if ended and _STARTED.search(text) else ""


def end_of(text: str) -> str:
    """Say where a run ended, and why, as far as its output tells; "" where it tells neither.

    Its last line of progress tells how far it came; the operations follow from the columns.
    """
    column = ""
    for found in _COLUMN.finditer(text):
        part = float(found[2]) / (100 if found[3] else 1)
        done = f" ({100 * (1 - (1 - part) ** 3):.0f} % of the operations)" if 0 <= part <= 1 else ""
        column = f"its last line of progress is of column {int(found[1]):,}{done}"
    of_batch = (saying for batch in batch_systems() for saying in batch.sayings)
    why = explained((*of_batch, *openmpi.SAYINGS, *mpich.SAYINGS, *_SAYINGS), (text,))
    return "; ".join(filter(None, (column, why)))


def _dat(path: Path) -> HplDat | None:
    """The HPL.dat of a folder; None where HPL would not read it."""
    try:
        return parse(read_text(path, str(path)), str(path))
    except (HplDatError, UsageError):
        return None
