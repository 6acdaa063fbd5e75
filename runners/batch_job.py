"""The variables of this process that affect the programs it starts: of a batch job, and of MPI libraries."""

import os
from collections.abc import Collection

OF_A_JOB = "SLURM_"
"""Prefixes of the variables with which Slurm describes a job to its programs."""
OF_MPI = ("OMPI_MCA_", "OPAL_", "PMIX_", "PRTE_", "MPICH_", "MPIR_CVAR_", "HYDRA_", "I_MPI_", "UCX_", "FI_")
"""Prefixes of the variables that Open MPI, MPICH, Intel MPI and the libraries below them read."""


def outside(keep: Collection[str] = ()) -> dict[str, str]:
    """Return this process's variables without those of a surrounding job, which would affect the programs it starts.

    Args:
        keep: names that stay although they have such a prefix.
    """
    return {name: value for name, value in os.environ.items() if name in keep or not name.startswith(OF_A_JOB)}


def inherited_mpi(ours: Collection[str] = ()) -> dict[str, str]:
    """Return this process's variables that MPI libraries read.

    Args:
        ours: names that hpltune sets itself.
    """
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(OF_MPI) and name not in ours}


def assignments(variables: dict[str, str]) -> str:
    """Write variables as people set them."""
    return " ".join(f"{name}={value}" for name, value in variables.items())
