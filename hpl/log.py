"""Reads a log that holds outputs of HPL from any origin: each result with all that its launch said of it.

`hpl.output` reads results and residuals, and which of them are of mixed precision. This module adds what a launch
prints before them: the program, the values that HPL.dat had, and the threshold.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from . import variant
from .errors import HplError
from .output import BANNER, BEGIN, CLOSING, HplOutput, HplResult, OutputReader, contradictions, lines, parse, stamp_of
from .params import HplParams, Scalar

VARIANT = "variant"
"""The parameter that keeps the T/V code of a fork, whose letters are the fork's own."""
_VALUE = re.compile(r"(PMAP|PFACT|NBMIN|NDIV|RFACT|BCAST|DEPTH|SWAP|L1|U|EQUIL|ALIGN)\s*:\s*(\S.*)$")
_SIZES = re.compile(r"(N|NB|P|Q)\s*:(\s[\s\d]{1,200})$")
_LISTED = 8
"""Values that HPL prints on a line of its head; further ones stand on lines without a name."""
_THRESHOLD = re.compile(r"scaled residuals are less than\s+(\S+)$")
_FACTS = {"Left": "left", "Crout": "crout", "Right": "right"}
_FORMS = {"transposed": "transposed", "no-transposed": "notransposed"}
_WORDS: Mapping[str, Mapping[str, Scalar]] = {
    "PMAP": {"Row-major": "row", "Column-major": "column"},
    "PFACT": _FACTS,
    "RFACT": _FACTS,
    "BCAST": {"1ring": "1rg", "1ringM": "1rM", "2ring": "2rg", "2ringM": "2rM", "Blong": "Lng", "BlongM": "LnM"},
    "L1": _FORMS,
    "U": _FORMS,
    "EQUIL": {"yes": "yes", "no": "no"},
}
"""HPL's words of its parameters, and those of spaces."""
_EXPLAINED = ("PMAP", "L1", "U", "EQUIL")
"""Parameters of one value, behind which HPL writes what it is."""
_SWAPS = {"Mix": "mix", "Binary-exchange": "bin", "Spread-roll": "long"}
_NEEDED = (
    *("PMAP", "PFACT", "NBMIN", "NDIV", "RFACT", "BCAST", "DEPTH"),
    *("SWAP", "L1", "U", "EQUIL", "alignment"),
)


def untold_words(words: Mapping[str, Scalar]) -> list[str]:
    """Return the parameters that an HPL.dat needs and an output does not tell; of a fork its code hides some."""
    return [name for name in _NEEDED if name not in words]


@dataclass(frozen=True)
class LoggedResult:
    """A result with what its launch said of it.

    Attributes:
        program: name and version that the program gave itself; "" where they are not in the log.
        words: all parameters that are known, in the words of spaces; a fork's T/V code is its `variant`.
        threshold: the largest residual that passes; None where it was not printed.
        text: the lines of this result, from the head of its table to the head of the next.
        place: its launch, the closing lines "End of Tests." before it in that launch, and its table; None where the
            row has no head of its own, as in an extract.
        started_at, ended_at: as HPL printed them, without a time zone; None where it did not.
        doubt: what else its launch printed that speaks against it; "" where nothing does.
    """

    result: HplResult
    program: str
    words: Mapping[str, Scalar]
    threshold: float | None
    text: str
    started_at: datetime | None = None
    ended_at: datetime | None = None
    place: tuple[int, int, int] | None = None
    doubt: str = ""

    @property
    def hpl(self) -> HplParams | None:
        """HPL's parameters; None if the log does not tell all of them, or if they are none of netlib's HPL."""
        if VARIANT in self.words or untold_words(self.words):
            return None
        threshold = {} if self.threshold is None else {"threshold": self.threshold}
        try:
            return HplParams.from_words({**self.words, **threshold})
        except HplError:
            return None


@dataclass(frozen=True)
class HplLog:
    """The content of a log.

    Attributes:
        mixed_precision: how many results are left out because they are of mixed precision.
        errors: HPL's own error messages.
        mixed_begun: whether what began last is a benchmark in mixed precision.
        finished: whether the last launch printed its closing line.
        launches: how many launches began in the log.
        abreast: how many runs of one rank went on at the same time, as ranks do that do not find each other.
        missing: how many tests its launches count in their last lines without a result here.
    """

    results: tuple[LoggedResult, ...]
    mixed_precision: int
    errors: tuple[str, ...]
    finished: bool
    launches: int
    abreast: int = 0
    missing: int = 0
    mixed_begun: bool = False


