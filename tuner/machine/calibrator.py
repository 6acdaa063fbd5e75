"""Reads what the calibrator printed, and makes a virtual cluster of it."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from hpl.blas.half_rate import half_rate_block
from runners.virtual.cluster import Core, Network, RateTable, SharedMemory, VirtualBlas, VirtualCluster, VirtualNodes

from ..errors import TunerError

LARGEST = 3
"""Messages of the largest sizes from whose growth the rate is read."""
LATE = 2.0
"""A message is late that takes so many times as long as a longer one: how it is sent makes less of a difference."""
EAGER_BYTES = 4096
"""Open MPI's shared memory sends longer messages in one copy, after asking (btl_vader_eager_limit)."""
TCP_EAGER_KIB = 64
"""Open MPI sends longer ones over TCP after asking (btl_tcp_eager_limit)."""
BELIEVED = 2.0
"""Times the rate of the largest message as a whole: faster growth would mean that half of it is start."""
CPU_PART = 0.2
"""Of a small message's latency between nodes, what the core that sends it is busy, and that which receives: assumed."""
LARGEST_MTU = 65535
"""What packets cost is in the times that were measured."""

KIB = 1024
NOTICED = 0.1
"""Part of a long message: what is kept must be more, or it is the noise of two times that are alike."""


@dataclass(frozen=True, order=True)
class Shape:
    """What was timed: a routine and the sizes of its operands.

    For a message, `m` is its length in bytes; for a probed message, the number of questions until it was found.
    """

    what: str
    m: int
    n: int
    k: int


Figures = Mapping[Shape, float]
"""Seconds of one call."""


def parse_figures(text: str) -> Figures:
    """Read the figures of one run of the calibrator; other lines and damaged ones are passed over."""
    found = {}
    for line in text.splitlines():
        if line.startswith('{"what"'):
            with suppress(ValueError, KeyError):
                row = json.loads(line)
                found[Shape(row["what"], row["m"], row["n"], row["k"])] = float(row["time_s"])
    return found


def pooled(runs: Sequence[Figures]) -> Figures:
    """Take the median of several runs, figure by figure.

    Raises:
        TunerError: no run printed anything.
    """
    shapes = sorted({shape for run in runs for shape in run})
    if not shapes:
        raise TunerError("the calibrator printed no figures")
    return {shape: median(run[shape] for run in runs if shape in run) for shape in shapes}


def blas_of(figures: Figures) -> VirtualBlas:
    """Measured rates of dgemm and dtrsm by shape."""
    return VirtualBlas(
        dgemm_gflops=_table(figures, "gemm", _product),
        dtrsm_gflops=_table(figures, "trsm", _triangle),
        dtrsm_left_gflops=_table(figures, "trsm_left", _triangle),
        call_us=1e6 * figures[_shape(figures, "call")],
    )


def core_of(figures: Figures, cache_kib: float) -> Core:
    """What a core does besides dgemm and dtrsm while all others are at work.

    Args:
        cache_kib: second-level cache of a core.
    """
    gemv, ger = _shape(figures, "gemv"), _shape(figures, "ger")
    elements = gemv.m * gemv.n
    in_cache_s = fmean([figures[gemv], figures[ger]])
    return Core(
        memory_gb_s=1e-9 * 16 / _each(figures, "copy"),
        cache_kib=cache_kib,
        cache_gb_s=1e-9 * 8 * elements / in_cache_s,
        strided_ns=1e9 * fmean([_each(figures, "gather"), _each(figures, "scatter")]),
        exchange_ns=1e9 * _each(figures, "exchange"),
        level2_gflops=1e-9 * 2 * elements / in_cache_s,
    )


@dataclass(frozen=True)
class MessageCosts:
    """What the ping-pong tells.

    Attributes:
        latency_us: of the smallest message.
        bytes_s: rate at which the largest messages grow.
        steps: pairs of a size in bytes and the microseconds that a message from this size on takes beyond its bytes.
        kept_kib: part of a long message that the kernel takes, so that its sender goes on; 0 for next to nothing.
        queue_kib: data that an answer waits behind while the line is busy.
        late_probe: the first question does not find a message that has arrived.
    """

    latency_us: float
    bytes_s: float
    steps: tuple[tuple[int, float], ...]
    kept_kib: float = 0.0
    queue_kib: float = 0.0
    late_probe: bool = True


def message_times(figures: Figures) -> dict[int, float]:
    """Seconds of a message one way, by its length in bytes, shortest first."""
    return {shape.m: time_s for shape, time_s in sorted(figures.items()) if shape.what == "message"}


def half_nb_of(figures: Figures) -> float | None:
    """NB at which dgemm has half of the rate that it has with wide blocks; None where too few widths were timed."""
    gemms = {one: time_s for one, time_s in figures.items() if one.what == "gemm"}
    return half_rate_block({one.k: 1e-9 * _product(one) / time_s for one, time_s in gemms.items()})


