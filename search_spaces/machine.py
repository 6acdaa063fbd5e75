"""The facts of a machine that a space needs."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BlasFacts:
    """The facts of a BLAS.

    Attributes:
        kernels: the kernels that are worth trying, best guess first.
        threaded: whether one of its builds can use several threads.
        known_kernels: all known names of its kernels on this CPU, slow ones included.
        usual_kernel: the kernel that runs if a space names none.
    """

    kernels: tuple[str, ...] = ("auto",)
    threaded: bool = True
    known_kernels: tuple[str, ...] = ()
    usual_kernel: str = "auto"

    @property
    def named_kernels(self) -> tuple[str, ...]:
        """All its kernels with a name, those worth trying first."""
        return tuple(kernel for kernel in dict.fromkeys((*self.kernels, *self.known_kernels)) if kernel != "auto")


@dataclass(frozen=True)
class Machine:
    """The facts from which "auto" and "budget" get their values.

    Attributes:
        cores: the number of physical cores.
        memory_bytes: the memory that HPL may take.
        blas: libraries by name, best guess first.
        nodes: the number of nodes, each with an equal part of the cores.
        mpis: MPI libraries by name, the preferred one first.
        N: order of the matrix from the budget, or None if it is not chosen.
        more_cores: advice for a layout that needs more cores than there are.
    """

    cores: int
    memory_bytes: int
    blas: Mapping[str, BlasFacts]
    N: int | None = None
    nodes: int = 1
    mpis: tuple[str, ...] = ("openmpi",)
    more_cores: str = "take fewer ranks or threads"