@dataclass
class _Launch:
    """What was read of a launch so far.

    Attributes:
        rows: which results of the log stand in each table.
        sizes: the values of N, NB, P and Q that its head lists.
    """

    program: str = ""
    values: dict[str, Scalar] = field(default_factory=dict)
    threshold: float | None = None
    tables: list[list[str]] = field(default_factory=lambda: [[]])
    rows: list[list[int]] = field(default_factory=lambda: [[]])
    sizes: dict[str, list[int]] = field(default_factory=dict)


def read_log(text: str) -> HplLog:
    """Read a log, complete or not; nothing here raises."""
    reader, launches, names = OutputReader(), [_Launch()], list[str]()
    for line in lines(text):
        words = line.split()
        if banner := BANNER.match(line):
            names.append(" ".join(banner[0].split()))
        if BEGIN.match(line):
            launches.append(_Launch(names[0] if names else ""))
            names = []
        launch = launches[-1]
        if words[:1] == ["T/V"] and "N" in words:
            launch.tables.append([])
            launch.rows.append([])
        launch.tables[-1].append(line)
        _read_head(launch, line)
        before = len(reader.results)
        reader.read(line)
        launch.rows[-1] += range(before, len(reader.results))
    whole = reader.output()
    every, missing = _results(launches[0], 0, whole.results, ()), 0
    for number, launch in enumerate(launches[1:], start=1):
        printed = _printed(launch)
        doubts = contradictions(printed.results, printed.passed_told)
        every += _results(launch, number, whole.results, doubts)
        missing += max(0, (printed.passed_told or 0) + (printed.failed_told or 0) - len(printed.results))
    logged = [one for one in every if not one.result.mixed]
    abreast = _abreast(logged, [table for launch in launches for table in launch.tables[1:]])
    begun = max(1, len(launches) - 1)
    if 0 < abreast <= begun:
        logged = [replace(one, doubt="") for one in logged]
    return HplLog(
        results=tuple(logged),
        mixed_precision=len(every) - len(logged) + whole.mixed_without_row,
        errors=whole.errors,
        finished=any(CLOSING in table for table in launches[-1].tables),
        launches=begun,
        abreast=abreast,
        missing=missing,
        mixed_begun=whole.mixed_begun,
    )


def read_logs(texts: Sequence[str]) -> HplLog:
    """Read logs that belong together, as those of the ranks or hosts that wrote into one file."""
    logs = [read_log(text) for text in texts]
    speaking = [log for log in logs if log.results or log.finished] or logs
    results, launches = [], 0
    for log in logs:
        for one in log.results:
            place = None if one.place is None else (one.place[0] + launches, *one.place[1:])
            results.append(replace(one, place=place))
        launches += log.launches
    return HplLog(
        results=tuple(results),
        mixed_precision=sum(log.mixed_precision for log in logs),
        errors=tuple(dict.fromkeys(error for log in logs for error in log.errors)),
        finished=all(log.finished for log in speaking),
        launches=sum(log.launches for log in speaking),
        abreast=max(_abreast(results), *(log.abreast for log in logs)),
        missing=sum(log.missing for log in logs),
        mixed_begun=any(log.mixed_begun for log in logs),
    )


def _abreast(results: Sequence[LoggedResult], tables: Sequence[Sequence[str]] = ()) -> int:
    """Count runs of one rank that went on at once: their times overlap, or their heads follow each other.

    HPL prints the head of a table with the result, so a head that only another head follows is of another program.
    """
    alone = [one for one in results if one.result.P * one.result.Q == 1]
    runs = {
        (one.started_at, one.ended_at, one.result.code, one.result.N, one.result.NB, one.result.gflops)
        for one in alone
        if one.started_at and one.ended_at
    }
    most = max((sum(run[0] <= at < run[1] for run in runs) for at, *_ in runs), default=0)
    heads = most_heads = 1
    for table in tables:
        heads = heads + 1 if not any(line.strip("-=") for line in table[1:]) else 1
        most_heads = max(most_heads, heads)
    found = max(most, most_heads)
    return found if alone and found > 1 else 0


