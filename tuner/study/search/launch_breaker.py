"""Ends a search in which one launch after another fails alike before HPL begins.

A node that is gone, a full disk or a broken network fails every launch. Without a break they would use up the budget,
and each would be booked as a fault of its configuration.
"""

import re
import shlex

from results.record import Invalidity, TrialState
from search_spaces.space import SearchSpace

from ...errors import TunerError
from ...trial.repeat import Launched

MOST = 3
"""Launches in a row that may fail alike."""
_FIGURES = re.compile(r"\d+")
OF_LAUNCHES = ("mpi", "net.")
"""How names of parameters begin whose values alone may prevent HPL's begin."""


class LaunchBreaker:
    """Counts the launches in a row that failed alike before HPL began."""

    def __init__(self, study: str, space: SearchSpace) -> None:
        self._study = study
        self._watches = not any(name.startswith(OF_LAUNCHES) for name in space.varying)
        self._last = ""
        self._count = 0

    def note(self, done: Launched) -> None:
        """Note what came of a launch.

        Raises:
            TunerError: it is one of too many; the sentence says how to go on.
        """
        reasons = [record.reason for record in done.records if record.invalidity is Invalidity.RUNTIME]
        failed = all(record.state is TrialState.FAILED for record in done.records)
        if done.began or not failed or not reasons or not self._watches:
            self._last, self._count = "", 0
            return
        alike = _FIGURES.sub("#", reasons[-1])
        self._count = self._count + 1 if alike == self._last else 1
        self._last = alike
        if self._count >= MOST:
            raise TunerError(
                f"{MOST} launches in a row failed alike before HPL began ({reasons[-1]}), so that the machine may be "
                "to blame and not the configurations: "
                f"`hpltune tune «resume» «study» {shlex.quote(self._study)}` goes on once it is mended"
            )
