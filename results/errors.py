"""Errors of the store and of what reads it."""


class ResultsError(Exception):
    """What went wrong with stored results, as one sentence for the user."""


class StudyExistsError(ResultsError):
    """The name of a new study is taken."""


class StudyBusyError(ResultsError):
    """Another living process works on the study."""
