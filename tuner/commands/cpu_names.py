"""CPUs by the names under which they are sold, or by those that archspec gives them."""

import csv
import difflib
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from hpl.rpeak import CoreType, CpuInfo, core_type
from results.report.model import Report, Sentence, Table, columns

from ..errors import UsageError
from ..machine.described import DescribedCpu
from ..machine.problem_size import NB_BY_KERNEL, NB_UNKNOWN

LIST = Path(__file__).with_name("cpu_names.csv")
"""A line for each kind of name: a pattern (? is any sign, * any signs, [12] one of these), and what archspec calls it.

The first line that fits counts. `flop_per_cycle` stands where archspec's name does not tell it.
"""
_DECORATION = re.compile(
    r"\((r|tm)\)|[®™]|@.*|\b\d+(th|nd|rd|st) gen\b|\b\d+-cores?\b|\b(intel|amd|core|cpu|processor)\b"
)
"""What /proc/cpuinfo and shops write around a name."""


@dataclass(frozen=True)
class SoldCpu:
    """A line of the list.

    Attributes:
        name: a pattern of names.
        flop_per_cycle: None where archspec's name tells it.
        domain_cores: that share a NUMA node or an L3 cache, where all of its kind have as many: the core memory groups
            of Fujitsu's A64FX, the dies of NVIDIA's Grace.
    """

    name: str
    archspec: str
    flop_per_cycle: int | None
    domain_cores: int | None = None

    def described(self, called: str) -> DescribedCpu:
        """The CPU with its blocking, and the operations of a core in a cycle.

        Args:
            called: its name in sentences.
        """
        target = _targets()[self.archspec]
        likes = [self.archspec, *(["skylakex"] if "avx512f" in target.features else [])]
        likes += [one.name for one in target.ancestors]
        kernels = (NB_BY_KERNEL.get(like.replace("_", "")) for like in likes)
        NB = next((size for size in kernels if size), NB_UNKNOWN)
        core = core_type(CpuInfo({}, {}), 0, frozenset(target.features), self.archspec, efficiency=False)
        if self.flop_per_cycle:
            core = CoreType(core.name, self.flop_per_cycle, f"as makers state of {self.name}")
        return DescribedCpu(called, NB, core, self.domain_cores)


def read_cpu(text: str) -> DescribedCpu:
    """The CPU that is sold as "EPYC 9654" or "Core i7-12700K", or that archspec calls "zen4" or "Skylake-AVX512".

    Raises:
        UsageError: nobody calls one so.
    """
    name = re.sub(r"[\s-]+", "_", text.strip().lower())
    if name in _targets():
        alike = (one for one in sold_cpus() if _plain(one.name) == _plain(name))
        return next(alike, SoldCpu(name, name, None)).described(name)
    sold = next((one for one in sold_cpus() if fnmatchcase(_plain(text), _plain(one.name))), None)
    if sold is not None:
        return sold.described(f"{text.strip()} ({sold.archspec})")
    names = {**{_plain(one.name): one.name for one in sold_cpus()}, **{target: target for target in _targets()}}
    near = difflib.get_close_matches(_plain(text), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(names[one] for one in near)}? " if near else ""
    raise UsageError(f"no CPU is called so: {hint}`hpltune dat ⟦cpu⟧ list` shows all names", field="cpu", given=text)


def known_cpus() -> Report:
    """All names that are known."""
    sold = [{**vars(one), "flop_per_cycle": one.described("").core.flop_per_cycle} for one in sold_cpus()]
    names = ("sold as", "archspec's name", "FLOP per cycle", "cores of a NUMA node")
    rows = tuple(tuple("" if told is None else str(told) for told in one.values()) for one in sold)
    parts = (
        Table("CPUs by the names under which they are sold", columns(*names, words=names[:2]), rows),
        Sentence("? stands for any sign, * for any signs, [12] for one of these; makers may stand beside it."),
        Sentence(f"Names of archspec: {', '.join(sorted(_targets()))}."),
    )
    return Report("CPUs", parts, {"sold": sold, "archspec": sorted(_targets())})


@cache
def sold_cpus() -> tuple[SoldCpu, ...]:
    """The lines of the list."""
    with LIST.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    numbers = ("flop_per_cycle", "domain_cores")
    return tuple(
        SoldCpu(row["name"], row["archspec"], *(int(row[name] or 0) or None for name in numbers)) for row in rows
    )


def _targets() -> dict[str, Any]:
    """What archspec knows, by name."""
    import archspec.cpu  # noqa: PLC0415 - its database takes 50 ms to load

    return dict(archspec.cpu.TARGETS)


def _plain(name: str) -> str:
    """A name in small letters with single blanks, without what stands around it."""
    return " ".join(re.sub(r"[\s_-]+", " ", _DECORATION.sub(" ", name.lower())).split())
