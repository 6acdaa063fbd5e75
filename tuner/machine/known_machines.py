"""Reads the table of published HPL results, each with its source, and finds those of a CPU or a cluster."""

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from ..errors import TunerError

TABLE = Path(__file__).with_name("known_machines.csv")
KINDS = ("cpu", "board", "cluster")
"""One computer, one single-board computer, several computers with a network."""
MOST_OF_PEAK = 1.5
"""Rmax over Rpeak: the base clock of Rpeak may be exceeded, but not by more than this."""
SOURCE = re.compile(r"https?://[\w.-]+/[\w./#?=&%~+-]*", re.ASCII)


BOARDS = {
    "raspberry pi 5": "broadcom bcm2712",
    "raspberry pi compute module 5": "broadcom bcm2712",
    "raspberry pi 4": "broadcom bcm2711",
    "raspberry pi compute module 4": "broadcom bcm2711",
    "raspberry pi 3 model b plus": "broadcom bcm2837b0",
    "raspberry pi 3 model b": "broadcom bcm2837",
    "raspberry pi model b": "broadcom bcm2835",
    "raspberry pi zero 2": "broadcom rp3a0",
}
"""The CPU of a board whose kernel names the board only; 500 and 400 begin as 5 and 4 do and have the same CPU."""
_MARKS = re.compile(r"\((?:r|tm|c)\)|®|™", re.IGNORECASE)
_BEHIND = re.compile(r"\s(?:@|w/|with\s|\d+-core\b|(?:six|eight|quad|dual)-core\b).*", re.IGNORECASE)
_GENERATION = re.compile(r"^\d+th gen\s", re.IGNORECASE)
_NOISE = re.compile(r"\b(?:cpu|processor)\b", re.IGNORECASE)
_BEFORE = re.compile(r"^(?:\d+ ?x )?(?:(?:intel|amd) )?")


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
        """Rmax in percent of Rpeak; None where that is not known, or was too low a clock's."""
        percent = 100.0 * self.rmax_gflops / (self.rpeak_gflops or math.inf)
        return percent if 0.0 < percent <= 100.0 else None

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


def cpu_key(model: str) -> str:
    """Return what identifies a CPU: "xeon e5-2680 v4" for "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz".

    A user's "2 x Xeon E5-2680 v4" is the same. "" where no model is named, as by virtual machines that show
    "Intel(R) Xeon(R) Processor".
    """
    plain = " ".join(_MARKS.sub(" ", model).split()).replace("Core 2", "Core2")
    bare = _NOISE.sub(" ", _BEHIND.sub("", _GENERATION.sub("", plain)))
    key = _BEFORE.sub("", re.sub(r" 0$", "", " ".join(bare.casefold().split())))
    for board, cpu in BOARDS.items():
        if key.startswith(board):
            return cpu
    return key if re.search(r"\d", key) else ""


def same_cpu(model: str, machines: Iterable[KnownMachine]) -> tuple[KnownMachine, ...]:
    """Return the published results of exactly this CPU.

    Args:
        model: as the kernel names it.
    """
    key = cpu_key(model)
    return tuple(machine for machine in machines if key and cpu_key(machine.cpu) == key)


def same_cluster(name: str, rpeak_gflops: float, machines: Iterable[KnownMachine]) -> tuple[KnownMachine, ...]:
    """Return the published results of a cluster: the name and Rpeak must be the same, because names are not unique."""
    return tuple(
        machine
        for machine in machines
        if machine.machine.casefold() == name.casefold()
        and machine.rpeak_gflops is not None
        and abs(rpeak_gflops / machine.rpeak_gflops - 1) < 0.01
    )
