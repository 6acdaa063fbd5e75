"""What can be asked of `check`."""

from dataclasses import dataclass
from typing import Annotated

from .field import Ask, AskField, Named
from .shared import USUAL_QUIET, QuietTime

MOST_CHECKED = 50
"""Runs of which each tells something."""


@dataclass(frozen=True)
class CheckAsk(Ask):
    """A measurement of what is known already: is the machine slower than it was?"""

    baseline: Annotated[
        str,
        AskField(
            "The study of a real machine whose best configuration is measured again.",
            metavar="STUDY",
            names=Named.STUDY,
        ),
    ]
    runs: Annotated[int, AskField("How often the configuration is run.", least=1, most=MOST_CHECKED)] = 3
    tolerance_percent: Annotated[
        float,
        AskField(
            "Loss of speed that is no reason to worry.", field="tolerance", metavar="PERCENT", least=0.0, most=50.0
        ),
    ] = 2.0
    wait_for_quiet: QuietTime = USUAL_QUIET
