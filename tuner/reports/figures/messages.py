"""The time of messages by their size, as it was measured for a study, and the line that the search takes for it."""

from collections.abc import Sequence

from results.report.model import Figure, Series
from results.store.networks import NetworkProbe

from ...settings.words import words

MOST = 3
"""Measurements that are drawn: the last ones. Each has two colours of six."""


def messages(probes: Sequence[NetworkProbe]) -> Figure | None:
    """Draw the points of each measurement and latency + bytes / rate; None where nothing was measured."""
    series: list[Series] = []
    shown = [probe for probe in probes if any(size for size, _ in probe.points)][-MOST:]
    for probe in shown:
        points = sorted((float(size), time_us) for size, time_us in probe.points if size > 0)
        sizes, times = zip(*points, strict=True)
        bytes_per_us = probe.bandwidth_mbit_s / 8
        name = words(probe.settings) if len(shown) > 1 or probe.settings else "measured"
        fitted = f"{probe.latency_us:.3g} µs + bytes / ({bytes_per_us / 1000:.3g} GB/s)"
        line = tuple(probe.latency_us + size / bytes_per_us for size in sizes)
        series += [Series(name, sizes, times), Series(fitted, sizes, line, line=True, bare=True)]
    if not series:
        return None
    first, last = shown[-1].hosts
    way = f"within {first}" if first == last else f"from {first} to {last}"
    return Figure(
        f"Time of a message {way}", "message in bytes", "time one way in µs", tuple(series), x_log=True, y_log=True
    )
