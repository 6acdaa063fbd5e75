"""Reads a CSV of trials as a table to replay: one that `hpltune export csv` wrote, or one that somebody made."""

import csv
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated

from pydantic import Field, FiniteFloat, TypeAdapter, ValidationError

from hpl.log import VARIANT
from hpl.output import LARGEST_INT, RATE_TOLERANCE, TIME_RESOLUTION_S
from hpl.params import Scalar
from hpl.programs.registry import workload_of
from hpl.sizing import seconds
from results.columns import COLUMNS
from results.record import SMALLER_RUNS, Invalidity, Kind, TrialState
from search_spaces.errors import SpaceError
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import DIMENSIONS, Settings, dimension, ranks_and_threads
from search_spaces.parameters.parameter import converted
from search_spaces.restriction import grid_uses_all_ranks, n_at_least_nb
from search_spaces.space import Completion

from ..errors import UsageError
from ..settings.dimensions import setting_dimensions
from ..user_files import read_text
from ..words import counted
from .landscape import LARGEST_BYTES, MOST_GFLOPS, RecordedLandscape, RecordedPoint, Run

MOST_ROWS = 200_000
LONGEST_CELL = 20_000
"""Characters; a command line of a large cluster is the longest cell of an export."""
NEEDED = ("N", "NB", "grid", "gflops")
NAMES = {"Gflops": "gflops", "GFLOPS": "gflops", "Time": "time_s", VARIANT: f"program.{VARIANT}"}
"""Columns that have another name in tables of others, and the codes of forks, whose letters are the program's own."""
LEFT_OUT = frozenset(str(kind) for kind in SMALLER_RUNS)
"""Kinds of trials that are less than a full run."""
ENDED = (str(TrialState.COMPLETE), str(TrialState.FAILED), "")
"""States of trials that tell something; "" where there is no such column."""
WORDS: Mapping[str, Sequence[str]] = {
    "state": [str(one) for one in TrialState],
    "kind": [str(one) for one in Kind],
    "invalidity": [str(one) for one in Invalidity],
    "passed": ["True", "False", "yes", "no", "1", "0"],
}
"""What the cells of some columns may be, besides empty; of `passed` in any case of letters."""
NOT_PASSED = frozenset({"false", "no", "0"})
PASSES_BELOW = 16.0
"""Residuals below this pass HPL's check, unless the table has another threshold."""
HPL_RULES = (grid_uses_all_ranks, n_at_least_nb)
"""What no machine that ran HPL breaks."""
NOT_SEARCHED = frozenset({"threshold", "memory_fraction"})
"""Parameters that a column may have and a configuration of a table has not."""
MEASUREMENTS = TypeAdapter(dict[Annotated[str, Field(max_length=60, pattern="^[ -~]+$")], FiniteFloat])
"""What the cells of a column `measurements` are."""
ENOUGH_BYTES = 2**62
"""Of memory: what is in a table did fit."""


@dataclass(frozen=True)
class Row:
    """A row of the file, with its number in it, from 1 for the head."""

    path: Path
    number: int
    cells: Mapping[str, str]

    def text(self, name: str) -> str:
        """A cell; "" where it is empty or there is no such column."""
        return self.cells.get(name, "").strip()

    def number_in(self, name: str) -> float | None:
        """A finite number of at least 0; None where the cell is empty.

        Raises:
            UsageError: it is none.
        """
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0) or "_" in text:
            raise self.wrong(name, "expected a number of at least 0")
        return value

    def word(self, name: str) -> str:
        """A cell that is one of some words; "" where it is empty or there is no such column.

        Raises:
            UsageError: it is none of them.
        """
        text, words = self.text(name), WORDS[name]
        known = {word.lower() for word in words} if name == "passed" else words
        if text and (text.lower() if name == "passed" else text) not in known:
            raise self.wrong(name, f"expected one of {', '.join(words)}, or nothing")
        return text

    def wrong(self, name: str, expected: str) -> UsageError:
        """The sentence that a cell is not as it has to be."""
        text = self.text(name)
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        return UsageError(f"{self.path}, row {self.number}, column {name}: {shown or 'nothing'}: {expected}")


