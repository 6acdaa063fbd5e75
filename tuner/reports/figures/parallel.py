"""All configurations at once: a line for each, which crosses an axis of each parameter at its value."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from hpl.params import Scalar
from results.metrics import rate_text
from results.report.model import Figure, Series
from results.stats.ranking import Ranked, varying

from ...words import listed

COLOURED, BEHIND = 3, 100
"""Configurations with a colour of their own, the best ones; others, which are grey, at most."""
LEAST = 4
"""Configurations below which the ranking shows all of it."""
ROOM = 48
"""Letters of all names of axes that stand beside each other."""
APART = 0.08
"""Part of an axis between two values that are written beside it."""
RATE = "GFLOPS"


def parallel(ranking: Sequence[Ranked]) -> Figure | None:
    """Draw the best configurations in colour before all others; None where too few differ in too little.

    A value stands the higher on its axis the larger it is, or the later in the alphabet: all values of a parameter are
    equally far apart, because they are choices and no measurements.
    """
    shown = ranking[: COLOURED + BEHIND]
    names = varying(shown)
    axes = _fitting(names)
    if len(shown) < LEAST or len(axes) < 2:
        return None
    heights = {name: _heights([entry.params.get(name) for entry in shown]) for name in axes}
    rates = [entry.expected_gflops for entry in shown]
    low, high = min(rates), max(rates)

    def points(entry: Ranked) -> list[tuple[str, float, str]]:
        values = [(name, entry.params.get(name)) for name in axes]
        rate = (entry.expected_gflops - low) / (high - low) if high > low else 1.0
        return [
            *((name, heights[name][value], _text(value)) for name, value in values),
            (RATE, rate, rate_text(entry.expected_gflops)),
        ]

    lines = [_line(f"no. {place}", points(entry)) for place, entry in enumerate(shown[:COLOURED], start=1)]
    others = [points(entry) for entry in shown[COLOURED:]]
    # every second line goes back, so that they join on an outer axis and nowhere between
    back = chain.from_iterable(one if number % 2 == 0 else one[::-1] for number, one in enumerate(others))
    grey = _line(f"nos. {COLOURED + 1} to {len(shown)}", list(back), behind=True)
    left_out = [name for name in names if name not in axes]
    more = f" Left out for want of room: {listed(left_out)}." if left_out else ""
    caption = (
        "Each line is a configuration: it crosses each axis at its value, the largest of which is on top, and ends at "
        f"the rate that is expected of it.{more}"
    )
    x, y, labels = zip(*_marks(chain.from_iterable(map(points, shown))), strict=True)
    values = Series("values", x, y, labels, bare=True)
    return Figure("Configurations as lines", "parameter", "", (*lines, grey, values), caption=caption)


def _marks(points: Iterable[tuple[str, float, str]]) -> list[tuple[str, float, str]]:
    """Choose the values that are written beside their axes: all, or so many that they do not touch each other."""
    found: list[tuple[str, float, str]] = []
    for name, place, text in sorted({*points}, key=lambda one: one[:2]):
        beside = [at for axis, at, _ in found if axis == name]
        if not beside or place - beside[-1] >= APART:
            found.append((name, place, text))
    return found


def _fitting(names: Sequence[str]) -> list[str]:
    """The first parameters whose names fit beside each other."""
    found, letters = list[str](), len(RATE)
    for name in names:
        letters += len(name) + 2
        if letters > ROOM:
            break
        found.append(name)
    return found


def _line(name: str, points: Sequence[tuple[str, float, str]], *, behind: bool = False) -> Series:
    x, y, labels = zip(*points, strict=True)
    return Series(name, x, y, notes=labels, line=True, bare=behind, behind=behind)


def _heights(values: Sequence[Scalar | None]) -> dict[Scalar | None, float]:
    """Where each value stands on its axis, from 0 to 1."""
    ordered = sorted(set(values), key=_order)
    return {value: place / max(1, len(ordered) - 1) for place, value in enumerate(ordered)}


def _order(value: Scalar | None) -> tuple[bool, list[tuple[float, str]]]:
    """Numbers in words count as numbers: 2x4 stands before 10x1."""
    parts = re.findall(r"\d+(?:\.\d+)?|\D+", _text(value))
    return value is not None, [(float(part), "") if part[0].isdigit() else (-1.0, part) for part in parts]


def _text(value: Scalar | None) -> str:
    return "none" if value is None else str(value)
