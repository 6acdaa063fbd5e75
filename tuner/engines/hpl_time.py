"""Predicts HPL's time for a configuration from its algorithm: the time of every step, panel by panel.

A system of N equations takes N / NB steps. With n columns left, a rank holds m = n / P rows and k = n / Q columns of
the rest, and of them a step takes

    panel        NB^2 m operations at a part of dgemm's rate, and NB exchanges of two rows among the P ranks of a column
    broadcast    8 NB (m + NB) bytes to the Q ranks of a row: whole, from rank to rank, or in parts that all exchange
    swapping     8 NB k bytes among the P ranks of a column, in log2 P exchanges or log2 P + P - 1 of parts, and a copy
    update       2 NB m k + NB^2 k operations at dgemm's rate, which falls where NB, m or k is small

Who waits for whom follows from HPL_pdgesv0, HPL_pdgesvK2, HPL_pdupdate and HPL_bcast of its source:

- Without look-ahead the next panel waits for all of this step: panel, what brings it to the next column, swap, update.
  Of several ranks on a node only the last in a ring sends to another node, but it does so in every step, and waits for
  the panels of those beside it.
- In an exchange all ranks of a node send at once, if their partners are elsewhere, as they are in the last ones. Rows
  are gathered: one exchange carries all, the others half of them, as simulated clusters tell. Parts go from rank to
  rank, and all wait for those that leave a node; of each column only one does.
- At each pivot the ranks of a column also wait for each other, whatever a message takes.
- With look-ahead the ranks of a ring send while they update. A step takes what each rank has to do, its own panel only
  every Q steps, but no less than the way from one panel to the next: the update of its columns, panel, one message.
- In parts all ranks of a row wait for each other, so look-ahead hides nothing, and first updating the columns of the
  next panel adds to the step. In LnM the next column has its whole panel sooner: it waits no longer than the parts do.

Operations and messages are those of HPL's pages "HPL Algorithm" and "HPL Scalability Analysis". How fast a machine
does each is hardly known before: `machine_figures.py` says what it usually takes, and runs tell the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hpl.params import Bcast, Scalar, Swap, parse_grid
from search_spaces.parameters.dimension import dropped_nodes, ranks_and_threads

from .points import Matrix, Vector
from .probes import UNKNOWN, USUAL_MTU, Prior, Probes
from .slowest_rank import SlowestRank, on_equal_nodes

Column = NDArray[np.float64]
"""A figure of each configuration, shape (configurations, 1), so that steps stand beside each other."""

BYTES = 8.0
SHARP = 6.0
"""Norm in which the larger of what ranks do and what a panel waits for counts, nearly a maximum but smooth."""
STEPS = 8
"""Steps that are looked at, where Gauss and Legendre say, in place of all N / NB."""
_LEGENDRE, _GAUSS = np.polynomial.legendre.leggauss(STEPS)
PLACES, WEIGHTS = (1 + _LEGENDRE) / 2, _GAUSS / 2


class Shapes:
    """The figures of configurations that the model needs, one column each.

    Args:
        table: their rows, one below the other.
    """

    def __init__(self, table: NDArray[np.float64]) -> None:
        self._table = table
        (self.N, self.NB, self.P, self.Q, self.rate, self.ring, self.depth, self.swap, self.threshold, self.held,
         self.mtu, self.row_beside, self.rows, self.column_beside, self.columns, self.more_rows, self.more_columns,
         self.panels, self.worth
        ) = np.moveaxis(table[:, :, None], 1, 0)  # fmt: skip

    def of(self, places: NDArray[np.intp] | Sequence[int]) -> "Shapes":
        """The figures of some of the configurations."""
        return Shapes(self._table[np.asarray(places, dtype=np.intp)])

    @cached_property
    def row_far(self) -> Column:
        """1 where a row's ranks are on several nodes."""
        return np.asarray(self.row_beside < self.Q, dtype=float)

    @cached_property
    def column_far(self) -> Column:
        """1 where a column's ranks are on several nodes."""
        return np.asarray(self.column_beside < self.P, dtype=float)

    @cached_property
    def exchanges_far(self) -> Column:
        """The part of a column's pairwise exchanges that goes between nodes."""
        rounds = np.log2(np.maximum(self.P, 2))
        return np.asarray(self.column_far * (1 - np.log2(self.column_beside) / rounds))

    @cached_property
    def distinct(self) -> tuple["Shapes", NDArray[np.intp]]:
        """The configurations that differ to the model, and for each configuration which of them it is."""
        rows, numbers = np.unique(self._table, axis=0, return_inverse=True)
        return Shapes(rows), numbers

    def __len__(self) -> int:
        return len(self._table)