def read_csv(path: Path) -> RecordedLandscape:
    """Read a file; its configurations are those of its full runs.

    Raises:
        UsageError: it cannot be read or used; the sentence names the file, and the row and column where there is one.
    """
    rows, settings = list(_rows(path)), setting_dimensions()
    names = _parameters(path, rows)
    runs: dict[tuple[tuple[str, Scalar], ...], list[Run]] = {}
    first: dict[tuple[tuple[str, Scalar], ...], Row] = {}
    left_out: Counter[str] = Counter()
    for row in rows:
        if not (workload := workload_of(row.text("blas"))).is_hpl:
            raise row.wrong("blas", f"expected a run of HPL, and this is one of {workload.title}")
        why = _left_out(row)
        if why:
            left_out[why] += 1
            continue
        point = _point(row, names, settings)
        run = _run(row, int(point["N"]))
        runs.setdefault(tuple(point.items()), []).append(run)
        if run.gflops:
            first.setdefault(tuple(point.items()), row)
    if not any(run.gflops for each in runs.values() for run in each):
        raise UsageError(f"{path}: no row is a full run with a rate above 0, so there is nothing to replay")
    points = [dict(items) for items in runs]
    machine = _machine(points)
    completion = Completion(machine)
    for items, row in first.items():
        point = completion.complete(dict(items))
        wrong = next((sentence for rule in HPL_RULES if (sentence := rule(point, machine))), None)
        if wrong:
            raise UsageError(f"{row.path}, row {row.number}: {wrong}")
    counts = f"{counted(sum(map(len, runs.values())), 'run')} of {counted(len(points), 'configuration')}"
    not_read = ", ".join(f"{count} {why}" for why, count in left_out.items())
    rest = f"; {counted(left_out.total(), 'further row')} left out ({not_read})" if left_out else ""
    return RecordedLandscape(
        name=path.name,
        description=f"{counts}{rest}",
        space=_space(path, points),
        machine=machine,
        N=machine.N or 0,
        small_n=0,
        probes={},
        places=tuple(
            RecordedPoint(completion.complete(point), tuple(each), ())
            for point, each in zip(points, runs.values(), strict=True)
        ),
        nodes=max(1, *(len(run.hosts) for each in runs.values() for run in each)),
        simulated=any(row.text("rates") == "simulated" or row.text("simulated").lower() == "true" for row in rows),
    )


def _left_out(row: Row) -> str:
    """Why a row is not replayed, in a word; "" where it tells of a full run that was started and has ended.

    Raises:
        UsageError: its state or kind is none.
    """
    state, kind = row.word("state"), row.word("kind")
    if kind in LEFT_OUT:
        return kind
    if state not in ENDED:
        return state
    return "never started" if state == TrialState.FAILED and row.text("N") in {"", "0"} else ""


def _rows(path: Path) -> Iterator[Row]:
    """Yield the rows below the head.

    Raises:
        UsageError: the file is no such table, or too large.
    """
    text = read_text(path, str(path), LARGEST_BYTES, field="replay").removeprefix("\ufeff")
    _check_text(path, text)
    lines = csv.reader(StringIO(text, newline=""), strict=True)
    number = 0
    try:
        head = [NAMES.get(name.strip(), name.strip()) for name in next(lines, [])]
        parted = "grid" not in head and {"P", "Q"} <= {*head}
        _check_head(path, [*head, *(["grid"] if parted else [])])
        number = 1
        for number, cells in enumerate(lines, start=2):
            if number > MOST_ROWS:
                raise UsageError(f"{path} has more than {MOST_ROWS:,} rows: keep those that you want to replay")
            if not any(cells):
                continue
            if len(cells) != len(head):
                raise UsageError(f"{path}, row {number}: it has {len(cells)} cells, and the head has {len(head)}")
            if max(map(len, cells)) > LONGEST_CELL:
                raise UsageError(f"{path}, row {number}: a cell has more than {LONGEST_CELL:,} characters")
            named = dict(zip(head, cells, strict=True))
            yield Row(path, number, {**named, "grid": f"{named['P']}x{named['Q']}"} if parted else named)
    except csv.Error as error:
        open_quote = "a quotation mark opens a cell and none closes it"
        why = open_quote if str(error) == "unexpected end of data" else f"it is no CSV: {error}"
        raise UsageError(f"{path}, row {number + 1}: {why}") from error


