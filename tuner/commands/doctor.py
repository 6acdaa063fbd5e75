"""`hpltune doctor`: what was found on this machine, what is missing, and which kernels the BLAS libraries pick."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import packages_distributions
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from hpl.blas.probe import Probe, Timing
from hpl.blas.registry import discover
from hpl.blas.survey import kernel_survey
from hpl.build.simgrid import find_simgrid
from hpl.build.source import obtain
from hpl.build.toolchain import compiler_version, find_mpis
from hpl.errors import HplError
from hpl.peak.rpeak import Rpeak, cpu_flags, detect
from hpl.search_paths import SearchPaths
from runners.hosts.host_facts import HostFacts, busy_sentence, host_facts

from ..errors import TunerError
from ..machine.inventory import usable_mpis
from ..machine.peak import dgemm_beats_peak, fastest_dgemm_gflops
from ..units import gibibytes
from ..user_dirs import UserDirs

OURS = ("tuner", "hpl", "search_spaces", "runners", "results")
BETTER = 1.1
"""A kernel is called better when its dgemm is this many times as fast as that of the library's own choice."""


@dataclass
class Findings:
    """What the doctor saw.

    Attributes:
        missing: sentences about what `tune` needs and is not there.
        above_peak: the sentence that dgemm on one core is faster than Rpeak allows, or None.
    """

    host: HostFacts
    rpeak: Rpeak
    facts: dict[str, str] = field(default_factory=dict)
    probes: dict[str, tuple[Probe, ...]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    above_peak: str | None = None


def examine(places: UserDirs, blas_files: Mapping[str, Path], rpeak_gflops: float | None) -> Findings:
    """Look at everything a study needs."""
    rpeak = detect()
    found = Findings(host_facts(rpeak.cores), rpeak.overruled(rpeak_gflops) if rpeak_gflops else rpeak)
    search = SearchPaths(places.prefix, places.cache)
    busy = busy_sentence(found.host.physical_cores)
    _toolchain(found, search)
    _blas(found, search, blas_files, Timing.BUSY if busy else Timing.QUIET)
    found.above_peak = dgemm_beats_peak(found.rpeak, fastest_dgemm_gflops(found.probes))
    found.advice += [found.above_peak] if found.above_peak else []
    try:
        source = obtain(search)
        found.facts["HPL"] = f"{source.version} from {source.origin}"
    except HplError as error:
        found.missing.append(str(error))
    found.facts["SimGrid"] = _simgrid()
    found.advice += [busy] if busy else []
    if found.host.governor not in {None, "performance"}:
        found.advice.append(f"the frequency governor is {found.host.governor}: performance gives steadier results")
    found.advice += _collisions()
    return found


def _simgrid() -> str:
    try:
        simgrid = find_simgrid()
    except HplError as error:
        return str(error)
    return f"{simgrid.version}, {simgrid.smpicc}"


def _toolchain(found: Findings, search: SearchPaths) -> None:
    try:
        able, usable = find_mpis(search), usable_mpis(search)
        for mpi in able:
            how = "" if mpi in usable else ", not used"
            says = "; `tune` uses it" if mpi == usable[0] else ""
            found.facts[f"MPI {mpi.name}{how}"] = f"{mpi.version}, {mpi.mpirun} ({mpi.origin}){says}"
            found.facts.setdefault("compiler", compiler_version(mpi))
        found.advice += [
            f"{mpi.mpicc} finds no mpi.h, so HPL cannot be built with {mpi.name} {mpi.version}: install its headers"
            for mpi in find_mpis(search, building=False)
            if mpi not in able
        ]
    except (HplError, TunerError) as error:
        found.missing.append(str(error))


def _blas(found: Findings, search: SearchPaths, files: Mapping[str, Path], timing: Timing) -> None:
    for entry in discover(search, files):
        for library in entry.libraries:
            found.facts[f"BLAS {entry.name}, {library.threading}"] = (
                f"{library.family} {library.version} {library.path}"
            )
        found.probes[entry.name] = kernel_survey(entry, cpu_flags(), search, timing)
        sentence = kernel_sentence(entry.name, found.probes[entry.name])
        found.advice += [sentence] if sentence else []
    if not found.probes:
        found.missing.append("no BLAS library was found: `hpltune setup` installs some")


def kernel_sentence(name: str, probes: tuple[Probe, ...]) -> str | None:
    """What a BLAS picks by itself and what would be faster; None where its own choice is good."""
    own = next(probe for probe in probes if probe.kernel == "auto")
    best = probes[0]
    if best.gflops < BETTER * own.gflops:
        return None
    picked = own.kernel_used or "a kernel it does not name"
    return (
        f"{name} picks {picked} by itself ({own.gflops:.0f} GFLOPS on one core); "
        f"{best.kernel} gives {best.gflops:.0f}: `tune` searches over both"
    )


def _collisions() -> list[str]:
    """Our packages have plain names; another distribution with the same ones would overwrite them silently."""
    owners = packages_distributions()
    return [
        f"the package {name} belongs to {', '.join(owners[name])}: install hpltune in an environment of its own"
        for name in OURS
        if set(owners.get(name, ["hpltune"])) != {"hpltune"}
    ]


def render(console: Console, found: Findings, *, as_json: bool) -> None:
    """Show the findings."""
    if as_json:
        print(json.dumps(_as_json(found), indent=1))
        return
    host = found.host
    title = f"{host.hostname}: {host.cpu_model}"
    table = Table("", Column(overflow="fold"), show_header=False, title=title, title_justify="left")
    table.add_row("cores", f"{host.physical_cores} physical, {host.logical_cpus} logical")
    table.add_row("memory", f"{gibibytes(host.memory_available_bytes)} free of {gibibytes(host.memory_total_bytes)}")
    table.add_row("system", f"{host.os_release}, Linux {host.kernel}{', virtual machine' if host.hypervisor else ''}")
    table.add_row("Rpeak", "\n".join(found.rpeak.reasoning))
    for name, value in found.facts.items():
        table.add_row(name, value)
    console.print(table)
    if found.probes:
        console.print(_kernel_table(found))
    for sentence in found.advice:
        console.print(f"Advice: {sentence}.")
    for sentence in found.missing:
        console.print(f"Missing: {sentence}", style="red")
    if not found.missing:
        console.print("Everything that `hpltune tune` needs is here.", style="green")


def _kernel_table(found: Findings) -> Table:
    table = Table(title="dgemm on one core at HPL's shape, GFLOPS by kernel", title_justify="left")
    table.add_column("BLAS")
    table.add_column("its own choice")
    table.add_column("kernels, fastest first")
    for name, probes in found.probes.items():
        own = next(probe for probe in probes if probe.kernel == "auto")
        others = ", ".join(f"{probe.kernel} {probe.gflops:.0f}" for probe in probes if probe.kernel != "auto")
        table.add_row(name, f"{own.kernel_used or '?'} {own.gflops:.0f}", others or "no choice")
    return table


def _as_json(found: Findings) -> dict[str, object]:
    return {
        "host": found.host.to_dict(),
        "rpeak_gflops": found.rpeak.gflops,
        "rpeak_reasoning": list(found.rpeak.reasoning),
        "above_peak": found.above_peak,
        "found": found.facts,
        "kernels": {
            name: [{"kernel": p.kernel, "used": p.kernel_used, "gflops": round(p.gflops, 2)} for p in probes]
            for name, probes in found.probes.items()
        },
        "advice": found.advice,
        "missing": found.missing,
    }
