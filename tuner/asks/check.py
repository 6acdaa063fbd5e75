"""What can be asked of `check`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from .field import Ask, AskField, Named
from .shared import USUAL_QUIET, QuietTime

MOST_CHECKED = 50
"""Runs of which each tells something."""


class CheckVerdict(StrEnum):
    """What a check found."""

    NOT_SLOWER = "not-slower"
    SLOWER = "slower"
    SLOWER_TODAY = "slower-today"
    CANNOT_TELL = "cannot-tell"
    FAILED = "failed"
    STOPPED = "stopped"


FAILABLE = (CheckVerdict.SLOWER, CheckVerdict.SLOWER_TODAY, CheckVerdict.CANNOT_TELL)
"""Verdicts that a user may call a failure, or none."""


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
    reference: Annotated[
        str | None,
        AskField(
            "A study whose best configuration runs in turn with it, such as one of a program that is never changed: "
            "what both lose is of the machine, what only one loses is not.",
            metavar="STUDY",
            names=Named.STUDY,
        ),
    ] = None
    wait_for_quiet: QuietTime = USUAL_QUIET
