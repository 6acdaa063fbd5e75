"""Batch systems by their names in cluster files. A new one is a file of `dialects/`, or a folder, and one line here."""

import os
from collections.abc import Collection, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from ..forwarded import FOLDERS, THREADS

if TYPE_CHECKING:
    from .base import BatchSystem


BATCH_SYSTEMS = {
    "slurm": f"{__package__}.slurm.system:Slurm",
    "pbs": f"{__package__}.dialect:Pbs",
    "lsf": f"{__package__}.dialect:Lsf",
    "flux": f"{__package__}.dialect:Flux",
    "gridengine": f"{__package__}.dialect:GridEngine",
}
"""The module of each, which is imported when a cluster file names it, and its class."""
VARIABLES = ("SLURM_",)
"""How variables begin that describe a job to its programs and would be wrong for another job."""


def batch_system(name: str) -> "type[BatchSystem]":
    """Return the batch system of this name.

    Raises:
        KeyError: there is none.
    """
    module, _, class_name = BATCH_SYSTEMS[name].partition(":")
    system: type[BatchSystem] = getattr(import_module(module), class_name)
    return system


def batch_systems() -> "Iterator[type[BatchSystem]]":
    """Yield all batch systems."""
    yield from map(batch_system, BATCH_SYSTEMS)


def outside(keep: Collection[str] = ()) -> dict[str, str]:
    """Return the environment of launches: this process's, without what is its own or of a surrounding job.

    Args:
        keep: names that stay although they begin as such.
    """
    ours = (*THREADS, *VARIABLES)
    return {
        name: value
        for name, value in os.environ.items()
        if name in keep or name.endswith(FOLDERS) or not name.startswith(ours)
    }
