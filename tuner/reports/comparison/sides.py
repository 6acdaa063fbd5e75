"""The sides of a comparison, and in what else they differ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from results.record import Study
from results.stats.ranking import Ranked

from ...machine.equipment import host_count
from ...words import listed


@dataclass(frozen=True)
class Side:
    """The best configuration of a study, or the best with one value of a parameter.

    Attributes:
        name: the study, or the parameter with its value.
        best: the configuration; its rates are corrected to the last speed of a machine that changed.
        N: of its runs; None if that is not known.
        changed: relative change of the machine's speed in the study; 0 for none.
    """

    name: str
    study: Study
    best: Ranked
    N: int | None
    changed: float = 0.0


FACTS: tuple[tuple[str, Callable[[Side], object]], ...] = (
    ("N", lambda side: side.N),
    ("CPU", lambda side: side.study.host.get("cpu_model")),
    ("nodes", lambda side: host_count(side.study.host, "nodes")),
    ("cores", lambda side: side.study.host.get("physical_cores")),
)
"""What should be the same on all sides, by its name in a sentence; unknown values are None."""


def _unlike_origins(sides: Sequence[Side]) -> list[str]:
    """Say which sides were simulated or replayed, where not all of them came about in the same way."""
    if len({side.study.how for side in sides}) == 1:
        return []
    told = []
    for how in ("simulated", "replayed"):
        names = [side.name for side in sides if side.study.how == how]
        told += [f"{listed(names)} {'was' if len(names) == 1 else 'were'} {how}"] if names else []
    if any(side.study.how == "measured" for side in sides):
        told.append("the rest ran on a real machine")
    return [f"{listed(told)}."]


def warnings(sides: Sequence[Side]) -> list[str]:
    """Say in what the sides differ beside their configurations, so that a difference may be due to that."""
    said = []
    for name, value in FACTS:
        known = [(side.name, found) for side in sides if (found := value(side)) is not None]
        if len({found for _, found in known}) > 1:
            values = listed([f"{side} has {found}" for side, found in known])
            said.append(f"The sides differ in {name}, which may be the reason for a difference: {values}.")
    said += _unlike_origins(sides)
    for study, changed in {side.study.name: side.changed for side in sides if side.changed}.items():
        did = "sped up" if changed > 0 else "slowed"
        said.append(
            f"The machine {did} by {100 * abs(changed):.1f} % during study {study}; its rates are corrected to "
            "the last speed."
        )
    return said
