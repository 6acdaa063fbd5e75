"""What the doctor says of timed BLAS kernels."""

from collections.abc import Mapping, Sequence

from hpl.blas.probe import Probe
from results.report.model import Column, Table

BETTER = 1.1
"""A kernel is called better when its dgemm is this many times as fast as that of the library's own choice."""


def kernel_sentence(name: str, probes: tuple[Probe, ...]) -> str | None:
    """What a BLAS picks by itself and what would be faster; None where its own choice is good."""
    own = next(probe for probe in probes if probe.kernel == "auto")
    best = probes[0]
    if best.gflops < BETTER * own.gflops:
        return None
    picked = own.kernel_used or "a kernel it does not name"
    return (
        f"{name} picks {picked} by itself ({own.gflops:.0f} GFLOPS on one core); "
        f"{best.kernel} gives {best.gflops:.0f}: `tune` searches over both"
    )


def kernel_table(probed: Mapping[str, tuple[Probe, ...]], where: str = "") -> Table:
    """The rate of each kernel by BLAS.

    Args:
        where: which CPU, in words; "" for that of this host.
    """
    rows = []
    for name, probes in probed.items():
        own = next(probe for probe in probes if probe.kernel == "auto")
        others = ", ".join(f"{probe.kernel} {probe.gflops:.0f}" for probe in probes if probe.kernel != "auto")
        rows.append((name, f"{own.kernel_used or '?'} {own.gflops:.0f}", others or "no choice"))
    columns = tuple(Column(name, words=True) for name in ("BLAS", "its own choice", "kernels, fastest first"))
    return Table(f"dgemm on one core at HPL's shape, GFLOPS by kernel{where and f': {where}'}", columns, tuple(rows))


def kernel_facts(probed: Mapping[str, Sequence[Probe]]) -> dict[str, object]:
    """The same for scripts."""
    return {
        name: [{"kernel": one.kernel, "used": one.kernel_used, "gflops": round(one.gflops, 2)} for one in probes]
        for name, probes in probed.items()
    }
