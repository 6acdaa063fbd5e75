"""Computes Rpeak = cores x clock x FLOP per cycle, with the reason for each factor.

The clock is the advertised one, as in the TOP500. With turbo a run can exceed 100 %; AVX throttling lowers the rate
below what the kernels could reach.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import HplError
from .advertised_clock import AdvertisedClock, advertised_clock
from .cpuinfo import ROOT, CpuInfo, cpu_flags, read, text
from .microarchitectures import CoreType, core_type
from .usable_cores import usable_cores

__all__ = ["Rpeak", "RpeakError", "cpu_flags", "detect"]

PLACEHOLDER_GHZ = 1.0


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
    """

    gflops: float
    cores: int
    clock_ghz: float
    flop_per_cycle: int
    microarchitecture: str
    reasoning: tuple[str, ...]
    strongest: float = 1.0

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
        sentence = f"{gflops:g} GFLOPS were given with --rpeak (detected: {self.gflops:.1f})."
        return replace(self, gflops=gflops, reasoning=(sentence,))


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
    info = read(root)
    cores = usable_cores(info, root, usable)
    flags = cpu_flags(root)
    named = (_archspec_host() if root == ROOT else "") if archspec_name is None else archspec_name
    counts: dict[_Kind, int] = {}
    efficiency_cpus = _cpu_list(text(root / "sys/devices/cpu_atom/cpus"))
    for cpu in cores.cpus:
        kind = _Kind(
            core_type(info, cpu, flags, named, efficiency=cpu in efficiency_cpus and bool(_performance_cpus(root))),
            advertised_clock(info, cpu, root),
        )
        counts[kind] = counts.get(kind, 0) + 1
    gflops = sum(count * kind.gflops_per_core for kind, count in counts.items())
    best = max(counts, key=lambda kind: kind.gflops_per_core)
    strongest = best.gflops_per_core * len(cores.cpus) / gflops
    reasons = (cores.reasoning, *_reasons(counts, info), _total(counts, gflops))
    return Rpeak(gflops, len(cores.cpus), best.ghz, best.type.flop_per_cycle, best.type.name, reasons, strongest)


def _reasons(counts: Mapping[_Kind, int], info: CpuInfo) -> Iterator[str]:
    for kind, count in counts.items():
        whose = f"{count} of the cores: " if len(counts) > 1 else ""
        if kind.clock.ghz:
            yield f"{whose}{_figure(kind.ghz)} GHz ({kind.clock.origin})."
        else:
            yield f"{whose}{kind.clock.origin}: {PLACEHOLDER_GHZ:g} GHz is a placeholder, give the peak with --rpeak."
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
    return f"Rpeak = {terms} = {gflops:.1f} GFLOPS; override it with --rpeak."


def _figure(ghz: float) -> str:
    return f"{ghz:.3f}".rstrip("0").rstrip(".")


def _archspec_host() -> str:
    import archspec.cpu  # noqa: PLC0415 - its database takes 50 ms to load

    return str(archspec.cpu.host().name)


def _performance_cpus(root: Path) -> frozenset[int]:
    return _cpu_list(text(root / "sys/devices/cpu_core/cpus"))


def _cpu_list(listed: str) -> frozenset[int]:
    """Parse a list of the kernel such as "0-7,16"."""
    spans = [span.split("-") for span in listed.split(",") if span.strip()]
    return frozenset(cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1))
