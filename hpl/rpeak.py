"""Computes Rpeak = cores x clock x FLOP per cycle, with the reason for each factor.

The clock is the advertised one, as in the TOP500. With turbo a run can exceed 100 %; AVX throttling lowers the rate
below what the kernels could reach. Facts of the CPUs are read from /proc/cpuinfo and small files of the kernel, below
a root that the caller names.
"""

import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from .errors import HplError

ROOT = Path("/")
PLACEHOLDER_GHZ = 1.0

TABLE = Path(__file__).with_name("microarchitectures.toml")
NOTHING_KNOWN = "this CPU is not in the table and shows no vector instructions; give the peak with ⟦rpeak⟧"


class RpeakError(HplError, ValueError):
    """The peak is not possible."""


@dataclass(frozen=True)
class Rpeak:
    """A theoretical peak.

    Attributes:
        gflops: the sum over the kinds of cores of cores x clock_ghz x flop_per_cycle; or the user's figure.
        clock_ghz, flop_per_cycle, microarchitecture: of the strongest kind of core; "" where no row of the table fits.
        reasoning: a sentence for each factor, for the user to check.
        strongest: the peak of the strongest kind of core over that of the average core; above 1 on hybrid CPUs.
        quota_cpus: CPUs that the control group allows, where `cores` are fewer than there are for that; None else.
        stated: the user gave the figure.
    """

    gflops: float
    cores: int
    clock_ghz: float
    flop_per_cycle: int
    microarchitecture: str
    reasoning: tuple[str, ...]
    strongest: float = 1.0
    quota_cpus: float | None = None
    stated: bool = False

    @property
    def core_gflops(self) -> float:
        """The peak of one core of the strongest kind, in GFLOPS."""
        return self.strongest * self.gflops / self.cores

    def overruled(self, gflops: float) -> "Rpeak":
        """Return a copy with the peak that the user states.

        Raises:
            RpeakError: the peak is not above zero.
        """
        if not 0 < gflops < float("inf"):
            raise RpeakError(f"Rpeak = {gflops} GFLOPS: expected a number above zero")
        sentence = f"{gflops:g} GFLOPS were given with ⟦rpeak⟧ (detected: {self.gflops:.1f})."
        return replace(self, gflops=gflops, reasoning=(sentence,), stated=True)


@dataclass(frozen=True)
class CpuInfo:
    """The fields of /proc/cpuinfo.

    Attributes:
        processors: the fields of each logical CPU, by the CPU's number.
        general: fields of the whole machine (ARM's "Model", POWER's "platform").
    """

    processors: Mapping[int, Mapping[str, str]]
    general: Mapping[str, str]

    def field(self, cpu: int, name: str) -> str:
        """Return a field of a CPU, else of the machine, else ""."""
        return self.processors.get(cpu, {}).get(name) or self.general.get(name, "")


def read_cpuinfo(root: Path = ROOT) -> CpuInfo:
    """Read /proc/cpuinfo below `root`; a file that cannot be read counts as one without CPUs."""
    return parse_cpuinfo(text(root / "proc/cpuinfo"))


def parse_cpuinfo(cpuinfo: str) -> CpuInfo:
    """Parse the text of /proc/cpuinfo: a block of "name : value" lines for each CPU."""
    processors: dict[int, dict[str, str]] = {}
    general: dict[str, str] = {}
    block = general
    for line in cpuinfo.splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if name == "processor" and value.isdecimal():
            block = processors.setdefault(int(value), {})
        elif colon:
            block.setdefault(name, value)
        elif not line.strip():
            block = general
    return CpuInfo(processors, general)


def cpu_flags(root: Path = ROOT) -> frozenset[str]:
    """Return the instruction sets of all CPUs, in the kernel's words ("avx512f", "asimd", "altivec supported")."""
    info = read_cpuinfo(root)
    listed = [flags_of(info, cpu) for cpu in info.processors]
    return frozenset.intersection(*listed) if listed else frozenset()


