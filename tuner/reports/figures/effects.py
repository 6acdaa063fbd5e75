"""What each parameter explains, and how far each of its values is behind the best one."""

from collections.abc import Sequence

from results.report.model import Figure, Series
from results.stats.intervals import half_95

from ...explain.variance import Effect, Value

MATTERS = 0.01
"""A parameter with at least this share of the differences, with others, matters."""
MOST_VALUES = 8
"""Values of a parameter that are drawn: the best ones and the worst."""
MOST_PARAMETERS = 6
"""That are drawn, those that matter most: each has a colour of its own."""
MOST_ROWS = 32
"""Values of all parameters that a figure has room for."""


def shares(title: str, effects: Sequence[Effect]) -> Figure:
    """Draw what each parameter explains alone and with others, with 95 % intervals."""
    alone = [(effect.name, effect.share, effect.sd) for effect in effects]
    together = [(effect.name, effect.total, effect.total_sd) for effect in effects]
    series = (_shares("alone", alone), _shares("with others", together))
    caption = "Error bars are 95 % intervals."
    return Figure(title, "parameter", "% of the speed differences", series, lying=True, caption=caption)


def _shares(name: str, rows: Sequence[tuple[str, float, float]]) -> Series:
    """Make bars of shares, none of which is below 0 or above 100 %."""
    return Series(
        name,
        tuple(parameter for parameter, _, _ in rows),
        tuple(100 * share for _, share, _ in rows),
        low=tuple(100 * max(0.0, share - half_95(sd)) for _, share, sd in rows),
        high=tuple(100 * min(1.0, share + half_95(sd)) for _, share, sd in rows),
    )


def values(effects: Sequence[Effect]) -> Figure | None:
    """Draw how far the values that ran of the parameters that matter are behind the best; None where none matters."""
    series: list[Series] = []
    left = MOST_ROWS
    for effect in effects:
        shown = _ends(effect.ran)
        if effect.total < MATTERS or len(shown) < 2 or len(shown) > left or len(series) == MOST_PARAMETERS:
            continue
        left -= len(shown)
        series.append(_behind(effect.name, shown))
    if not series:
        return None
    title = "Each value against the best of its parameter"
    axis, caption = (
        "% slower on average, with 95 % interval",
        "Only values that ran are shown. Error bars are 95 % intervals of the model.",
    )
    return Figure(title, "value", axis, tuple(series), lying=True, caption=caption)


def _ends(found: Sequence[Value]) -> Sequence[Value]:
    """Keep the best values and the worst one where there are too many."""
    return found if len(found) <= MOST_VALUES else (*found[: MOST_VALUES - 1], found[-1])


def _behind(name: str, shown: Sequence[Value]) -> Series:
    return Series(
        name,
        tuple(f"{name} {one.words}" for one in shown),
        tuple(one.behind_percent for one in shown),
        labels=tuple(f"runs: {one.runs}" for one in shown),
        low=tuple(one.behind_range[0] for one in shown),
        high=tuple(one.behind_range[1] for one in shown),
    )
