"""Small curves as SVG: numbers in, the points of a line and the words beside it out."""

from collections.abc import Sequence
from dataclasses import dataclass

from results.metrics import rate_text

from ....units import duration
from .digest import Digest

WIDTH, HEIGHT, LEFT, BELOW = 360, 120, 44, 18
"""Of a curve in the SVG's units: of all of it, and what the words left of and below the line take."""
AIR = 0.08
"""Part of the height that is left above and below the line."""
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """A line for a template.

    Attributes:
        line: its points as SVG wants them.
        dots: the points that are marked.
        low, high: words at the lower and upper end of the left axis, with their heights.
        start, end: words at the ends of the lower axis.
        told: all of it in one sentence, for those who do not see it.
    """

    line: str
    dots: tuple[tuple[float, float], ...]
    low: tuple[str, float]
    high: tuple[str, float]
    start: str
    end: str
    told: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    below: int = HEIGHT - BELOW


def best_curve(digest: Digest) -> Curve | None:
    """Draw the best rate so far against machine time; None before the first full run."""
    steps = digest.improvements
    if not steps:
        return None
    last_s = max(digest.machine_s, steps[-1].machine_s) or 1.0
    corners: list[tuple[float, float]] = []
    for step in steps:
        if corners:
            corners.append((step.machine_s, corners[-1][1]))
        corners.append((step.machine_s, step.gflops))
    corners.append((last_s, steps[-1].gflops))
    first, best, whole = rate_text(steps[0].gflops), rate_text(steps[-1].gflops), duration(last_s)
    told = f"The best rate grew from {first} to {best} GFLOPS in {whole} of machine time."
    marked = [(step.machine_s, step.gflops) for step in steps]
    return _curve(corners, marked, (0.0, last_s), ("0", f"{whole} of machine time"), told)


def panel_curve(points: Points, number: int) -> Curve | None:
    """Draw the rate of a running trial over its operations; None before there are two points."""
    if len(points) < 2:
        return None
    rates = [rate for _, rate in points]
    told = (
        f"The rate of trial {number} over {points[-1][0]:.0%} of its operations: "
        f"between {rate_text(min(rates))} and {rate_text(max(rates))} GFLOPS, {rate_text(rates[-1])} now."
    )
    return _curve(points, points[-1:], (0.0, 1.0), ("0 %", "100 % of its operations"), told)


def _curve(points: Points, marked: Points, span: tuple[float, float], words: tuple[str, str], told: str) -> Curve:
    rates = [rate for _, rate in points]
    low, high = min(rates), max(rates)
    room = HEIGHT - BELOW

    def placed(point: tuple[float, float]) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - 6) * (point[0] - span[0]) / (span[1] - span[0])
        part = (point[1] - low) / (high - low) if high > low else 0.5
        return round(x, 1), round(room * (1 - AIR - (1 - 2 * AIR) * part), 1)

    line = " ".join(f"{x},{y}" for x, y in map(placed, points))
    ends = ((rate_text(low), placed((0.0, low))[1]), (rate_text(high), placed((0.0, high))[1]))
    return Curve(line, tuple(map(placed, marked)), *ends, *words, told)
