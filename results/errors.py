"""Errors of the store and of what reads it."""

import difflib

TOLD = 4
"""Names that a sentence has room for."""


class ResultsError(Exception):
    """What went wrong with stored results, as one sentence for the user."""


def no_such_study(name: str, place: str, names: list[str]) -> ResultsError:
    """The error that a study is not among those of some names: all of a few are told, of more those most like it."""
    there = f"there: {', '.join(names) or 'none'}"
    if len(names) > TOLD:
        nearest = difflib.get_close_matches(name, names, TOLD, cutoff=0.0)
        there = f"of its {len(names)} the nearest: {', '.join(nearest)}; `hpltune show` lists all"
    return ResultsError(f"there is no study {name} in {place} ({there})")


class StudyExistsError(ResultsError):
    """The name of a new study is taken."""


class StudyBusyError(ResultsError):
    """Another living process works on the study."""


class DamagedError(ResultsError):
    """A row of the database cannot be read: the sentence names its study and trial."""


class DamagedWarning(UserWarning):
    """Such a row is left out of a list."""
