"""What else changed between a stored trial and one of today: hardware, system, programs."""

from dataclasses import dataclass

from results.record import Study, TrialRecord

from ...units import gibibytes

HOST_FACTS = {
    "hostname": "host",
    "node_names": "nodes",
    "cpu_model": "CPU",
    "physical_cores": "cores",
    "logical_cpus": "logical CPUs",
    "memory_total_bytes": "memory",
    "numa_nodes": "NUMA nodes",
    "governor": "frequency governor",
    "hypervisor": "virtual machine",
    "os_release": "system",
    "kernel": "kernel of the system",
}
"""Facts of a host as a study stores them, and what people call them."""
VERSIONS = {"hpltune": "hpltune", "hpl": "HPL", "mpi": "MPI", "compiler": "compiler"}
"""Versions as a study stores them; that of the BLAS has its name."""


@dataclass(frozen=True)
class ChangedFact:
    """A fact that is not what it was."""

    what: str
    before: str
    now: str


def changed_facts(before: tuple[Study, TrialRecord], now: tuple[Study, TrialRecord | None]) -> list[ChangedFact]:
    """Compare what is stored of two trials and their studies; what only one of them has is not compared.

    Args:
        now: the trial is None if none of today counts.
    """
    old, new = _facts(*before), _facts(*now)
    return [ChangedFact(what, old[what], new[what]) for what in old if what in new and old[what] != new[what]]


def _facts(study: Study, trial: TrialRecord | None) -> dict[str, str]:
    """What is known of a trial, in the words of the table."""
    host = {what: _told(name, study.host[name]) for name, what in HOST_FACTS.items() if name in study.host}
    versions = {**study.versions, **(trial.versions if trial else {})}
    if trial is None:
        return {**host, **{what: versions[name] for name, what in VERSIONS.items() if name in versions}}
    named = {**VERSIONS, f"blas {trial.blas}": f"BLAS {trial.blas}"}
    programs = {what: versions[name] for name, what in named.items() if name in versions}
    observed = trial.observed
    ran = {
        "program": trial.xhpl_key,
        "library that ran": observed.library if observed else "",
        "its version": observed.version if observed else "",
        "its kernel": observed.kernel if observed else "",
        "its threads": str(observed.threads or "") if observed else "",
    }
    return {**host, **programs, **{what: value for what, value in ran.items() if value}}


def _told(name: str, value: object) -> str:
    """A fact of a host as people read it."""
    if name == "memory_total_bytes" and isinstance(value, int):
        return gibibytes(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)
