"""What a script of this folder does with a user's mistake."""

import sys
from collections.abc import Callable, Sequence

from landscapes_file import LandscapeError

from hpl.errors import HplError
from runners.errors import RunnerError
from search_spaces.errors import SpaceError
from tuner.errors import TunerError

SENTENCES = (LandscapeError, HplError, RunnerError, SpaceError, TunerError, OSError)
"""Errors that say what to do in a sentence."""


def as_script(main: Callable[[Sequence[str]], int]) -> None:
    """Run a script; where a file, an engine or a machine is not as it needs it, it says so without a traceback."""
    try:
        sys.exit(main(sys.argv[1:]))
    except SENTENCES as refused:
        sys.exit(str(refused))
