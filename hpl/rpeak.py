"""Rpeak = cores x clock x FLOP per cycle, each with the reason why it was taken.

The clock is the advertised one, as the TOP500 counts; turbo can bring a run above 100 %, AVX throttling below what the
kernels could do.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import archspec.cpu

TABLE = Path(__file__).with_name("microarchitectures.toml")
ROOT = Path("/")


@dataclass(frozen=True)
class Rpeak:
    """A theoretical peak.

    Attributes:
        gflops: cores x clock_ghz x flop_per_cycle, or what the user said.
        microarchitecture: name of the row of the table, or "" where none fitted.
        reasoning: one sentence for each factor, for the user to check.
    """

    gflops: float
    cores: int
    clock_ghz: float
    flop_per_cycle: int
    microarchitecture: str
    reasoning: tuple[str, ...]

    def overruled(self, gflops: float) -> "Rpeak":
        """The same machine with the peak the user states.

        Raises:
            ValueError: it is not above zero.
        """
        if not gflops > 0:
            raise ValueError(f"Rpeak = {gflops} GFLOPS: expected a value above zero")
        sentence = f"{gflops:g} GFLOPS were given with --rpeak (detected: {self.gflops:.1f})."
        return replace(self, gflops=gflops, reasoning=(sentence,))


def detect(root: Path = ROOT) -> Rpeak:
    """The peak of the cores this process may use.

    Args:
        root: where /proc and /sys are.
    """
    cpuinfo = _text(root / "proc/cpuinfo")
    fields = _fields(cpuinfo)
    cores, why_cores = _cores(root)
    clock_ghz, why_clock = _clock(fields, root)
    rate, name, why_rate = _flop_per_cycle(fields, cpu_flags(root), root)
    gflops = cores * clock_ghz * rate
    total = f"Rpeak = {cores} x {clock_ghz:.3f} GHz x {rate} = {gflops:.1f} GFLOPS; overrule it with --rpeak."
    return Rpeak(gflops, cores, clock_ghz, rate, name, (why_cores, why_clock, why_rate, total))


def cpu_flags(root: Path = ROOT) -> frozenset[str]:
    """Instruction sets of the CPU in the kernel's words ("avx512f", "asimd")."""
    fields = _fields(_text(root / "proc/cpuinfo"))
    listed = fields.get("flags") or fields.get("Features") or ""
    return frozenset(listed.split()) | ({"altivec supported"} if "altivec" in fields.get("cpu", "") else set())


def _cores(root: Path) -> tuple[int, str]:
    cpus = sorted(os.sched_getaffinity(0)) if root == ROOT else _all_cpus(root)
    topology = root / "sys/devices/system/cpu"
    siblings = {_text(topology / f"cpu{cpu}/topology/thread_siblings_list").strip() or str(cpu) for cpu in cpus}
    cores = max(1, len(siblings))
    threads = "" if cores == len(cpus) else f", {len(cpus)} hardware threads counted as {cores} cores"
    return cores, f"{cores} physical core{'s' if cores > 1 else ''} that this process may use{threads}."


def _all_cpus(root: Path) -> list[int]:
    found = [entry.name[3:] for entry in (root / "sys/devices/system/cpu").glob("cpu[0-9]*")]
    return sorted(int(number) for number in found) or [0]


def _clock(fields: Mapping[str, str], root: Path) -> tuple[float, str]:
    """The advertised clock in GHz, from the source that is closest to what the maker advertises."""
    model = fields.get("model name", "")
    named = re.search(r"@\s*([\d.]+)\s*GHz", model)
    if named:
        return float(named[1]), f"{named[1]} GHz by the model name ({model})."
    cpufreq = root / "sys/devices/system/cpu/cpu0/cpufreq"
    for file, word in (("base_frequency", "base frequency"), ("cpuinfo_max_freq", "highest frequency")):
        text = _text(cpufreq / file).strip()
        if text.isdecimal():
            return int(text) / 1e6, f"{int(text) / 1e6:g} GHz: the {word} that the kernel gives."
    mhz = re.match(r"[\d.]+", fields.get("cpu MHz", ""))
    if mhz:
        sentence = (
            f"{float(mhz[0]) / 1000:.3f} GHz by /proc/cpuinfo: in a virtual machine the host decides what it shows."
        )
        return float(mhz[0]) / 1000, sentence
    clock = re.match(r"[\d.]+", fields.get("clock", ""))
    if clock:
        return float(clock[0]) / 1000, f"{float(clock[0]) / 1000:.3f} GHz by /proc/cpuinfo."
    return 1.0, "the clock is not known: 1 GHz is a placeholder, give the peak with --rpeak."


def _flop_per_cycle(fields: Mapping[str, str], flags: frozenset[str], root: Path) -> tuple[int, str, str]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    known = str(archspec.cpu.host().name) if root == ROOT else ""
    for row in table["microarchitecture"]:
        how = _matches(row, fields, known)
        if how:
            rate, note = _units(row, fields)
            return rate, str(row["name"]), f"{rate} FLOP per cycle: {row['name']} {how}; {note}{row['source']}."
    for row in table["by_flag"]:
        if row["flag"] in flags:
            guess = (
                f"{row['flop_per_cycle']} FLOP per cycle, a guess: the CPU is not in the table but has {row['flag']}"
            )
            return int(row["flop_per_cycle"]), "", f"{guess} ({row['source']})."
    return 2, "", "2 FLOP per cycle, a guess: nothing is known of this CPU; give the peak with --rpeak."


def _matches(row: Mapping[str, Any], fields: Mapping[str, str], known: str) -> str:
    """How a row fits this CPU, as a phrase; "" where it does not."""
    if known and known in row.get("archspec", ()):
        return f"(archspec: {known})"
    vendor, family, model = fields.get("vendor_id", ""), fields.get("cpu family", ""), fields.get("model", "")
    for cpu in row.get("cpus", ()):
        same = vendor == cpu["vendor"] and family == str(cpu["family"])
        if same and model in (str(number) for number in cpu.get("models", (model,))):
            return f"({vendor}, family {family}, model {model})"
    part = f"{fields.get('CPU implementer', '')}/{fields.get('CPU part', '')}"
    return f"(CPU part {part})" if part in row.get("parts", ()) else ""


def _units(row: Mapping[str, Any], fields: Mapping[str, str]) -> tuple[int, str]:
    """FLOP per cycle of the row, less where the model name tells of a part with one FMA unit."""
    single = row.get("one_fma")
    model = fields.get("model name", "")
    if single and int(fields.get("model", "0")) in single["models"] and re.search(single["pattern"], model):
        return int(single["flop_per_cycle"]), f"{model} is a part with one such unit; "
    return int(row["flop_per_cycle"]), ""


def _fields(cpuinfo: str) -> dict[str, str]:
    """The first value of each field of /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    return fields


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
