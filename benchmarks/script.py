"""What a script of this folder does with a user's mistake."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hpl.errors import HplError
from runners.errors import RunnerError
from search_spaces.errors import SpaceError
from tuner.errors import TunerError
from tuner.replay.landscape import LandscapeError, RecordedLandscape

SHIPPED = Path(__file__).parent / "landscapes"
SENTENCES = (LandscapeError, HplError, RunnerError, SpaceError, TunerError)
"""Errors that say what to do in a sentence."""


def opened(path: Path) -> RecordedLandscape:
    """Read a landscape; where its runs contradict each other, standard error gets a caution.

    Raises:
        LandscapeError: as `RecordedLandscape.read`.
    """
    landscape = RecordedLandscape.read(path)
    if landscape.contradiction:
        print(f"Caution: {path}, {landscape.contradiction}.", file=sys.stderr, flush=True)
    return landscape


def count(text: str) -> int:
    """An option's number, at least 1.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number from 1")
    return int(text)


def as_script(main: Callable[[Sequence[str]], int]) -> None:
    """Run a script; where a file, an engine or a machine is not as it needs it, it says so without a traceback."""
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        sys.exit(f"{error.filename or 'the system'}: {error.strerror or error}")
    except SENTENCES as refused:
        sys.exit(str(refused))
