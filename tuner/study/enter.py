"""Becomes the process that works on a study, or one of several, and notes the versions of what runs."""

import platform
from collections.abc import Sequence
from importlib.metadata import version

from hpl.build.toolchain import compiler_version
from hpl.errors import HplError
from results.record import StudyNotes, TrialRecord
from results.store.store import Store
from runners.hosts.host_facts import busy_sentence

from ..errors import TunerError, UsageError
from ..machine.inventory import Inventory
from ..options import TuneOptions
from ..trial.workbench import Workbench
from ..words import with_options
from .lifecycle import BegunStudy, MachineFacts, begin, go_on
from .machine_changes import BUSY_NOISE, note_noise


def versions(inventory: Inventory) -> dict[str, str]:
    """What ran: hpltune, HPL's source, MPI, the compiler, Python, Optuna and each BLAS."""
    try:
        compiler = compiler_version(inventory.mpi)
    except HplError:
        compiler = "none"
    found = {
        "hpltune": version("hpltune"),
        "hpl": with_options(inventory.program.description),
        "mpi": f"{inventory.mpi.name} {inventory.mpi.version} ({inventory.mpi.origin})",
        "compiler": compiler,
        "python": platform.python_version(),
        "optuna": version("optuna"),
    }
    for entry in inventory.blas:
        found[f"blas {entry.name}"] = f"{entry.family} {entry.libraries[0].version}"
    return found


def enter(
    name: str | None, options: TuneOptions, store: Store, workbench: Workbench, *, resume: bool, join: bool
) -> BegunStudy:
    """Create a study, go on with one that is stored, or become one of those that work on it.

    Args:
        name: of the study; a new one may be None, which takes a free one.

    Raises:
        TunerError, ResultsError: a new one's name is taken, or the stored one cannot be gone on with or helped here.
    """
    if name is None or not (resume or join):
        begun = begin(store, name, options, machine_facts(options, workbench))
    elif join:
        begun = BegunStudy(name, _joined(store, name, workbench.site), joined=True)
    else:
        begun = go_on(store, name, options, run="trial")
    if options.real_cluster is None and busy_sentence(workbench.site.host.physical_cores):
        note_noise(store, begun.name, BUSY_NOISE)
    return begun


def _joined(store: Store, name: str, site: Inventory) -> Sequence[TrialRecord]:
    """Become one of those that work on a study.

    Raises:
        TunerError: this machine is not like the one it was begun on.
        results.errors.ResultsError: nobody works on it.
    """
    host = store.study(name).host
    mine = site.facts()
    for fact in ("nodes", "physical_cores", "cpu_model"):
        if host.get(fact) != mine.get(fact):
            raise TunerError(
                f"study {name} was begun with {fact.replace('_', ' ')} {host.get(fact, 1)}, here it is "
                f"{mine.get(fact, 1)}: only nodes that are alike can work on one study"
            )
    store.join(name)
    return store.records(name)


BESIDE_RAPL = ("nvml", "amdsmi")
"""Sources whose power is not in that of RAPL, and is added to it."""


def power_source(options: TuneOptions, workbench: Workbench) -> str:
    """Which measurement of the power counts: the one that was asked for, else the nearest to the wall; "" without one.

    Raises:
        UsageError: the one that was asked for is not there.
    """
    meters = workbench.evaluator.meters
    names = meters.names if meters else []
    if options.power_source is None:
        first = names[0] if names else ""
        return "+".join([first, *(name for name in BESIDE_RAPL if name in names)]) if first == "rapl" else first
    missing = [name for name in options.power_source.split("+") if name not in names]
    if missing:
        why = meters.refused.get(missing[0], "is not there") if meters else "is not there"
        found = f"; there is {', '.join(names)}" if names else "; nothing here measures the power"
        raise UsageError(
            f"the power source {missing[0]} {why}{found}", field="power_source", given=options.power_source
        )
    return options.power_source


def machine_facts(options: TuneOptions, workbench: Workbench) -> MachineFacts:
    """What a study keeps of its machine; where several trials run at a time, of the nodes that one of them has."""
    site = workbench.site
    return MachineFacts(
        host=site.facts(),
        rpeak_gflops=site.rpeak.gflops if site.program.workload.has_peak else None,
        price_usd=site.share_of(options.price_usd),
        power_w=site.share_of(options.power_w),
        versions=versions(site),
        notes=StudyNotes(power_source=power_source(options, workbench)),
    )