def shape_row(
    full: Mapping[str, Scalar], probes: Probes, worth: float = 1.0, slowest: SlowestRank | None = None
) -> tuple[float, ...]:
    """The figures of a complete point that the model needs.

    Args:
        worth: of a GFLOPS, in what is told of runs and asked of the model: more than 1 where nodes stay idle that the
            objective does not count.
        slowest: the rank for which all others wait; None where nodes are equal.
    """
    P, Q = parse_grid(str(full["grid"]))
    ranks, threads = ranks_and_threads(full["layout"])
    together = probes.together(ranks, threads, dropped_nodes(full))
    waited = slowest or on_equal_nodes(float(full["NB"]), P, Q)
    by_columns = full["PMAP"] == "column"
    neighbours = P if by_columns else Q
    near, across = min(neighbours, together), max(1.0, together / neighbours)
    row, column = ((across, near), (near, across)) if by_columns else ((near, across), (across, near))
    return (
        float(full["N"]), float(full["NB"]), P, Q, waited.speed * probes.rate_gflops(full) * threads * 1e9,
        float(Bcast.from_word(str(full["BCAST"]))), float(full["DEPTH"]), float(Swap.from_word(str(full["SWAP"]))),
        float(full["swap_threshold"]), 1e-6 * float(full.get("net.rx_usecs", 0)),
        float(full.get("net.mtu", USUAL_MTU)), *row, *column, waited.rows, waited.columns, waited.panels, worth,
    )  # fmt: skip


def log_rate(shapes: Shapes, unknown: Vector, part: float = 1.0, columns: float = 1.0) -> Vector:
    """Logarithm of HPL's rate in GFLOPS, shape (..., configurations).

    Args:
        unknown: logarithms of the quantities in `UNKNOWN`, shape (..., quantities).
        part: of N that is run, `columns` the part of its columns that are factorised before the run stops.
    """
    of = dict(zip(UNKNOWN, np.exp(unknown).T[..., None, None], strict=True))
    N = shapes.N * part
    n = N * (1 - columns * PLACES)
    whole = part == 1.0
    m = np.maximum(n / shapes.P + (shapes.more_rows if whole else shapes.NB * (shapes.P - 1) / shapes.P / 2), 1.0)
    k = np.maximum(n / shapes.Q + (shapes.more_columns if whole else shapes.NB * (shapes.Q - 1) / shapes.Q / 2), 1.0)
    step = _step_s(shapes, of, m, k)
    time_s = (step @ WEIGHTS) * (columns * N / shapes.NB)[:, 0]
    operations = (2 / 3 * N**3 * (1 - (1 - columns) ** 3) + 3 / 2 * N**2 * columns)[:, 0]
    return np.asarray(np.log(operations / time_s / 1e9))


def _step_s(shapes: Shapes, of: Mapping[str, Column], m: Column, k: Column) -> Column:
    NB, Q = shapes.NB, shapes.Q
    update, panel, swap = _update_s(shapes, of, m, k), _panel_s(shapes, of, m), _swap_s(shapes, of, k)
    bytes_ = BYTES * NB * (m + NB)
    (start_s, byte_s), (hop_start_s, hop_byte_s) = (
        _message_s(shapes, of, far, shapes.rows) for far in (shapes.row_far, shapes.row_far / shapes.row_beside)
    )
    message, parts = start_s + bytes_ * byte_s, _broadcast_in_parts_s(shapes, of, start_s, bytes_ * byte_s, panel)
    next_message = hop_start_s + bytes_ * hop_byte_s
    hop, busy = _weight(shapes, of, "hop", "") * next_message, _weight(shapes, of, "busy", "busy_") * message
    in_ring = shapes.ring < Bcast.LONG
    alone = update + panel + swap
    ring_in_turn = np.maximum(alone + hop, update + panel * shapes.row_beside / Q + swap + message)
    in_turn = np.where(Q > 1, np.where(in_ring, ring_in_turn, alone + parts), alone)

    next_update = update * np.minimum(1.0, NB / k)
    next_panel = panel + _swap_s(shapes, of, np.minimum(k, NB))
    updates = update * (1 + of["ahead"]) + of["swap_ahead"] * swap
    does = updates + next_panel / Q + busy + of["stall"] * next_update
    waits = next_panel + next_message + (1 + of["wait"]) * next_update
    most = np.maximum(does, waits)
    ring = most * ((does / most) ** SHARP + (waits / most) ** SHARP) ** (1 / SHARP)
    ahead = np.where(in_ring, ring, updates + next_panel + parts + of["wait_long"] * next_update)
    return np.asarray(np.where((shapes.depth > 0) & (Q > 1), ahead, in_turn))


def _update_s(shapes: Shapes, of: Mapping[str, Column], m: Column, k: Column) -> Column:
    filled = shapes.NB / (shapes.NB + of["half_nb"]) * m / (m + of["half_rest"]) * k / (k + of["half_rest"])
    return np.asarray((2 * m * k * shapes.NB + shapes.NB**2 * k) / (shapes.rate * of["rate"] * filled))


def _panel_s(shapes: Shapes, of: Mapping[str, Column], m: Column) -> Column:
    start_s, byte_s = _message_s(shapes, of, shapes.exchanges_far, 1.0)
    rows_s = of["pivot"] + start_s + (2 * shapes.NB + 4) * BYTES * byte_s
    factorising = m * shapes.NB**2 / (shapes.rate * shapes.panels * of["rate"] * of["panel"])
    return np.asarray(factorising + shapes.NB * np.ceil(np.log2(shapes.P)) * rows_s)


