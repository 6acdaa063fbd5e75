"""Plots the measurements of networks. matplotlib is imported only when a plot is drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import ResultsError
from ..store.networks import NetworkProbe


def plot_probes(probes: Mapping[str, NetworkProbe], file: Path) -> None:
    """Plot the time of a message, and its rate, over its size; one curve for each name.

    Raises:
        ResultsError: the file cannot be written.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - half a second that only a picture needs

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    times, rates = figure.subplots(1, 2)
    for name, probe in probes.items():
        sizes = [size for size, _ in probe.points]
        times.plot(sizes, [time_us for _, time_us in probe.points], label=name)
        rates.plot(sizes, _mbit_s(probe.points), label=name)
    times.set_yscale("log")
    times.set_ylabel("one way in µs")
    rates.set_ylabel("Mbit/s")
    for axis in (times, rates):
        axis.set_xscale("log", base=2)
        axis.set_xlabel("message in bytes")
        axis.spines[["top", "right"]].set_visible(False)
    rates.legend(frameon=False)
    try:
        figure.savefig(file)
    except (OSError, ValueError) as error:
        raise ResultsError(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from error


def _mbit_s(points: Sequence[tuple[int, float]]) -> list[float]:
    return [8 * size / time_us for size, time_us in points]