def _check_text(path: Path, text: str) -> None:
    """Refuse a file in another encoding, or whose cells are not separated by commas.

    Raises:
        UsageError: it is one.
    """
    head = text.partition("\n")[0]
    if "\0" in head or head.startswith("\ufffd\ufffd"):
        raise UsageError(f"{path}: it is not in UTF-8, perhaps in UTF-16: save it as a CSV in UTF-8")
    if "\ufffd" in head:
        raise UsageError(f"{path}, row 1: it is not in UTF-8, perhaps in Latin-1: save it as a CSV in UTF-8")
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if "," not in head and mark in head:
            raise UsageError(f"{path}, row 1: its cells are separated by {name}: separate them by commas")


def _check_head(path: Path, head: Sequence[str]) -> None:
    """Refuse a head that names something twice, not at all, or wrongly.

    Raises:
        UsageError: it does.
    """
    missing = [name for name in NEEDED if name not in head]
    if missing:
        raise UsageError(
            f"{path}, row 1: there is no column {missing[0]}; a table to replay has at least {', '.join(NEEDED)}, "
            "as `hpltune export csv` writes them, or P and Q in place of grid"
        )
    twice = [name for name in head if head.count(name) > 1]
    if twice:
        raise UsageError(f"{path}, row 1: column {twice[0] or 'without a name'} is there twice")
    settings = setting_dimensions()
    for name in head:
        if name not in COLUMNS and name not in {"P", "Q"}:
            try:
                dimension(name, settings)
            except SpaceError as error:
                raise UsageError(f"{path}, row 1, column {name}: {error}") from error


def _parameters(path: Path, rows: Sequence[Row]) -> list[str]:
    """The parameters that the rows have, in the order of a space.

    Raises:
        UsageError: there are no rows.
    """
    if not rows:
        raise UsageError(f"{path} has no row below its head, so there is nothing to replay")
    head = rows[0].cells
    more = (name for name in head if name not in COLUMNS and name not in {"P", "Q"})
    order = [*(name for name in DIMENSIONS if name in head), *more]
    return [
        name
        for name in dict.fromkeys(order)
        if name not in NOT_SEARCHED and (name in NEEDED or any(row.text(name) for row in rows))
    ]


def _point(row: Row, names: Sequence[str], settings: Settings) -> dict[str, Scalar]:
    """The configuration of a row, without what is empty there and has a default.

    Raises:
        UsageError: a cell is no value of its parameter.
    """
    found: dict[str, Scalar] = {}
    for name in names:
        text, known = row.text(name), dimension(name, settings)
        if not text and name not in NEEDED and name in DIMENSIONS:
            continue
        value = converted(name, text, settings)
        if not text or not known.accepts(value) or (isinstance(value, int) and abs(value) > LARGEST_INT):
            raise row.wrong(name, f"expected {known.expected}")
        found[name] = value
    if "layout" not in found:
        P, Q = str(found["grid"]).split("x")
        ranks, threads = row.text("ranks") or str(int(P) * int(Q)), row.text("threads") or "1"
        found["layout"] = f"{ranks}x{threads}"
        try:
            ranks_and_threads(found["layout"])
        except SpaceError as error:
            raise row.wrong("ranks", str(error)) from error
    return found


def _passes_below(row: Row) -> float:
    """The residual from which on HPL's check does not pass; with a threshold of 0 or less HPL does not check.

    Raises:
        UsageError: the threshold is no number.
    """
    try:
        threshold = float(row.text("threshold") or PASSES_BELOW)
    except ValueError as error:
        raise row.wrong("threshold", "expected a number") from error
    return threshold if threshold > 0 else math.inf


