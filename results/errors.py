"""Errors of the store and its readers."""

import difflib

from hpl.errors import AskedError

MOST_NAMES = 4
"""Most names of studies in a sentence."""


class ResultsError(Exception):
    """An error in stored results; the message is one sentence for the user."""


class UnknownStudyError(ResultsError):
    """There is no study of that name."""


class UnknownTrialError(ResultsError):
    """The study has no trial of that number."""


class NoValidRunError(ResultsError):
    """No run of the study counts, so it has no best configuration.

    Args:
        study: its name.
        instead: what may be done instead, as the end of the sentence.
    """

    def __init__(self, study: str, instead: str = "") -> None:
        super().__init__(f"study {study} has no valid run: `hpltune show {study}` lists what ran{instead}")


class NoHplDatError(ResultsError):
    """The trial ended before it had an HPL.dat, or its output does not tell all parameters."""


class DatabaseAwayError(ResultsError):
    """The database cannot be used now, and may be later: no server, a full disk, or another one writes."""


def no_such_study(name: str, place: str, names: list[str]) -> UnknownStudyError:
    """Make the error for an unknown study, with all names if they are few, else with the most similar ones."""
    known = f"there: {', '.join(names) or 'none'}"
    if len(names) > MOST_NAMES:
        nearest = difflib.get_close_matches(name, names, MOST_NAMES, cutoff=0.0)
        known = f"of its {len(names)} the nearest: {', '.join(nearest)}; `hpltune show` lists all"
    study, mark, trial = name.rpartition("#")
    hint = f": `hpltune show {study} {trial}` shows a trial of a study" if mark and study in names else ""
    return UnknownStudyError(f"there is no study {name} in {place} ({known}){hint}")


class NoRoomError(DatabaseAwayError):
    """Nothing more can be written: the disk is full or failed, or a limit on file sizes was reached."""


class DatabaseAddressError(ResultsError, AskedError):
    """What should name a database cannot."""


class StudyExistsError(ResultsError):
    """The name of a new study is already in use."""


class StudyBusyError(ResultsError):
    """Another living process works on the study."""


class CampaignStateError(ResultsError):
    """A campaign stands so that what is wanted of it cannot be done."""


class KeyReusedError(ResultsError):
    """An idempotency key was given with another document before."""


class DamagedError(ResultsError):
    """A row of the database cannot be read: the sentence names its study and trial."""


class StoreWarning(UserWarning):
    """What users of a database must know: a damaged row is left out of a list, or the schema is another one now."""
