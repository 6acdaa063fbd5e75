"""`hpltune doctor`: what was found on this machine, what is missing, and which kernels the BLAS libraries pick."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import packages_distributions
from pathlib import Path
from types import MappingProxyType

from hpl.blas.catalogue import Blas
from hpl.blas.probe import Probe, Timing
from hpl.blas.registry import discover, kernel_survey
from hpl.build.node_programs import build_node_bench
from hpl.build.simgrid import find_simgrid
from hpl.build.toolchain import compiler_version, find_mpis
from hpl.errors import HplError
from hpl.private_files import open_to_others
from hpl.programs.gpus import gpus
from hpl.programs.registry import families, found_here, obtain
from hpl.rpeak import Rpeak, cpu_flags, detect
from hpl.search_paths import SearchPaths
from results.report.model import Report, Sentence, Table, Tone, columns, facts_table
from runners.containers.registry import RUNTIMES
from runners.errors import UnreachableError
from runners.hosts.host_facts import HostFacts, busy_sentence, host_facts
from runners.hosts.transport import Local, say

from ...errors import TunerError
from ...machine.mpi_start import RANKS, refused, try_start
from ...machine.peak import dgemm_beats_peak, fastest_dgemm_gflops
from ...machine.survey import usable_mpis
from ...nodes.steps.node_bench import parse_runs
from ...preflight.looking import HERE, Preflight, look, plan_here
from ...reports.machine_did import untold_here
from ...trial.observers.energy.meters import PowerMeters
from ...units import gibibytes
from ...user_dirs import UserDirs
from ...words import counted

BETTER = 1.1
"""A kernel is called better when its dgemm is this many times as fast as that of the library's own choice."""


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


def kernel_table(probed: Mapping[str, tuple[Probe, ...]], where: str = "") -> Table:
    """The rate of each kernel by BLAS.

    Args:
        where: which CPU, in words; "" for that of this host.
    """
    rows = []
    for name, probes in probed.items():
        own = next(probe for probe in probes if probe.kernel == "auto")
        others = ", ".join(f"{probe.kernel} {probe.gflops:.0f}" for probe in probes if probe.kernel != "auto")
        rows.append((name, f"{own.kernel_used or '?'} {own.gflops:.0f}", others or "no choice"))
    heads = columns("BLAS", "its own choice", "kernels, fastest first")
    return Table(f"dgemm on one core at HPL's shape, GFLOPS by kernel{where and f': {where}'}", heads, tuple(rows))


def kernel_facts(probed: Mapping[str, Sequence[Probe]]) -> dict[str, object]:
    """The same for scripts."""
    return {
        name: [{"kernel": one.kernel, "used": one.kernel_used, "gflops": round(one.gflops, 2)} for one in probes]
        for name, probes in probed.items()
    }


OURS = ("tuner", "hpl", "search_spaces", "runners", "results")