def _run(row: Row, N: int) -> Run:
    """The run of a row.

    Raises:
        UsageError: a figure is wrong, or figures do not fit each other.
    """
    gflops, time_s, cost_s, residual = map(row.number_in, ("gflops", "time_s", "cost_s", "residual"))
    invalidity, passed = row.word("invalidity"), row.word("passed").lower()
    below = _passes_below(row)
    too_large = residual is not None and residual >= below
    if too_large and passed and passed not in NOT_PASSED:
        raise row.wrong("residual", f"HPL's check passes below {below:g}, and column passed is {row.text('passed')}")
    if row.text("state") == TrialState.FAILED or too_large or passed in NOT_PASSED:
        checked = passed in NOT_PASSED or too_large
        told = "HPL's check did not pass" if residual is None else f"HPL's check did not pass: residual {residual:g}"
        reason = row.text("reason") or (told if checked else "the run failed")
        stage = Invalidity(invalidity or (Invalidity.CORRECTNESS if checked else Invalidity.RUNTIME))
        return Run(None, cost_s or 0.0, cost_s or 0.0, reason=reason, residual=residual, stage=stage)
    if not gflops:
        raise row.wrong("gflops", "expected a rate above 0, or failed in a column state")
    if gflops > MOST_GFLOPS:
        raise row.wrong("gflops", f"no machine has such a rate: expected at most {MOST_GFLOPS:g}")
    hpl_s = seconds(N, gflops)
    if not math.isfinite(hpl_s) or hpl_s <= 0:
        raise row.wrong("gflops", f"no run of N={N} has such a rate")
    if time_s is not None and abs(time_s - hpl_s) > TIME_RESOLUTION_S + RATE_TOLERANCE * hpl_s:
        raise row.wrong("time_s", f"{gflops:g} GFLOPS at N={N} take {hpl_s:.2f} s")
    return Run(
        gflops,
        hpl_s,
        max(hpl_s, cost_s or 0.0),
        residual=residual,
        measurements=_measurements(row),
        hosts=tuple(dict.fromkeys(filter(None, row.text("hosts").split(",")))),
    )


def _measurements(row: Row) -> Mapping[str, float]:
    """What was measured during the run of a row; nothing where the table does not tell it.

    Raises:
        UsageError: the cell is no JSON object of numbers.
    """
    try:
        return MEASUREMENTS.validate_json(row.text("measurements") or "{}")
    except ValidationError as error:
        raise row.wrong("measurements", "expected a JSON object of numbers, as hpltune exports it") from error


def _machine(points: Sequence[Mapping[str, Scalar]]) -> Machine:
    """The smallest machine on which all configurations could run."""
    layouts = [ranks_and_threads(point["layout"]) for point in points]
    blas: dict[str, dict[str, None]] = {}
    for point in points:
        blas.setdefault(str(point.get("blas", "unknown")), {})[str(point.get("kernel", "auto"))] = None
    return Machine(
        cores=max(ranks * threads for ranks, threads in layouts),
        memory_bytes=ENOUGH_BYTES,
        blas={name: BlasFacts(tuple(kernels), usual_kernel=next(iter(kernels))) for name, kernels in blas.items()},
        N=max(int(point["N"]) for point in points),
        mpis=tuple(dict.fromkeys(str(point["mpi"]) for point in points if "mpi" in point)) or Machine.mpis,
    )


def _space(path: Path, points: Sequence[Mapping[str, Scalar]]) -> str:
    """The TOML of a space that has all configurations."""
    lines = [f"name = {json.dumps(path.stem)}", f"description = {json.dumps(f'the runs in {path.name}')}"]
    lines.append("[parameters]")
    for name in dict.fromkeys(name for point in points for name in point):
        found = list(dict.fromkeys(point[name] for point in points if name in point))
        numbers = [value for value in found if type(value) is int]
        group, dot, rest = name.partition(".")
        key = f"{group}.{json.dumps(rest)}" if dot else name
        lines.append(f"{key} = {json.dumps(sorted(numbers) if len(numbers) == len(found) else found)}")
    return "\n".join(lines) + "\n"
