"""Writes the cost model for the simulated HPL, in seconds and bytes (`hpl/native/virtual/model.c` reads it)."""

from collections.abc import Iterator

from .cluster import RateTable
from .platform import Setup

SAMPLE_ABOVE_RANKS = 16
"""Up to this number of ranks every message is simulated; with more ranks, repeating exchanges are sampled."""


def kernel_sends(setup: Setup, ranks: int) -> bool:
    """Return whether the kernel sends for its rank: only if each rank has its own node, and so its own line."""
    return setup.network.socket_kib > 0 and len(set(setup.hosts(ranks))) == ranks


def cost_model(setup: Setup, ranks: int, *, every_message: bool | None = None) -> str:
    """Write the text of the model's file for one launch.

    Args:
        every_message: whether to simulate every message; overrules SAMPLE_ABOVE_RANKS.
    """
    core, blas, network = setup.cluster.core, setup.blas, setup.network
    measured = blas.dgemm_gflops if isinstance(blas.dgemm_gflops, RateTable) else None
    alone = kernel_sends(setup, ranks)
    table = measured or RateTable(n=(1,), k=(1,), gflops=((float(blas.dgemm_gflops),),))  # type: ignore[arg-type]
    numbers = {
        "call_s": blas.call_us * 1e-6,
        "byte_s": 1e-9 / core.memory_gb_s,
        "cached_s": 1e-9 / core.cache_gb_s,
        "cache_bytes": core.cache_kib * 1024,
        "strided_s": core.strided_ns * 1e-9,
        "exchange_s": 1e-9 * (2 * core.strided_ns if core.exchange_ns is None else core.exchange_ns),
        "flop_s": 1e-9 / core.level2_gflops,
        "trsm": blas.dtrsm_fraction,
        "gemm_byte_s": 0.0 if measured else 1e-9 / core.memory_gb_s,
        "send_s": network.cpu_us * 1e-6,
        "receive_s": network.cpu_us * 1e-6,
        "message_byte_s": network.cpu_ns_per_kib * 1e-9 / 1024,
        "eager_bytes": setup.link.eager_bytes,
        "socket_bytes": network.socket_kib * 1024 * alone,
        "queue_bytes": network.queue_kib * 1024 * alone,
        "line_byte_s": 1.0 / setup.bandwidth_bytes_s(),
        "jitter": setup.cluster.noise.jitter,
        "late_probe": int(network.late_probe),
        "every_message": int(ranks <= SAMPLE_ABOVE_RANKS if every_message is None else every_message),
        "seed": setup.seed,
    }
    tables = {"gemm": table, "trsm": blas.dtrsm_gflops, "trsm_left": blas.dtrsm_left_gflops}
    lines = [
        *(f"{name} {value:.9g}" for name, value in numbers.items()),
        " ".join(["nodes", str(ranks), *(host.removeprefix("n") for host in setup.hosts(ranks))]),
        *(line for name, each in tables.items() if each is not None for line in _rows(name, each)),
    ]
    return "\n".join(lines) + "\n"


def _rows(routine: str, table: RateTable) -> Iterator[str]:
    rows = {"n": table.n, "k": table.k, "gflops": [rate for row in table.gflops for rate in row]}
    return (" ".join([f"{routine}_{name}", *(f"{value:.9g}" for value in row)]) for name, row in rows.items())
