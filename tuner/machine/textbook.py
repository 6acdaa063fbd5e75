"""The configuration that HPL's documentation advises without any measurement: for pilot runs and `hpltune dat`."""

from collections.abc import Mapping

from hpl.params import HplParams, Scalar
from hpl.sizing import NodeShare, n_for_memory, process_grids

from .inventory import Inventory

NB_BY_KERNEL = {
    "skylakex": 384, "cooperlake": 384, "sapphirerapids": 384, "zen": 256, "haswell": 256, "sandybridge": 256,
    "neoversen1": 320, "neoversev1": 320, "cortexa76": 256, "cortexa72": 128, "armv8": 128,
}  # fmt: skip
"""K-blocking of OpenBLAS' dgemm (DGEMM_DEFAULT_Q in param.h): HPL's update has K = NB, so it is the natural NB."""
NB_BY_FAMILY = {"blis": 256, "mkl": 384, "atlas": 160, "reference": 64}
"""K-blocking of BLIS' haswell, zen and skx configurations; Intel's advice for AVX-512; measured for ATLAS."""
NB_UNKNOWN = 192
MEMORY_FRACTION = 0.8
"""Part of the free memory HPL's FAQ advises for the matrix."""


def natural_nb(inventory: Inventory, blas: str) -> int:
    """The NB that fits the BLAS' own blocking (192 where that is not known)."""
    if not inventory.program.takes_blas:
        return inventory.program.terms.usual_nb
    entry = inventory.named(blas)
    probe = inventory.best_probe(blas)
    if entry.family == "openblas" and probe is not None:
        return NB_BY_KERNEL.get(probe.kernel_used.lower(), NB_UNKNOWN)
    return NB_BY_FAMILY.get(entry.family, NB_UNKNOWN)


def textbook(*, N: int, NB: int, blas: str, kernel: str, ranks: int, threads: int) -> dict[str, Scalar]:
    """HPL's documented advice as a point: squarest grid with P <= Q, 1rM, look-ahead 1, mix swapping."""
    P, Q = process_grids(ranks)[0]
    words = HplParams(N=N, NB=NB, P=P, Q=Q).words()
    return {**words, "blas": blas, "kernel": kernel, "layout": f"{ranks}x{threads}", "binding": "core"}


def first_choice(inventory: Inventory) -> Mapping[str, Scalar]:
    """BLAS and kernel with the fastest dgemm here."""
    if not inventory.program.takes_blas:
        return {"blas": inventory.program.name, "kernel": "auto"}
    best = inventory.ranked_blas()[0]
    probe = inventory.best_probe(best.name)
    return {"blas": best.name, "kernel": probe.kernel if probe else "auto"}


def full_memory_n(inventory: Inventory, NB: int, P: int, Q: int, fraction: float = MEMORY_FRACTION) -> int:
    """The largest N whose matrix takes `fraction` of the memory that is free now."""
    node = NodeShare(memory_bytes=inventory.host.memory_available_bytes, ranks=P * Q)
    return n_for_memory([node], fraction=fraction, NB=NB, P=P, Q=Q)