def text(path: Path) -> str:
    """Read a small file of the kernel, stripped; "" where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def flags_of(info: CpuInfo, cpu: int) -> frozenset[str]:
    """Return the instruction sets of one CPU, in the kernel's words."""
    words = (info.field(cpu, "flags") or info.field(cpu, "Features")).split()
    power = ["altivec supported"] if "altivec" in info.field(cpu, "cpu") else []
    return frozenset([*words, *power])


@dataclass(frozen=True)
class AdvertisedClock:
    """A clock in GHz and its source; 0 GHz where it is not known."""

    ghz: float
    origin: str


@dataclass(frozen=True)
class CoreType:
    """The operations that a core can do in a cycle.

    Attributes:
        name: the name of a row in the table; "" for a guess.
        reasoning: how the row was found, its source, and its uncertainty.
        efficiency: the name of the smaller cores, where the CPU has both kinds; "" else.
    """

    name: str
    flop_per_cycle: int
    reasoning: str
    efficiency: str = ""


@dataclass(frozen=True)
class _Kind:
    """A kind of cores."""

    type: CoreType
    clock: AdvertisedClock

    @property
    def ghz(self) -> float:
        return self.clock.ghz or PLACEHOLDER_GHZ

    @property
    def gflops_per_core(self) -> float:
        return self.ghz * self.type.flop_per_cycle


def detect(root: Path = ROOT, *, usable: Collection[int] | None = None, archspec_name: str | None = None) -> Rpeak:
    """Compute the peak of the cores that this process may use.

    Args:
        root: the folder with /proc and /sys.
        usable: the logical CPUs to count; None takes those on which this process may run.
        archspec_name: archspec's name of the CPU; None asks archspec, for this machine only.
    """
    info = read_cpuinfo(root)
    cores = usable_cores(info, root, usable)
    flags = cpu_flags(root)
    named = archspec_name or ""
    if archspec_name is None and root == ROOT:
        import archspec.cpu  # noqa: PLC0415 - its database takes 50 ms to load

        named = str(archspec.cpu.host().name)
    counts: dict[_Kind, int] = {}
    efficiency_cpus = _cpu_list(text(root / "sys/devices/cpu_atom/cpus"))
    if not _cpu_list(text(root / "sys/devices/cpu_core/cpus")):
        efficiency_cpus = frozenset()
    for cpu in cores.cpus:
        kind = _Kind(
            core_type(info, cpu, flags, named, efficiency=cpu in efficiency_cpus),
            advertised_clock(info, cpu, root),
        )
        counts[kind] = counts.get(kind, 0) + 1
    gflops = sum(count * kind.gflops_per_core for kind, count in counts.items())
    best = max(counts, key=lambda kind: kind.gflops_per_core)
    strongest = best.gflops_per_core * len(cores.cpus) / gflops
    reasons = (cores.reasoning, *_reasons(counts, info), _total(counts, gflops))
    facts = gflops, len(cores.cpus), best.ghz, best.type.flop_per_cycle, best.type.name
    return Rpeak(*facts, reasons, strongest, cores.quota_cpus)


def _reasons(counts: Mapping[_Kind, int], info: CpuInfo) -> Iterator[str]:
    for kind, count in counts.items():
        whose = f"{count} of the cores: " if len(counts) > 1 else ""
        if kind.clock.ghz:
            yield f"{whose}{_figure(kind.ghz)} GHz ({kind.clock.origin})."
        else:
            yield f"{whose}{kind.clock.origin}: {PLACEHOLDER_GHZ:g} GHz is a placeholder, give the peak with ⟦rpeak⟧."
        yield f"{whose}{kind.type.flop_per_cycle} FLOP/cycle ({kind.type.reasoning})."
    if any("hypervisor" in info.field(cpu, "flags").split() for cpu in info.processors):
        yield (
            "This is a virtual machine: the host decides which clock it shows, the real one may be higher (then more "
            "than 100 % is possible), and a virtual CPU may be half a physical core."
        )


def _total(counts: Mapping[_Kind, int], gflops: float) -> str:
    terms = " + ".join(
        f"{count} x {_figure(kind.ghz)} GHz x {kind.type.flop_per_cycle}" for kind, count in counts.items()
    )
    return f"Rpeak = {terms} = {gflops:.1f} GFLOPS; override it with ⟦rpeak⟧."


