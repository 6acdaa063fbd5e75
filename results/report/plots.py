"""Plots of results. matplotlib is imported only when one is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ResultsError


@dataclass(frozen=True)
class DesignPoint:
    """A cluster in a plot: its name, Rmax and Rpeak in GFLOPS, and its price in US dollars if known."""

    name: str
    gflops: float
    rpeak_gflops: float
    price_usd: float | None


def plot_designs(points: Sequence[DesignPoint], file: Path) -> None:
    """Plot Rmax within Rpeak for each design, and beside it the price per GFLOPS where it is known.

    Raises:
        ResultsError: the file cannot be written.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - half a second that only a picture needs

    priced = [point for point in points if point.price_usd]
    figure = Figure(figsize=(11 if priced else 6, 1.6 + 0.45 * len(points)), layout="constrained")
    axes = figure.subplots(1, 2 if priced else 1, squeeze=False, sharey=True)[0]
    names = [point.name for point in points]
    axes[0].barh(names, [point.rpeak_gflops for point in points], color="#d9dde3", label="Rpeak")
    axes[0].barh(names, [point.gflops for point in points], color="#2f6f9f", label="Rmax, tuned")
    axes[0].invert_yaxis()
    axes[0].set_xlabel("GFLOPS")
    axes[0].legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    if priced:
        rates = [(point.price_usd or 0.0) / point.gflops for point in priced]
        bars = axes[1].barh([point.name for point in priced], rates, color="#2f6f9f")
        axes[1].bar_label(bars, [f"${point.price_usd:,.0f}" for point in priced], padding=4)
        axes[1].set_xlabel("US dollars per GFLOPS, with the price")
        axes[1].margins(x=0.2)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(file)
    except OSError as error:
        raise ResultsError(f"cannot write {file}: {error.strerror}") from error
