"""Looks at this machine: host, Rpeak, MPI, BLAS libraries and how fast each kernel of them is."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from hpl.blas.catalogue import Blas
from hpl.blas.nvblas import NAME as NVBLAS
from hpl.blas.nvblas import VENDOR, is_nvblas
from hpl.blas.probe import NotTimedError, Probe, Timing
from hpl.blas.registry import discover, kernel_survey
from hpl.build.toolchain import Mpi, find_mpis
from hpl.programs.family import HplProgram
from hpl.programs.registry import TO_BUILD, in_image, program_at, programs_named
from hpl.rpeak import Rpeak, cpu_flags, detect
from hpl.search_paths import SearchPaths
from runners.hosts.host_facts import busy_sentence, host_facts
from runners.hosts.system_facts import this_system
from runners.registry import LAUNCHERS
from runners.settings.registry import HostsOffer
from search_spaces.parameters.automatic import AUTO

from ..errors import TunerError, UsageError
from ..options import TuneOptions
from .equipment import PROGRAM
from .inventory import Inventory

KIN = {"mpich": "intelmpi", "intelmpi": "mpich"}
"""Libraries whose launchers start each other's programs: both are MPICH's."""
OnProbe = Callable[[str], None]
"""Is told the name of each BLAS before its kernels are timed."""


@dataclass(frozen=True)
class SurveyWish:
    """What of a machine is to be found and used.

    Attributes:
        extra_blas: libraries the user named, by the name given.
        only: BLAS names to keep; empty keeps all.
        asked: names that a search will want of those.
        program: what shall run; only for one that is built a BLAS is looked for.
        programs: by name, where a study has several; `program` is the first of them.
        rpeak_gflops: overrules the detected peak.
        elsewhere: ranks run on nodes that tell of themselves, so that this host needs no GPU.
    """

    extra_blas: Mapping[str, Path] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    asked: Collection[str] = ()
    program: HplProgram = TO_BUILD
    programs: Mapping[str, HplProgram] = field(default_factory=dict)
    rpeak_gflops: float | None = None
    elsewhere: bool = False


@dataclass(frozen=True)
class Instruments:
    """What a survey looks with.

    Attributes:
        mpis: finds MPI libraries; the second argument leaves out those that build nothing.
        busy: says that so many cores are busy, or None.
    """

    rpeak: Callable[[], Rpeak] = detect
    mpis: Callable[[SearchPaths, bool], Sequence[Mpi]] = lambda search, building: find_mpis(search, building=building)
    blas: Callable[[SearchPaths, Mapping[str, Path]], Sequence[Blas]] = discover
    kernels: Callable[[Blas, frozenset[str], SearchPaths, Timing], tuple[Probe, ...]] = kernel_survey
    busy: Callable[[int], str | None] = busy_sentence


OF_THIS_MACHINE = Instruments()


def programs_of(options: TuneOptions) -> Mapping[str, HplProgram]:
    """The programs of a study by their names; empty where it has one without a name.

    A comparison of libraries has one that is built beside those that the user named, unless it was asked for others.

    Raises:
        hpl.programs.family.UserProgramError: one cannot be started as it is, or is none.
    """
    asked = [name for name in (options.overrides or {}).get(PROGRAM, ()) if name != AUTO]
    if options.shootout and options.programs and not asked:
        asked = [TO_BUILD.name, *options.programs]
    if not (options.programs or asked):
        return {}
    found = programs_named({name: _seen(options, file) for name, file in options.programs.items()}, asked)
    inside = options.programs if options.image else {}
    return {name: in_image(program, inside.get(name)) for name, program in found.items()}


def program_of(options: TuneOptions) -> HplProgram:
    """The program of a study, the first where it has several.

    Raises:
        hpl.programs.family.UserProgramError: it cannot be started as it is.
    """
    named = next(iter(programs_of(options).values()), None)
    if named or not options.image or options.xhpl is None:
        return named or program_at(options.xhpl)
    return in_image(program_at(_seen(options, options.xhpl)), options.xhpl)


def _seen(options: TuneOptions, file: Path) -> Path:
    """The path by which this machine sees a program: one in an image that is a folder lies below it."""
    folder = Path(options.image.rpartition("=")[2]).expanduser()
    return folder / file.relative_to("/") if options.image and folder.is_dir() else file


def require_hpl(options: TuneOptions) -> None:
    """Refuse a program of another workload, which reads no HPL.dat.

    Raises:
        UsageError: it is one.
        hpl.programs.family.UserProgramError: as `program_of`.
    """
    workload = program_of(options).workload
    if not workload.is_hpl:
        only = f"this computes {workload.title}, which reads no HPL.dat: only `hpltune tune` runs it"
        raise UsageError(only, field="xhpl", given=options.xhpl or "")


def startable(found: Sequence[Mpi]) -> tuple[Mpi, ...]:
    """The first library of each name whose ranks we know how to start.

    Raises:
        TunerError: there is none.
    """
    known = {mpi.name: mpi for mpi in reversed(found) if mpi.name in LAUNCHERS}
    if not known:
        raise TunerError(f"no MPI library here is one that can be started: {', '.join(mpi.name for mpi in found)}")
    return tuple(mpi for mpi in found if mpi in known.values())


def usable_mpis(
    search: SearchPaths, program: HplProgram = TO_BUILD, *, instruments: Instruments = OF_THIS_MACHINE
) -> tuple[Mpi, ...]:
    """The MPI libraries that a study can use, the one it uses unless told otherwise first.

    Args:
        program: what shall run. Only the launcher of the library that it is linked with starts it; for one that is
            built, libraries that build nothing are left out.

    Raises:
        hpl.errors.HplError: there is none that works.
        TunerError: there is none of which we know how to start ranks, or none that is the program's.
    """
    found = startable(instruments.mpis(search, program.built))
    linked = program.linked_mpi()
    if linked is None:
        return found
    for name in (linked, KIN.get(linked)):
        fitting = tuple(mpi for mpi in found if mpi.name == name)
        if fitting:
            return fitting
    here = ", ".join(dict.fromkeys(mpi.name for mpi in found))
    raise TunerError(
        f"{', '.join(map(str, program.files))} is linked with {linked}, but the only launcher here is of {here}, which "
        f"would start each of its ranks alone: load the module of {linked}, or install it"
    )


def survey(
    search: SearchPaths, wanted: SurveyWish, on_probe: OnProbe | None, instruments: Instruments = OF_THIS_MACHINE
) -> Inventory:
    """Look at this machine.

    Args:
        on_probe: None takes only what was timed before.

    Raises:
        hpl.errors.HplError: MPI or a named library is missing or does not load.
        TunerError: a BLAS that is wanted is not on this machine, or none is.
    """
    on_gpus = asks_nvblas(wanted.only, wanted.extra_blas)
    if on_gpus:
        require_own_study(wanted.only, here=not wanted.elsewhere)
    rpeak = instruments.rpeak()
    if wanted.rpeak_gflops is not None:
        rpeak = rpeak.overruled(wanted.rpeak_gflops)
    mpis, offer = _for_all(search, wanted, instruments), HostsOffer({"": this_system()})
    inventory = Inventory(
        host_facts(rpeak.cores), rpeak, mpis, (), {}, wanted.program, offer=offer, programs=wanted.programs
    )
    if (wanted.program.gpus_of or on_gpus) and not wanted.elsewhere:
        name, vendor = (NVBLAS, VENDOR) if on_gpus else (wanted.program.name, wanted.program.gpus_of)
        inventory = _with_gpus(inventory, name, vendor, wanted.rpeak_gflops)
    if not wanted.program.takes_blas:  # those that are built stand first
        return inventory
    found = instruments.blas(search, wanted.extra_blas)
    inventory = replace(inventory, blas=tuple(entry for entry in found if on_gpus or entry.family != NVBLAS))
    if wanted.only:
        inventory = replace(inventory, blas=tuple(inventory.named(name) for name in wanted.only))
    for name in wanted.asked:
        inventory.named(name)
    if not inventory.blas:
        raise TunerError("no BLAS library was found: run `hpltune setup`, or name one with ⟦blas⟧ NAME=/path/lib.so")
    return inventory if on_gpus else with_kernel_rates(inventory, search, on_probe, instruments)


def asks_nvblas(names: Collection[str], files: Mapping[str, Path]) -> bool:
    """Whether NVBLAS is among the libraries that were asked for."""
    return NVBLAS in names or any(is_nvblas(file) for file in files.values())


def computes_on_gpus(options: TuneOptions) -> bool:
    """Whether the program of a study, or its BLAS, computes on GPUs."""
    return bool(program_of(options).gpus_of) or asks_nvblas(options.blas_only, options.blas_files or {})


def require_gpus(options: TuneOptions) -> None:
    """Refuse NVBLAS on this machine where it has no GPU, before anything is installed or started.

    Raises:
        hpl.programs.gpus.NoGpuError, TunerError: as `require_own_study`.
    """
    if options.on_machines and not options.real_cluster and asks_nvblas(options.blas_only, options.blas_files or {}):
        require_own_study(options.blas_only, here=True)


def require_own_study(names: Collection[str], *, here: bool) -> None:
    """Refuse NVBLAS beside other libraries, and where it runs here on a machine that shows no GPU of NVIDIA.

    Raises:
        hpl.programs.gpus.NoGpuError: it shows none.
        TunerError: there are others.
    """
    from hpl.programs.gpus import for_program  # noqa: PLC0415 - only what computes on GPUs needs it

    if here:
        for_program(NVBLAS, VENDOR)
    if len(names) > 1:
        raise TunerError(
            f"{NVBLAS} computes on GPUs, which have another Rpeak than cores: give it a study of its own, and "
            "`hpltune compare` sets both beside each other"
        )


def _for_all(search: SearchPaths, wanted: SurveyWish, instruments: Instruments) -> tuple[Mpi, ...]:
    """The MPI libraries that start all programs of a study.

    Raises:
        hpl.errors.HplError, TunerError: as `usable_mpis`; or no library starts all of them, or not all compute on GPUs.
    """
    usable = usable_mpis(search, wanted.program, instruments=instruments)
    for name, program in wanted.programs.items():
        if program.gpus_of != wanted.program.gpus_of:
            both = f"program {name} and {next(iter(wanted.programs))} do not compute on the same kind of processor"
            raise TunerError(f"{both}, so one of them has other cores, memory and Rpeak: give each a study of its own")
        starts = usable_mpis(search, program, instruments=instruments)
        usable = tuple(mpi for mpi in usable if mpi in starts)
        if not usable:
            raise TunerError(f"no MPI library here starts all programs: {name} is linked with {program.linked_mpi()}")
    return usable


def _with_gpus(inventory: Inventory, name: str, vendor: str, rpeak_gflops: float | None) -> Inventory:
    """Add the GPUs of this host, and their peak in place of that of the cores.

    Args:
        name: of what computes on them.

    Raises:
        NoGpuError: there is none, or nobody knows its peak and the user gave none.
    """
    from hpl.programs.gpus import for_program, peak_gflops  # noqa: PLC0415 - only a program of GPUs needs it

    found = for_program(name, vendor)
    inventory = replace(inventory, gpus=found)
    if rpeak_gflops is not None or not inventory.program.workload.has_peak:
        return inventory
    gflops, sentence = peak_gflops(found)
    return replace(inventory, rpeak=replace(inventory.rpeak, gflops=gflops, reasoning=(sentence,)))


def with_kernel_rates(
    inventory: Inventory, search: SearchPaths, on_probe: OnProbe | None, instruments: Instruments = OF_THIS_MACHINE
) -> Inventory:
    """Add to an inventory how fast each kernel of its BLAS libraries is on one core of this host.

    Args:
        on_probe: None takes only what was timed before.
    """
    timing = Timing.BUSY if instruments.busy(instruments.rpeak().cores) else Timing.QUIET
    probes = {}
    for entry in inventory.blas:
        if on_probe:
            on_probe(entry.name)
        with suppress(NotTimedError):
            probes[entry.name] = instruments.kernels(entry, cpu_flags(), search, timing if on_probe else Timing.NEVER)
    return replace(inventory, probes=probes)