def _figure(ghz: float) -> str:
    return f"{ghz:.3f}".rstrip("0").rstrip(".")


def _cpu_list(listed: str) -> frozenset[int]:
    """Parse a list of the kernel such as "0-7,16"."""
    spans = [span.split("-") for span in listed.split(",") if span.strip()]
    return frozenset(cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1))


UNKNOWN = AdvertisedClock(0.0, "nothing on this machine tells the clock")


def advertised_clock(info: CpuInfo, cpu: int, root: Path = ROOT) -> AdvertisedClock:
    """Read the clock of one logical CPU from the source that is closest to the maker's figure."""
    sources = _X86 if info.field(cpu, "flags") else _OTHERS
    found = (source(info, cpu, root) for source in sources)
    return next((clock for clock in found if clock is not None), UNKNOWN)


def _model_name(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001 - all sources are asked alike
    named = re.search(r"@\s*(\d+(?:\.\d+)?)\s*GHz", info.field(cpu, "model name"))
    return AdvertisedClock(float(named[1]), "model name") if named else None


def _base_frequency(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    return _clock(text(_cpu_folder(root, cpu) / "cpufreq/base_frequency"), 1e6, "the kernel's base_frequency")


def _nominal(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    return _clock(text(_cpu_folder(root, cpu) / "acpi_cppc/nominal_freq"), 1e3, "the firmware's nominal frequency")


def _time_stamp_counter(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    """Read x86's time stamp counter, which runs at the advertised clock; BogoMIPS are twice that clock in MHz."""
    if "constant_tsc" not in info.field(cpu, "flags").split():
        return None
    return _clock(info.field(cpu, "bogomips"), 2e3, "the time stamp counter, BogoMIPS / 2")


def _highest(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    return _clock(text(_cpu_folder(root, cpu) / "cpufreq/cpuinfo_max_freq"), 1e6, "the kernel's highest frequency")


def _cpuinfo_clock(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    """Read POWER's field "clock : 3800.000000MHz"."""
    return _clock(info.field(cpu, "clock").removesuffix("MHz"), 1e3, "/proc/cpuinfo")


def _cpuinfo_mhz(info: CpuInfo, cpu: int, root: Path) -> AdvertisedClock | None:  # noqa: ARG001
    return _clock(info.field(cpu, "cpu MHz"), 1e3, "the clock of this moment in /proc/cpuinfo")


def _clock(number: str, per_ghz: float, origin: str) -> AdvertisedClock | None:
    try:
        ghz = float(number) / per_ghz
    except ValueError:
        return None
    return AdvertisedClock(ghz, origin) if ghz > 0 else None


def _cpu_folder(root: Path, cpu: int) -> Path:
    return root / f"sys/devices/system/cpu/cpu{cpu}"


_Source = Callable[[CpuInfo, int, Path], AdvertisedClock | None]
_X86: tuple[_Source, ...] = (_model_name, _base_frequency, _nominal, _time_stamp_counter, _cpuinfo_mhz, _highest)
_OTHERS: tuple[_Source, ...] = (_nominal, _cpuinfo_clock, _base_frequency, _highest, _model_name)


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
    return CoreType(
        chosen["name"],
        int(chosen["flop_per_cycle"]),
        f"{chosen['name']}, {how}: {row['source']}{caution}",
        row.get("efficiency", {}).get("name", ""),
    )


def _by_numbers(row: Mapping[str, Any], info: CpuInfo, cpu: int) -> str:
    """Say how the CPU's own numbers fit a row; "" where they do not."""
    if not re.search(row.get("model_name", ""), info.field(cpu, "model name")):
        return ""
    vendor, family, model = (info.field(cpu, name) for name in ("vendor_id", "cpu family", "model"))
    for entry in row.get("x86", ()):
        same = (vendor, family) == (entry["vendor"], str(entry["family"]))
        ranges = entry.get("models")
        if same and (ranges is None or (model.isdecimal() and any(low <= int(model) <= high for low, high in ranges))):
            return f"{vendor} family {family} model {model}"
    part = f"{info.field(cpu, 'CPU implementer')}/{info.field(cpu, 'CPU part')}"
    if part in row.get("arm", ()):
        return f"CPU part {part}"
    named = [name for field in ("cpu", "uarch") for name in row.get(field, ()) if _named(info.field(cpu, field), name)]
    return f"/proc/cpuinfo names {named[0]}" if named else ""


def _named(value: str, name: str) -> bool:
    return value == name or bool(re.match(rf"{re.escape(name)}\b", value))


@dataclass(frozen=True)
class UsableCores:
    """The cores that count.

    Attributes:
        cpus: one logical CPU of each physical core, in order.
        reasoning: a sentence that says how they were counted.
        quota_cpus: CPUs that the control group allows, where that makes them fewer; None else.
    """

    cpus: tuple[int, ...]
    reasoning: str
    quota_cpus: float | None = None


def usable_cores(info: CpuInfo, root: Path = ROOT, usable: Collection[int] | None = None) -> UsableCores:
    """Count the physical cores behind the logical CPUs.

    Args:
        usable: the logical CPUs on which this process may run. None asks the scheduler, which knows cpusets and
            taskset; for another root None takes all CPUs.
    """
    if usable is None:
        usable = os.sched_getaffinity(0) if root == ROOT else info.processors
    cpus = sorted(usable) or [0]
    cores: dict[str, int] = {}
    for cpu in cpus:
        cores.setdefault(_core_of(cpu, info, root), cpu)
    chosen = tuple(cores.values())
    sentence = f"{len(chosen)} physical core{'s' if len(chosen) > 1 else ''}: {_counted(cpus, chosen, info)}"
    quota = min(_quotas(root), default=float(len(chosen)))
    if quota >= len(chosen):
        return UsableCores(chosen, f"{sentence}.")
    chosen = chosen[: max(1, int(quota))]
    sentence += f", limited to {len(chosen)} by the control group's quota of {quota:g} CPUs"
    return UsableCores(chosen, f"{sentence}.", quota)


def _counted(cpus: Collection[int], cores: Collection[int], info: CpuInfo) -> str:
    part = f"{len(cpus)} of {len(info.processors)}" if len(cpus) < len(info.processors) else f"all {len(cpus)}"
    threads = " (hardware threads of one core count once)" if len(cores) < len(cpus) else ""
    return f"{part} logical CPUs may be used by this process{threads}"


def _core_of(cpu: int, info: CpuInfo, root: Path) -> str:
    """Name the core of a logical CPU, alike for its hardware threads: by sysfs, else /proc/cpuinfo, else alone."""
    siblings = text(root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    if siblings:
        return siblings
    package, core = info.field(cpu, "physical id"), info.field(cpu, "core id")
    return f"package {package} core {core}" if core else f"cpu {cpu}"


def _quotas(root: Path) -> Iterator[float]:
    """Yield the numbers of CPUs that the control groups of this process and their parents allow."""
    for line in text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, inside = rest.partition(":")
        for mount in _mounts(controllers, root / "sys/fs/cgroup"):
            group = mount / inside.lstrip("/")
            for folder in (group, *group.parents):
                if folder.is_relative_to(mount):
                    yield from _quota(folder)


def _mounts(controllers: str, cgroups: Path) -> list[Path]:
    """List where a group of /proc/self/cgroup may be mounted: a line of version 2 names no controllers."""
    if not controllers:
        return [cgroups]
    return [cgroups / controllers, cgroups / "cpu"] if "cpu" in controllers.split(",") else []


def _quota(folder: Path) -> Iterator[float]:
    allowed, period = [*text(folder / "cpu.max").split(), "", ""][:2]
    if not allowed:
        allowed, period = text(folder / "cpu.cfs_quota_us"), text(folder / "cpu.cfs_period_us")
    if allowed.isdecimal() and period.isdecimal() and int(period) > 0:
        yield int(allowed) / int(period)