@dataclass(frozen=True)
class Findings:
    """What is here, and sentences about what could be better or is missing.

    Attributes:
        facts: by the name that people read.
        missing: what `tune` needs and is not there.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    advice: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __add__(self, other: "Findings") -> "Findings":
        return Findings({**self.facts, **other.facts}, self.advice + other.advice, self.missing + other.missing)


@dataclass(frozen=True)
class DoctorResult:
    """What the doctor saw.

    Attributes:
        probes: timed kernels by BLAS.
        preflight: what would spoil runs.
        above_peak: the sentence that dgemm on one core is faster than Rpeak allows, or None.
    """

    host: HostFacts
    rpeak: Rpeak
    findings: Findings
    probes: Mapping[str, tuple[Probe, ...]]
    above_peak: str | None
    preflight: Preflight = field(default_factory=Preflight)

    def report(self, *, everything: bool = False) -> Report:
        """What is missing or that nothing is, advice, and what could spoil runs.

        Args:
            everything: also the machine, the kernels of its BLAS libraries, and all that is as it should be.
        """
        parts: list[Sentence | Table] = [*verdict(self.findings.advice, self.findings.missing, "hpltune tune")]
        spoilers = self.preflight.table(everything=everything)
        parts += [spoilers] if spoilers.rows else []
        if everything:
            parts += [self._machine_table(), *([kernel_table(self.probes)] if self.probes else [])]
        else:
            good = len(self.preflight.looked) - len(spoilers.rows)
            kept = f"{counted(good, 'other check')}, libraries with their kernels, programs, and why Rpeak is so"
            parts += [Sentence(self.rpeak.reasoning[-1]), Sentence(f"`hpltune doctor ⟦all⟧` shows the rest: {kept}.")]
        return Report(f"{self.host.hostname}: {self.host.cpu_model}", tuple(parts), self._facts())

    def _machine_table(self) -> Table:
        host = self.host
        free = f"{gibibytes(host.memory_available_bytes)} free of {gibibytes(host.memory_total_bytes)}"
        rows = (
            ("cores", f"{host.physical_cores} physical, {host.logical_cpus} logical"),
            ("memory", free),
            ("system", f"{host.os_release}, Linux {host.kernel}{', virtual machine' if host.hypervisor else ''}"),
            ("Rpeak", "\n".join(self.rpeak.reasoning)),
            *self.findings.facts.items(),
        )
        return facts_table(f"{host.hostname}: {host.cpu_model}", rows)

    def _facts(self) -> dict[str, object]:
        return {
            "host": asdict(self.host),
            "rpeak_gflops": self.rpeak.gflops,
            "rpeak_reasoning": list(self.rpeak.reasoning),
            "above_peak": self.above_peak,
            "found": dict(self.findings.facts),
            "kernels": kernel_facts(self.probes),
            "advice": list(self.findings.advice),
            "missing": list(self.findings.missing),
            "preflight": self.preflight.to_json(),
        }


def doctor(
    user_dirs: UserDirs, blas_files: Mapping[str, Path] = MappingProxyType({}), rpeak_gflops: float | None = None
) -> DoctorResult:
    """Look at everything a study needs.

    Args:
        blas_files: libraries of the user's own, by the names given.
        rpeak_gflops: overrules the detected peak.
    """
    rpeak = detect()
    search = SearchPaths(user_dirs.prefix, user_dirs.cache)
    looked = look(plan_here(rpeak.cores), user_dirs.data, slow=True)
    memory_gb_s = _triad_gb_s(search)
    host = host_facts(rpeak.cores)
    rpeak = rpeak.overruled(rpeak_gflops) if rpeak_gflops else rpeak
    busy = busy_sentence(host.physical_cores)
    found = _toolchain(search)
    libraries = discover(search, blas_files)
    timing = Timing.BUSY if busy else Timing.QUIET
    probes = {entry.name: kernel_survey(entry, cpu_flags(), search, timing) for entry in libraries}
    found += _blas(libraries, probes)
    above_peak = dgemm_beats_peak(rpeak, fastest_dgemm_gflops(probes))
    found += Findings(advice=(above_peak,) if above_peak else ())
    found += _power()
    found += _source(search) + _programs() + _containers() + Findings({"SimGrid": _simgrid(search)})
    found += Findings(advice=tuple(_open_to_others(user_dirs)))
    if memory_gb_s is not None:
        found += Findings({"memory rate": f"{memory_gb_s:.3g} GB/s, STREAM's triad on all cores"})
    preflight = looked.with_memory(plan_here(rpeak.cores), memory_gb_s)
    return DoctorResult(host, rpeak, found + Findings(advice=tuple(_collisions())), probes, above_peak, preflight)


STREAM_BYTES = 1 << 28
"""Of each of STREAM's three arrays: more than the caches of most machines, and moved in seconds."""
STREAM_S = 60.0
"""After which the memory is not timed."""


def _triad_gb_s(search: SearchPaths) -> float | None:
    """Return the rate of STREAM's triad on all cores in GB/s; None where it could not be timed."""
    try:
        said = say(Local(), HERE, (str(build_node_bench(search)), "stream", "0", str(STREAM_BYTES)), timeout_s=STREAM_S)
    except (HplError, UnreachableError):
        return None
    runs = parse_runs(HERE, said)
    rates = [run.value for run in runs if run.benchmark == "stream-triad-all" and run.accurate and run.value]
    return rates[0] / 1000.0 if rates else None


