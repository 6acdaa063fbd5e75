"""The batch job that hpltune itself may have been started in."""

import os
from collections.abc import Collection

OF_A_JOB = "SLURM_"
"""How the names of the variables begin by which Slurm tells a program that it is part of a job."""


def outside(keep: Collection[str] = ()) -> dict[str, str]:
    """This process's variables without those of a job that it runs in, which would colour what it starts or asks for.

    Args:
        keep: names that stay though they begin so.
    """
    return {name: value for name, value in os.environ.items() if name in keep or not name.startswith(OF_A_JOB)}
