"""Reads the table of published HPL results: one row for each result, with its source."""

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from ...errors import TunerError

TABLE = Path(__file__).with_name("known_machines.csv")
KINDS = ("cpu", "board", "cluster")
"""One computer, one single-board computer, several computers with a network."""
MOST_OF_PEAK = 1.5
"""Rmax over Rpeak: the base clock of Rpeak may be exceeded, but not by more than this."""
SOURCE = re.compile(r"https?://[\w.-]+/[\w./#?=&%~+-]*", re.ASCII)


class KnownMachinesError(TunerError):
    """A row of the table cannot be used; the message names file, line and column."""


@dataclass(frozen=True)
class KnownMachine:
    """A published result.

    Attributes:
        machine: its name; each has one row.
        kind: "cpu", "board" or "cluster".
        cpu: as the CPU names itself, without marks and clock.
        nodes, cores, n, nb: None where the source does not tell.
        rpeak_gflops: cores x base clock x FLOP per cycle; None where that cannot be told, as of CPUs with unlike cores.
        power_w: of the whole machine under load.
        source: where the figure stands.
    """

    machine: str
    kind: str
    cpu: str
    nodes: int | None
    cores: int | None
    rmax_gflops: float
    rpeak_gflops: float | None
    power_w: float | None
    n: int | None
    nb: int | None
    source: str
    note: str

    @property
    def percent_of_peak(self) -> float | None:
        """Rmax in percent of Rpeak."""
        return None if self.rpeak_gflops is None else 100.0 * self.rmax_gflops / self.rpeak_gflops

    @property
    def gflops_per_core(self) -> float | None:
        """Rmax for each core, in GFLOPS."""
        return None if self.cores is None else self.rmax_gflops / self.cores

    @property
    def mflops_per_watt(self) -> float | None:
        """Rmax for each watt, in MFLOPS."""
        return None if self.power_w is None else 1000.0 * self.rmax_gflops / self.power_w


COLUMNS = tuple(field.name for field in fields(KnownMachine))


@dataclass(frozen=True)
class _Row:
    """A row that is being read."""

    place: str
    cells: Mapping[str, str]

    def error(self, column: str, problem: str) -> KnownMachinesError:
        return KnownMachinesError(f"{self.place}, column {column}: {self.cells[column]!r}: {problem}")

    def text(self, column: str) -> str:
        cell = self.cells[column]
        if not cell or cell != cell.strip() or not cell.isprintable():
            raise self.error(column, "expected a text without blanks at its ends")
        return cell

    def figure(self, column: str) -> float | None:
        cell = self.cells[column]
        if not cell:
            return None
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise self.error(column, "expected a number above zero, without unit and comma, or nothing")
        return value

    def count(self, column: str) -> int | None:
        cell = self.cells[column]
        if cell and not re.fullmatch(r"[1-9]\d*", cell, re.ASCII):
            raise self.error(column, "expected a whole number above zero, or nothing")
        return int(cell) if cell else None


def read_known_machines(file: Path) -> tuple[KnownMachine, ...]:
    """Read a table of published results.

    Raises:
        KnownMachinesError: a row is wrong; the message names file, line and column.
    """
    with file.open(encoding="utf-8", newline="") as opened:
        lines = csv.reader(opened)
        if tuple(next(lines, ())) != COLUMNS:
            raise KnownMachinesError(f"{file.name}, line 1: expected the columns {','.join(COLUMNS)}")
        found: dict[str, KnownMachine] = {}
        for cells in lines:
            place = f"{file.name}, line {lines.line_num}"
            if len(cells) != len(COLUMNS):
                raise KnownMachinesError(f"{place}: {len(cells)} cells for {len(COLUMNS)} columns")
            row = _Row(place, dict(zip(COLUMNS, cells, strict=True)))
            machine = _machine(row)
            if found.setdefault(machine.machine, machine) is not machine:
                raise row.error("machine", "another row has this name")
    return tuple(found.values())


@cache
def known_machines() -> tuple[KnownMachine, ...]:
    """Read the table that is shipped."""
    return read_known_machines(TABLE)


def _machine(row: _Row) -> KnownMachine:
    machine = KnownMachine(
        machine=row.text("machine"),
        kind=row.text("kind"),
        cpu=row.text("cpu"),
        nodes=row.count("nodes"),
        cores=row.count("cores"),
        rmax_gflops=row.figure("rmax_gflops") or 0.0,
        rpeak_gflops=row.figure("rpeak_gflops"),
        power_w=row.figure("power_w"),
        n=row.count("n"),
        nb=row.count("nb"),
        source=row.text("source"),
        note=row.text("note") if row.cells["note"] else "",
    )
    if machine.kind not in KINDS:
        raise row.error("kind", f"expected one of {', '.join(KINDS)}")
    if not machine.rmax_gflops:
        raise row.error("rmax_gflops", "expected a number above zero")
    if machine.rpeak_gflops is not None and machine.rmax_gflops > MOST_OF_PEAK * machine.rpeak_gflops:
        raise row.error(
            "rpeak_gflops", f"Rmax is {machine.rmax_gflops:g}, which is more than {MOST_OF_PEAK} times that"
        )
    if not SOURCE.fullmatch(machine.source):
        raise row.error("source", "expected an address that begins with https:// or http://")
    return machine
