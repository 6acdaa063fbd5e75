"""Finds a CPU's double-precision FLOP per cycle in `microarchitectures.toml`, with the reason for the choice."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .cpuinfo import CpuInfo

TABLE = Path(__file__).with_name("microarchitectures.toml")
NOTHING_KNOWN = "this CPU is not in the table and shows no vector instructions; give the peak with --rpeak"


@dataclass(frozen=True)
class CoreType:
    """The operations that a core can do in a cycle.

    Attributes:
        name: the name of a row in the table; "" for a guess.
        reasoning: how the row was found, its source, and its uncertainty.
    """

    name: str
    flop_per_cycle: int
    reasoning: str


def core_type(info: CpuInfo, cpu: int, flags: frozenset[str], archspec_name: str, *, efficiency: bool) -> CoreType:
    """Look up a CPU by its own numbers, then by archspec's name, then by its instruction sets (a guess).

    Instruction sets that prove a faster core overrule the row, because a virtual machine may show another model.

    Args:
        flags: the CPU's instruction sets, in the kernel's words.
        archspec_name: archspec's name of this host; "" where archspec was not asked.
        efficiency: whether the kernel lists the core among the smaller cores of a hybrid CPU.
    """
    known = _looked_up(info, cpu, flags, archspec_name, efficiency=efficiency)
    for proof in _table()["proof"]:
        shown = [flag for flag in proof["flags"] if flag in flags]
        proved = shown and info.field(cpu, "vendor_id") == proof["vendor"] and known.name not in proof.get("unless", ())
        if proved and known.flop_per_cycle < proof["flop_per_cycle"] and not efficiency:
            model = f"which {known.name} has not" if known.name else "and its model is not in the table"
            how = f"because the CPU has {shown[0]}, {model} (a virtual machine may show another model)"
            return CoreType(proof["name"], proof["flop_per_cycle"], f"{proof['name']}, {how}: {proof['source']}")
    return known


def _looked_up(info: CpuInfo, cpu: int, flags: frozenset[str], archspec_name: str, *, efficiency: bool) -> CoreType:
    rows = _table()["microarchitecture"]
    for row in rows:
        how = _by_numbers(row, info, cpu)
        if how:
            return _of_row(row, how, efficiency=efficiency)
    for row in rows:
        if archspec_name and archspec_name in row.get("archspec", ()):
            return _of_row(row, f"archspec says {archspec_name}", efficiency=efficiency)
    for row in _table()["by_flag"]:
        if row["flag"] in flags:
            why = f"a guess, because the CPU is not in the table but has {row['flag']}: {row['source']}"
            return CoreType("", int(row["flop_per_cycle"]), why)
    return CoreType("", 2, f"a guess: {NOTHING_KNOWN}")


@cache
def _table() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def _of_row(row: Mapping[str, Any], how: str, *, efficiency: bool) -> CoreType:
    chosen = row.get("efficiency", row) if efficiency else row
    caution = f"; {row['caution']}" if "caution" in row else ""
    return CoreType(chosen["name"], int(chosen["flop_per_cycle"]), f"{chosen['name']}, {how}: {row['source']}{caution}")


def _by_numbers(row: Mapping[str, Any], info: CpuInfo, cpu: int) -> str:
    """Say how the CPU's own numbers fit a row; "" where they do not."""
    if not re.search(row.get("model_name", ""), info.field(cpu, "model name")):
        return ""
    vendor, family, model = (info.field(cpu, name) for name in ("vendor_id", "cpu family", "model"))
    for entry in row.get("x86", ()):
        same = (vendor, family) == (entry["vendor"], str(entry["family"]))
        if same and _within(model, entry.get("models")):
            return f"{vendor} family {family} model {model}"
    part = f"{info.field(cpu, 'CPU implementer')}/{info.field(cpu, 'CPU part')}"
    if part in row.get("arm", ()):
        return f"CPU part {part}"
    named = [name for field in ("cpu", "uarch") for name in row.get(field, ()) if _named(info.field(cpu, field), name)]
    return f"/proc/cpuinfo names {named[0]}" if named else ""


def _named(value: str, name: str) -> bool:
    return value == name or bool(re.match(rf"{re.escape(name)}\b", value))


def _within(model: str, ranges: Iterable[Sequence[int]] | None) -> bool:
    if ranges is None:
        return True
    return model.isdecimal() and any(low <= int(model) <= high for low, high in ranges)
