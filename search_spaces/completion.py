"""What a point leaves out: defaults of the dimensions, and N from a part of the memory."""

from dataclasses import dataclass

from hpl.params import Scalar
from hpl.sizing import NodeShare, SizingError, n_for_memory

from .errors import SpaceError
from .machine import Machine
from .parameters.dimension import DIMENSIONS, Point, dropped_nodes, ranks_and_threads


@dataclass(frozen=True)
class Completion:
    """Completes the points of a space on a machine.

    Attributes:
        space: name of the space, for messages.
    """

    space: str
    machine: Machine

    def complete(self, params: Point) -> dict[str, Scalar]:
        """Add every parameter that HPL and its launch need to a point.

        Raises:
            SpaceError: N is neither given nor derivable.
        """
        return self.with_n(self.with_defaults(params))

    def with_defaults(self, params: Point) -> dict[str, Scalar]:
        """Add the defaults of all dimensions that a point leaves out; N has none."""
        full = dict(params)
        for name, dimension in DIMENSIONS.items():
            if name not in full:
                value = dimension.default(full, self.machine)
                if value is not None:
                    full[name] = value
        return full

    def with_n(self, full: Point) -> dict[str, Scalar]:
        """Add N to a point with all else: that of the machine, or the one that fills a part of its memory.

        Raises:
            SpaceError: neither is known.
        """
        if "N" in full:
            return dict(full)
        if "memory_fraction" not in full:
            if self.machine.N is None:
                raise SpaceError(f"the space {self.space} leaves N to the budget, but none was chosen: give --set N=…")
            return {**full, "N": self.machine.N}
        ranks, _ = ranks_and_threads(full["layout"])
        P, _, Q = str(full["grid"]).partition("x")
        node = NodeShare(self.machine.without(dropped_nodes(full)).memory_bytes, ranks)
        try:
            N = n_for_memory([node], fraction=float(full["memory_fraction"]), NB=int(full["NB"]), P=int(P), Q=int(Q))
        except SizingError as error:
            raise SpaceError(str(error)) from error
        return {**full, "N": N}

    def default(self, name: str, params: Point) -> Scalar | None:
        """Return what a parameter of a point would be if the point left it out."""
        others = {other: value for other, value in params.items() if other != name}
        return self.complete(others).get(name)
