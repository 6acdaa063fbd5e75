"""A meter at the wall, or anything else: a program of the user that prints the watts of all nodes."""

import re
import shlex
from collections.abc import Sequence
from typing import Self

from runners.errors import RunnerError
from runners.hosts.hearing import Call, CommandResult, Unheard, hear

from .contract import COMMANDED, LONGEST_READING_S, WHOLE, Places, PowerPart, PowerSource, PowerSourceError
from .trace import refuse_impossible

_WATTS = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:W|[Ww]atts?)?\s*")


class WallMeter(PowerSource):
    """A program of the user, started anew for each reading, without a shell."""

    name = COMMANDED
    what = "what your command measures"

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__([PowerPart(WHOLE)])
        self._argv = tuple(argv)

    @classmethod
    def find(cls, places: Places) -> Self | None:
        """Take the program that the user names here, or in the cluster's file, and try it once."""
        named = places.cluster.power.command if places.cluster is not None and places.cluster.power else ""
        command = places.command or named
        if not command:
            return None
        try:
            argv = shlex.split(command)
        except ValueError as error:
            raise PowerSourceError(f"cannot be started: {error} in {command!a}") from error
        if not argv:
            raise PowerSourceError("cannot be started: the command is empty")
        found = cls(argv)
        refuse_impossible(*found.read())
        return found

    def read(self) -> Sequence[float]:
        """Start the program and read the watts that it prints; it is ended when it takes too long."""
        name = self._argv[0]
        try:
            heard = hear({name: Call(self._argv, LONGEST_READING_S)})[name]
        except (RunnerError, ValueError) as error:
            raise PowerSourceError(f"cannot be started: {error}") from error
        if isinstance(heard, OSError):
            raise PowerSourceError(f"cannot be started: {name}: {heard.strerror}")
        if heard is Unheard.LATE:
            raise PowerSourceError(f"hangs: {name} did not end within {LONGEST_READING_S:.0f} s, and was ended")
        if not isinstance(heard, CommandResult):
            raise PowerSourceError(f"is no meter: {name} prints too much, and was ended")
        if heard.exit_code:
            said = f" and said {heard.complaint[:120]!a}" if heard.complaint else ""
            raise PowerSourceError(f"does not tell: {name} ended with code {heard.exit_code}{said}")
        watts = _WATTS.fullmatch(heard.stdout)
        if watts is None:
            raise PowerSourceError(f"told {heard.stdout.strip()[:20]!a} in place of watts, such as 250 or 250.5 W")
        return [float(watts[1])]
