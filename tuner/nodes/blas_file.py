"""The BLAS file that programs on nodes open: their own, or a copy where one of them has it not."""

from collections.abc import Mapping
from pathlib import Path

from runners.readiness.asking import MISSING
from runners.readiness.fact_table import FILE

from .step import NodeValues


def files_of_blas(blas: Path, facts: NodeValues) -> Mapping[str, Path]:
    """Return the file, by its name on the nodes, if it must be copied to them."""
    return {blas.name: blas} if MISSING in facts.get(f"{FILE}{blas}", {}).values() else {}


def blas_on_nodes(blas: Path, facts: NodeValues) -> str:
    """Return the path by which a program in the folder of the copied files opens it."""
    return f"./{blas.name}" if files_of_blas(blas, facts) else str(blas)
