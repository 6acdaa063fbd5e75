"""With which programs a run was made, so that it can be repeated with the same ones."""

from collections.abc import Mapping

from results.record import SIMULATOR, Study, TrialRecord
from results.report.model import Column, Table

SYSTEM = (("os_release", "system"), ("kernel", "kernel of the system"))


def programs_table(study: Study, run: TrialRecord) -> Table:
    """List the versions of all that took part in a run, and where its files are; what is not known is left out."""
    versions = {**study.versions, **run.versions}
    facts = _simulated(versions) if study.simulated else _measured(study, run, versions)
    facts["files of the run"] = run.directory
    rows = tuple((what, value) for what, value in facts.items() if value)
    columns = (Column("what", words=True), Column("version", words=True))
    return Table(f"What trial {run.number} ran with", columns, rows, headless=True)


def _simulated(versions: Mapping[str, str]) -> dict[str, str]:
    """What a simulated run depends on: no BLAS, MPI or system of this machine."""
    names = (("hpltune", "hpltune"), ("HPL", "hpl"), ("simulator", SIMULATOR))
    return {what: versions.get(name, "") for what, name in names}


def _measured(study: Study, run: TrialRecord, versions: Mapping[str, str]) -> dict[str, str]:
    chosen, observed = str(run.params.get("mpi", "")), run.observed
    mpi = versions.get("mpi", "")
    return {
        "hpltune": versions.get("hpltune", ""),
        "HPL": versions.get("hpl", ""),
        "MPI": mpi if mpi.startswith(chosen) else chosen,
        "compiler": versions.get("compiler", ""),
        f"BLAS {run.blas}": versions.get(f"blas {run.blas}", ""),
        "library that ran": observed.library if observed else "",
        "its version": observed.version if observed else "",
        "its kernel": observed.kernel if observed else "",
        **{what: str(study.host.get(name) or "") for name, what in SYSTEM},
    }