def _open_to_others(user_dirs: UserDirs) -> Iterator[str]:
    """A sentence where others can read what hpltune keeps, or change programs that it starts; nothing is changed."""
    database = user_dirs.database
    inside = (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm")))
    for folder, files in ((user_dirs.data, (*inside, user_dirs.data / "service.key")), (user_dirs.cache, ())):
        found = {path: mode for path in (folder, *files) if (mode := open_to_others(path))}
        if folder in found:  # what lies in a closed folder is closed, too
            modes = ", ".join(f"{path} with mode {mode}" for path, mode in found.items())
            yield f"other users may look into {modes}: `chmod -R go= {shlex.quote(str(folder))}` keeps them out"


def verdict(advice: Sequence[str], missing: Sequence[str], command: str) -> Iterator[Sentence]:
    """What is missing for a command or that nothing is, and advice."""
    yield from (Sentence(f"Missing: {sentence}", tone=Tone.BAD) for sentence in missing)
    if not missing:
        yield Sentence(f"Everything that `{command}` needs is here.", tone=Tone.GOOD)
    for sentence in advice:
        yield Sentence(f"Advice: {sentence}.")


def _power() -> Findings:
    """What measures the power of this machine, and what of disturbances nothing measures."""
    meters = PowerMeters.found()
    told = ", ".join(f"{source.name} ({source.what})" for source in meters.sources)
    advice = tuple(f"the power source {name} {why}" for name, why in meters.refused.items())
    silent = {"disturbances": said} if (said := untold_here()) else {}
    return Findings({"power": told or "nothing here measures it", **silent}, advice)


def _source(search: SearchPaths) -> Findings:
    try:
        source = obtain(search)
    except HplError as error:
        return Findings(missing=(str(error),))
    return Findings({"HPL": f"{source.version} from {source.origin}"})


def _programs() -> Findings:
    """Programs of vendors, and the GPUs that some of them need."""
    needs = {family.name: family.needs for family in families()}
    facts = {}
    for name, files in found_here().items():
        where = f"{', '.join(map(str, files))}: give it with ⟦program⟧ {name}=FILE" if files else "not found"
        facts[f"program {name}"] = f"{where}; it needs {needs[name]}"
    shown = Counter(f"{gpu.model}, {gibibytes(gpu.memory_bytes)}" for gpu in gpus())
    return Findings({**facts, "GPUs": "; ".join(f"{count} x {gpu}" for gpu, count in shown.items()) or "none"})


def _containers() -> Findings:
    """Runtimes that start ranks in an image."""
    here = {runtime.name: version for runtime in RUNTIMES if (version := runtime.version())}
    lacking = [runtime.name for runtime in RUNTIMES if runtime.program and runtime.name not in here]
    found = ", ".join(f"{name} ({version})" for name, version in here.items()) or "none"
    return Findings({"containers": f"{found}; not found: {', '.join(lacking)}" if lacking else found})


def _simgrid(search: SearchPaths) -> str:
    try:
        simgrid = find_simgrid(search)
    except HplError as error:
        return str(error)
    return f"{simgrid.version}, {simgrid.smpicc}"


def _toolchain(search: SearchPaths) -> Findings:
    facts: dict[str, str] = {}
    try:
        able, usable = find_mpis(search), usable_mpis(search)
        for mpi in able:
            how = "" if mpi in usable else ", not used"
            says = "; `tune` uses it" if mpi == usable[0] else ""
            facts[f"MPI {mpi.name}{how}"] = f"{mpi.version}, {mpi.mpirun} ({mpi.origin}){says}"
            facts.setdefault("compiler", compiler_version(mpi))
        starts = {mpi: try_start(mpi, search) for mpi in usable}
        facts |= {
            f"start {mpi.name}": f"{RANKS} ranks in {start.took_s:.1f} s"
            for mpi, start in starts.items()
            if not start.why_not
        }
        unable = [mpi for mpi in find_mpis(search, building=False) if mpi not in able]
    except (HplError, TunerError) as error:
        return Findings(facts, missing=(str(error),))
    advice = (
        f"{mpi.mpicc} finds no mpi.h, so HPL cannot be built with {mpi.name} {mpi.version}: install its headers"
        for mpi in unable
    )
    first, *others = [refused(mpi, start) if start.why_not else "" for mpi, start in starts.items()]
    return Findings(facts, (*advice, *filter(None, others)), tuple(filter(None, [first])))


def _blas(libraries: Sequence[Blas], probes: Mapping[str, tuple[Probe, ...]]) -> Findings:
    facts = {
        f"BLAS {entry.name}, {library.threading}": f"{library.family} {library.version} {library.path}"
        for entry in libraries
        for library in entry.libraries
    }
    advice = filter(None, (kernel_sentence(name, timed) for name, timed in probes.items()))
    missing = () if probes else ("no BLAS library was found: `hpltune setup` installs some",)
    return Findings(facts, tuple(advice), missing)


def _collisions() -> list[str]:
    """Our packages have plain names; another distribution with the same ones would overwrite them silently."""
    owners = packages_distributions()
    return [
        f"the package {name} belongs to {', '.join(owners[name])}: install hpltune in an environment of its own"
        for name in OURS
        if set(owners.get(name, ["hpltune"])) != {"hpltune"}
    ]
