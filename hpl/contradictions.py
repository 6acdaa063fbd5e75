"""What the runs that a launch printed say against each other, and against the count in its last lines."""

from collections.abc import Sequence
from itertools import pairwise

from .output import HplResult


def contradictions(results: Sequence[HplResult], passed_told: int | None) -> list[str]:
    """Say of each run that a launch printed why it does not count; "" where nothing speaks against it.

    Args:
        results: all that the launch printed, in its order.
        passed_told: how many tests passed by its last lines; None where it does not say it.
    """
    passed = sum(result.passed is True for result in results)
    if passed_told is not None and passed > passed_told:
        rows = "1 result passes" if passed == 1 else f"{passed} results pass"
        return [f"{rows} in this output, but its last lines say that {passed_told} passed"] * len(results)
    return _overlaps(results)


def _overlaps(results: Sequence[HplResult]) -> list[str]:
    """Say which runs went on at once by their time stamps: a launch computes one after another."""
    dated = [(number, result) for number, result in enumerate(results) if result.stamps is not None]
    said = [""] * len(results)
    for (before, first), (number, second) in pairwise(dated):
        if first.stamps is None or second.stamps is None or second.stamps.may_follow(first.stamps, first.time_s):
            continue
        later_s = (second.stamps.start - first.stamps.start).total_seconds()
        when = f"{later_s:.0f} s after" if later_s >= 0 else f"{-later_s:.0f} s before"
        sentence = (
            f"a launch computes one run after another, but by the time stamps one started {when} another "
            f"that took {first.time_s:.2f} s"
        )
        said[before] = said[before] or sentence
        said[number] = sentence
    return said