def messages_of(figures: Figures) -> MessageCosts:
    """Read the ping-pong; a single rank had nobody to talk to, and gets the built-in figures of shared memory."""
    times = _undelayed(message_times(figures))
    if len(times) < LARGEST + 1:
        return MessageCosts(SharedMemory().latency_us, SharedMemory().gb_s * 1e9, ())
    sizes = list(times)
    bytes_s = _rate(times, sizes[-LARGEST], sizes[-1])
    steps = tuple(
        (round((before * size) ** 0.5), round(1e6 * max(times[size] - size / bytes_s, 0.0), 4))
        for before, size in pairwise(sizes)
    )
    kept_kib = _kept_bytes(figures) / KIB
    queue_kib = _queued_s(figures) * bytes_s / KIB if kept_kib else 0.0
    questions = [shape.m for shape in figures if shape.what == "probed"]
    return MessageCosts(
        latency_us=1e6 * times[sizes[0]],
        bytes_s=bytes_s,
        steps=steps,
        kept_kib=round(kept_kib),
        queue_kib=round(queue_kib),
        late_probe=min(questions, default=2) > 1,
    )


def _undelayed(times: Mapping[int, float]) -> dict[int, float]:
    """The times of messages, but of one that is LATE that of a longer one: the machine did something else meanwhile."""
    found: dict[int, float] = {}
    longer_s = math.inf
    for size, time_s in reversed([*times.items()]):
        found[size] = longer_s if time_s > LATE * longer_s else time_s
        longer_s = min(longer_s, found[size])
    return dict(reversed([*found.items()]))


def _rate(times: Mapping[int, float], size: int, largest: int) -> float:
    """Bytes per second by which long messages grew; if that is unknown, the rate of the largest message as a whole."""
    whole = largest / times[largest]
    grown_s = times[largest] - times[size]
    return max((largest - size) / grown_s, whole) if largest - size < BELIEVED * whole * grown_s else whole


def _kept_bytes(figures: Figures) -> float:
    """Bytes of a long message that had not arrived yet when its sender went on."""
    by_name = {shape.what: (shape.m, time_s) for shape, time_s in figures.items()}
    if not {"held", "through"} <= by_name.keys():
        return 0.0
    (size, held_s), (_, through_s) = by_name["held"], by_name["through"]
    kept = size * (1 - held_s / through_s)
    return kept if kept > NOTICED * size else 0.0


def _queued_s(figures: Figures) -> float:
    """How much longer a message takes to a rank whose line is busy."""
    times = {shape.n: time_s for shape, time_s in figures.items() if shape.what == "answered"}
    return max(0.0, times[max(times)] - times[0]) if 0 in times else 0.0


def this_machine(
    name: str, nodes: VirtualNodes, cache_kib: float, blas: Mapping[str, Figures], description: str
) -> VirtualCluster:
    """Make a virtual cluster of one node, or of nodes where the messages went from the first to the last.

    Args:
        blas: pooled figures by BLAS; those of the first one also describe the core and the messages.
    """
    first = next(iter(blas.values()))
    found = messages_of(first)
    return VirtualCluster(
        name=name,
        description=description,
        nodes=(nodes,),
        core=core_of(first, cache_kib),
        blas={entry: blas_of(figures) for entry, figures in blas.items()},
        networks={
            "shared-memory": Network(
                latency_us=max(found.latency_us, 0.01),
                gbit_s=8e-9 * found.bytes_s,
                eager_kib=EAGER_BYTES // KIB,
                latency_steps=found.steps,
                socket_kib=found.kept_kib,
                queue_kib=found.queue_kib,
                late_probe=found.late_probe,
            )
        },
        shared_memory=shared_of(found),
    )


def _product(shape: Shape) -> float:
    return 2.0 * shape.m * shape.n * shape.k


def _triangle(shape: Shape) -> float:
    return 1.0 * shape.k**2 * shape.n


def between_nodes(cluster: VirtualCluster, shared: SharedMemory) -> VirtualCluster:
    """The same nodes, if the measured messages went from one node to another.

    Args:
        shared: messages between ranks of one node.
    """
    measured = next(iter(cluster.networks.values()))
    network = measured.model_copy(
        update={
            "cpu_us": CPU_PART * measured.latency_us,
            "mtu": LARGEST_MTU,
            "mtu_most": LARGEST_MTU,
            "eager_kib": TCP_EAGER_KIB,
        }
    )
    return cluster.model_copy(update={"networks": {"network": network}, "shared_memory": shared})


def shared_of(found: MessageCosts) -> SharedMemory:
    """Messages between ranks of one node."""
    return SharedMemory(latency_us=max(found.latency_us, 0.01), gb_s=1e-9 * found.bytes_s)


def _table(figures: Figures, what: str, flops: Callable[[Shape], float]) -> RateTable:
    shapes = [shape for shape in figures if shape.what == what]
    widths, depths = sorted({shape.n for shape in shapes}), sorted({shape.k for shape in shapes})
    by_shape = {(shape.n, shape.k): 1e-9 * flops(shape) / figures[shape] for shape in shapes}
    return RateTable(
        n=tuple(widths),
        k=tuple(depths),
        gflops=tuple(tuple(round(by_shape[n, k], 4) for k in depths) for n in widths),
    )


def _shape(figures: Iterable[Shape], what: str) -> Shape:
    return next(shape for shape in figures if shape.what == what)


def _each(figures: Figures, what: str) -> float:
    """Seconds for each element."""
    shape = _shape(figures, what)
    return figures[shape] / (shape.m * shape.n)
