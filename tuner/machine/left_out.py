"""Names what a search leaves out of the BLAS libraries and kernels of a machine."""

from ..words import counted, listed
from .inventory import Inventory


def too_slow(inventory: Inventory, *, all_blas: bool = False) -> str | None:
    """The sentence which libraries and kernels a search leaves out unless they are asked for, or None.

    Args:
        all_blas: it leaves out kernels only.
    """
    promising = inventory.ranked_blas() if all_blas else inventory.promising()
    slow = [entry.name for entry in inventory.ranked_blas() if entry not in promising]
    kernels = sum(
        len(inventory.kernels(entry.name, slow=True)) - len(inventory.kernels(entry.name, slow=False))
        for entry in promising
    )
    skipped = [*slow, *([counted(kernels, "kernel")] if kernels else [])]
    return f"Skipped as too slow: {listed(skipped)}. ⟦blas⟧ NAME includes them." if skipped else None
