"""The variables of a batch job in which hpltune itself may run."""

import os
from collections.abc import Collection

OF_A_JOB = "SLURM_"
"""Prefixes of the variables with which Slurm describes a job to its programs."""


def outside(keep: Collection[str] = ()) -> dict[str, str]:
    """Return this process's variables without those of a surrounding job, which would affect the programs it starts.

    Args:
        keep: names that stay although they have such a prefix.
    """
    return {name: value for name, value in os.environ.items() if name in keep or not name.startswith(OF_A_JOB)}
