"""The rank for which all others wait where nodes differ: it has a slow node, or many blocks of the matrix, or both.

HPL deals blocks of NB rows and columns to the process rows and columns in turn. Panels leave from the left and the top,
so who holds the last block holds the most in every step. On equal nodes that rank decides. A slow node may have that
rank, or the one with the fewest blocks: this changes with NB, grid and N.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpl.params import Scalar, parse_grid
from search_spaces.machine import Machine
from search_spaces.node_order import AS_FAST, rank_speeds
from search_spaces.parameters.dimension import Point

LEFT = 0.7
"""Of the matrix, what is left in a typical step."""
PLACING = ("layout", "nodes_dropped", "rank_order", "grid", "PMAP")
"""Parameters that decide which node a rank has."""


@dataclass(frozen=True)
class SlowestRank:
    """What decides the time of a step.

    Attributes:
        speed: of its node, as a part of the fastest node's.
        rows, columns: what it has of the rest of the matrix beyond an even part, on average over all steps.
        panels: how much faster panels are factorised, on average, than if all their ranks had this speed.
    """

    speed: float
    rows: float
    columns: float
    panels: float = 1.0


def on_equal_nodes(NB: float, P: int, Q: int, speed: float = 1.0) -> SlowestRank:
    """The rank that has the last block of the rows and of the columns."""
    return SlowestRank(speed, NB * (P - 1) / P / 2, NB * (Q - 1) / Q / 2)


class SlowestRanks:
    """The slowest ranks of the points of a space on one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._speeds: dict[tuple[Scalar | None, ...], NDArray[np.float64]] = {}

    def of(self, full: Point) -> SlowestRank:
        """The slowest rank of a complete point."""
        N, NB, (P, Q) = int(full["N"]), int(full["NB"]), parse_grid(str(full["grid"]))
        placing = tuple(full.get(name) for name in PLACING)
        if placing not in self._speeds:
            self._speeds[placing] = np.array(rank_speeds(full, self._machine))
        speeds = self._speeds[placing]
        if not speeds.size or speeds.min() > (1 - AS_FAST) * speeds.max():
            return on_equal_nodes(NB, P, Q, float(speeds.min(initial=1.0)))
        ranks = np.arange(len(speeds))
        row, column = (ranks % P, ranks // P) if full["PMAP"] == "column" else (ranks // Q, ranks % Q)
        rows, columns = _beyond(N, NB, P)[row], _beyond(N + 1, NB, Q)[column]
        work = np.maximum(LEFT * N / P + rows, 0.0) * np.maximum(LEFT * N / Q + columns, 0.0)
        slowest = int(np.argmax(work / speeds))
        of_panels = np.ones(Q)
        np.minimum.at(of_panels, column, speeds)
        panels = 1 / np.mean(speeds[slowest] / of_panels)
        return SlowestRank(float(speeds[slowest]), float(rows[slowest]), float(columns[slowest]), float(panels))


def _beyond(order: int, NB: int, processes: int) -> NDArray[np.float64]:
    """Rows or columns of each process beyond an even part of those that are left, on average over all steps."""
    last = -(-order // NB) - 1
    missing = (last + 1) * NB - order
    behind = (last - np.arange(processes)) % processes
    more = NB * ((processes - 1) / 2 - behind) / processes + missing / processes
    return np.asarray(more - np.where(behind == 0, missing, 0))