def _weight(shapes: Shapes, of: Mapping[str, Column], common: str, prefix: str) -> Column:
    """Messages in a ring, of which all kinds are one between two columns."""
    usual = np.ones_like(of[common])
    rings = np.concatenate([of.get(prefix + ring.word, usual) for ring in Bcast], axis=-1)
    among_more = rings[..., 0, shapes.ring[:, 0].astype(int)][..., None]
    return np.asarray(of[common] * np.where(shapes.Q == 2, 1.0, among_more))


def _broadcast_in_parts_s(
    shapes: Shapes, of: Mapping[str, Column], start_s: Column, whole_s: Column, panel: Column
) -> Column:
    """Seconds of a broadcast among Q ranks that all wait for each other.

    Args:
        start_s: of starting a message, `whole_s` of the bytes of the whole panel.
    """

    def among(ranks: Column) -> Column:
        rounds = np.ceil(np.log2(ranks)) + ranks - 1
        return np.asarray(rounds * start_s + 2 * whole_s * (ranks - 1) / ranks)

    others = of["LnM"] * among(np.maximum(shapes.Q - 1, 1))
    modified = of["hop"] * (start_s + whole_s) + np.maximum(0.0, others - panel)
    return np.asarray(np.where(shapes.ring == Bcast.LONG_M, modified, of["Lng"] * among(shapes.Q)))


def _swap_s(shapes: Shapes, of: Mapping[str, Column], k: Column) -> Column:
    P, rounds = shapes.P, np.ceil(np.log2(shapes.P))
    bytes_ = BYTES * shapes.NB * k
    start_s, byte_s = _message_s(shapes, of, shapes.exchanges_far, shapes.columns * shapes.column_beside)
    binary = of["bin"] * (rounds * start_s + (rounds + 1) / 2 * bytes_ * byte_s)
    start_s, byte_s = _message_s(shapes, of, shapes.column_far, shapes.columns)
    spread = of["long"] * ((rounds + P - 1) * start_s + 2 * bytes_ * byte_s * (P - 1) / P)
    by_binary = (shapes.swap == Swap.BINARY_EXCHANGE) | ((shapes.swap == Swap.MIX) & (k <= shapes.threshold))
    return np.asarray(np.where(P > 1, np.where(by_binary, binary, spread), 0.0) + bytes_ / of["copy"])


def _message_s(shapes: Shapes, of: Mapping[str, Column], far: Column, share: Column | float) -> tuple[Column, Column]:
    """Seconds of starting a message and of each byte of it, between nodes, within one, or some of both.

    Args:
        far: part of the messages that go between nodes, `share` how many use a node's link at once.
    """
    far_s = of["latency"] + of["held"] * shapes.held
    far_byte_s = share * (1 / of["bandwidth"] + of["packet"] / shapes.mtu)
    return far * far_s + (1 - far) * of["near_latency"], far * far_byte_s + (1 - far) / of["near_bandwidth"]


STEP = 1e-3
"""Standard deviations over which slopes are taken."""
AT_ONCE = 100
"""Configurations whose figures fit into a core's cache, with those of all slopes."""


@dataclass(frozen=True)
class LinearModel:
    """What the model says of configurations on a rung.

    Attributes:
        mean: logarithm of the rate in GFLOPS that the line has where each quantity is what it usually is, shape
            (configurations,).
        slopes: its change with each quantity, by standard deviation, shape (configurations, quantities).
    """

    mean: Vector
    slopes: Matrix

    def __len__(self) -> int:
        return len(self.mean)

    def and_then(self, more: "LinearModel") -> "LinearModel":
        """The predictions for these configurations, followed by those for others."""
        return LinearModel(np.append(self.mean, more.mean), np.concatenate([self.slopes, more.slopes]))

    def with_rows(self, places: Sequence[int], others: "LinearModel") -> "LinearModel":
        """The predictions with other configurations at some places."""
        mean, slopes = self.mean.copy(), self.slopes.copy()
        mean[places], slopes[places] = others.mean, others.slopes
        return LinearModel(mean, slopes)

    def of(self, places: NDArray[np.intp] | Sequence[int]) -> "LinearModel":
        """The predictions for some of the configurations."""
        rows = np.asarray(places, dtype=np.intp)
        return LinearModel(self.mean[rows], self.slopes[rows])


def straightened(shapes: Shapes, prior: Prior, moved: Vector, part: float, columns: float) -> LinearModel:
    """Linearise the model at the figures that a machine is believed to have.

    Args:
        prior: what quantities usually are.
        moved: how far each quantity is from what it usually is, in standard deviations, shape (quantities,).
        part, columns: as `log_rate` takes them.
    """
    cases = prior.at(moved + np.vstack([np.zeros_like(moved), STEP * np.eye(len(moved))]))
    distinct, numbers = shapes.distinct
    parts = [range(first, min(first + AT_ONCE, len(distinct))) for first in range(0, len(distinct), AT_ONCE)]
    rates = np.hstack([log_rate(distinct.of(rows), cases, part, columns) for rows in parts])
    slopes = (rates[1:] - rates[0]).T / STEP
    return LinearModel(rates[0] - slopes @ moved, slopes).of(numbers)