def _read_head(launch: _Launch, line: str) -> None:
    """Read a value of HPL.dat or the threshold from a line."""
    value, sizes, threshold = _VALUE.match(line), _SIZES.match(line), _THRESHOLD.search(line)
    if value and len(launch.tables) == 1:
        launch.values.update(_told(value[1], value[2].split()))
    if sizes and len(launch.tables) == 1:
        launch.sizes[sizes[1]] = [int(word) for word in sizes[2].split()]
    if threshold:
        try:
            launch.threshold = float(threshold[1])
        except ValueError:
            return


def _results(launch: _Launch, number: int, every: Sequence[HplResult], doubts: Sequence[str]) -> list[LoggedResult]:
    """Return the results of a launch, in the order they were printed.

    Args:
        every: the results of the log.
        doubts: what speaks against each result up to the launch's end; what follows, as a summary, is none of its own.
    """
    found, closed = list[LoggedResult](), 0
    for table_number, (table, rows) in enumerate(zip(launch.tables, launch.rows, strict=True)):
        text = "\n".join(table) + "\n"
        times = dict(stamp for line in table if (stamp := stamp_of(line)))
        stamps = times.get("start"), times.get("end")
        for row in rows:
            words = _words(every[row], launch.values)
            place = (number, closed, table_number) if table_number and row == rows[0] else None
            doubt = doubts[len(found)] if len(found) < len(doubts) else ""
            doubt = doubt or (_unlike_head(every[row], words, launch) if place and not closed else "")
            found.append(LoggedResult(every[row], launch.program, words, launch.threshold, text, *stamps, place, doubt))
        closed += table.count(CLOSING)
    return found


def _unlike_head(result: HplResult, words: Mapping[str, Scalar], launch: _Launch) -> str:
    """Say which value of a result the head of its launch does not list; "" where it lists all."""
    sizes: Mapping[str, Scalar] = {"N": result.N, "NB": result.NB, "P": result.P, "Q": result.Q}
    heads: dict[str, Sequence[Scalar]] = {name: [value] for name, value in launch.values.items()}
    heads |= launch.sizes
    for name, value in {**words, **sizes}.items():
        listed = heads.get(name, [value])
        if value not in listed and len(listed) < _LISTED:
            said = " ".join(map(str, listed))
            return f"it is of {name}={value}, and the head of its output says {name} : {said}"
    return ""


def unlike_asked(text: str, asked: Mapping[str, Scalar]) -> str:
    """Say which parameter the head of an output tells otherwise than was asked, as "SWAP=long"; "" where it tells none.

    Args:
        asked: the words of a single run.
    """
    launch = _Launch()
    for line in lines(text):
        _read_head(launch, line)
    other = (f"{name}={value}" for name, value in launch.values.items() if name in asked and value != asked[name])
    return next(other, "")


def _printed(launch: _Launch) -> HplOutput:
    """Read what a launch printed until it ended."""
    printed = [line for table in launch.tables for line in table]
    return parse("\n".join(printed[: printed.index(CLOSING)] if CLOSING in printed else printed))


def _words(result: HplResult, values: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the parameters of a result: its own line says more than the head, which may list several values."""
    words: dict[str, Scalar] = {"N": result.N, "NB": result.NB, "grid": f"{result.P}x{result.Q}", **values}
    try:
        said = variant.decode(result.code)
    except HplError:
        return {**words, VARIANT: result.code}
    of_code = {name: getattr(said, name).word for name in ("PMAP", "BCAST", "RFACT", "PFACT")}
    return {**words, **of_code, "DEPTH": said.DEPTH, "NDIV": said.NDIV, "NBMIN": said.NBMIN}


def _told(name: str, words: Sequence[str]) -> dict[str, Scalar]:
    """Return what a line of the head tells of a parameter: nothing where it lists several values, or unknown ones."""
    first, alone = words[0], len(words) == 1
    if name in _WORDS:
        return {name: _WORDS[name][first]} if first in _WORDS[name] and (alone or name in _EXPLAINED) else {}
    if name == "ALIGN":
        return {"alignment": int(first)} if first.isdecimal() and words[1:2] == ["double"] else {}
    if name != "SWAP":
        return {name: int(first)} if alone and first.isdecimal() else {}
    limit = words[-1].rstrip(")")
    threshold: dict[str, Scalar] = {"swap_threshold": int(limit)} if limit.isdecimal() else {}
    return {} if first not in _SWAPS or (first == "Mix" and not threshold) else {"SWAP": _SWAPS[first], **threshold}
