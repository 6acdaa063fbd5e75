"""Batch systems by their names in cluster files. A new one is one folder here and one line in this file."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from ..forwarded import THREADS

if TYPE_CHECKING:
    from .base import BatchSystem


@dataclass(frozen=True)
class RegisteredBatch:
    """A batch system whose module is imported when a cluster file names it.

    Attributes:
        module: where its class is.
        system: the class.
        variables: how the variables begin with which it describes a job to its programs.
    """

    module: str
    system: str
    variables: str


BATCH_SYSTEMS = {
    "slurm": RegisteredBatch(f"{__package__}.slurm.system", "Slurm", "SLURM_"),
}

_FOLDERS = ("_ROOT", "_HOME", "_DIR")
"""How variables end that only say where a library is."""


def batch_system(name: str) -> "type[BatchSystem]":
    """Return the batch system of this name.

    Raises:
        KeyError: there is none.
    """
    registered = BATCH_SYSTEMS[name]
    system: type[BatchSystem] = getattr(import_module(registered.module), registered.system)
    return system


def batch_systems() -> "Iterator[type[BatchSystem]]":
    """Yield all batch systems."""
    yield from map(batch_system, BATCH_SYSTEMS)


def outside(keep: Collection[str] = ()) -> dict[str, str]:
    """Return the environment of launches: this process's, without what is its own or of a surrounding job.

    Args:
        keep: names that stay although they begin as such.
    """
    ours = (*THREADS, *(registered.variables for registered in BATCH_SYSTEMS.values()))
    return {
        name: value
        for name, value in os.environ.items()
        if name in keep or name.endswith(_FOLDERS) or not name.startswith(ours)
    }
