"""The facts of a machine that a space needs to know."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BlasFacts:
    """One BLAS.

    Attributes:
        kernels: worth trying, best guess first.
        threaded: whether a build of it can use several threads.
        known_kernels: every name that it can be asked for on this CPU, as far as it is known; slow ones too.
        usual_kernel: what runs where a space names none.
    """

    kernels: tuple[str, ...] = ("auto",)
    threaded: bool = True
    known_kernels: tuple[str, ...] = ()
    usual_kernel: str = "auto"

    @property
    def named_kernels(self) -> tuple[str, ...]:
        """All of its kernels that have a name, those worth trying first."""
        return tuple(kernel for kernel in dict.fromkeys((*self.kernels, *self.known_kernels)) if kernel != "auto")


@dataclass(frozen=True)
class Machine:
    """What "auto" and "budget" mean here.

    Attributes:
        cores: physical cores.
        memory_bytes: what HPL may take.
        blas: libraries by name, best guess first.
        nodes: that the cores are spread over evenly.
        mpis: MPI libraries by name, the preferred one first.
        N: order of the matrix chosen from the budget, or None where nothing was chosen.
        more_cores: what to do where a layout needs more cores than there are.
    """

    cores: int
    memory_bytes: int
    blas: Mapping[str, BlasFacts]
    N: int | None = None
    nodes: int = 1
    mpis: tuple[str, ...] = ("openmpi",)
    more_cores: str = "take fewer ranks or threads"
