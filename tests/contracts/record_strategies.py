"""Hypothesis strategies: any study and any outcome of a trial that hpltune could have to keep."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_type_hints

from hypothesis import strategies as st
from record_builders import begun

from hpl.params import HplParams, Scalar
from results.record import BlasObservation, Study, StudyNotes, TrialRecord, TrialState

anything = st.text(max_size=40)
"""What a program may print, and what JSON may hold."""
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
"""What a column of text can hold in every database."""
whole = st.integers(1, 2**31 - 1)
figures = st.none() | st.floats(allow_nan=False, allow_infinity=False)
moments = st.datetimes(
    datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))])
)
scalars: st.SearchStrategy[Scalar] = (
    anything | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
)
open_json = st.dictionaries(anything, st.none() | scalars | st.lists(scalars, max_size=3), max_size=4)
versions = st.dictionaries(anything, anything, max_size=3)


def any_of(kind: type[Any], **own: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any record of a class, with all of its fields, also those that have no column."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{name: own[name] if name in own else st.from_type(hint) for name, hint in hints.items()})


def studies() -> st.SearchStrategy[Study]:
    return any_of(
        Study,
        created_at=moments,
        versions=versions,
        notes=st.builds(StudyNotes, like=texts, nodes_left=whole, all_tried=st.booleans(), whole_memory=st.just({})),
        **dict.fromkeys(("name", "space_name", "space_text", "engine"), texts),
        **dict.fromkeys(("options", "host"), open_json),
        **dict.fromkeys(("rpeak_gflops", "price_usd", "power_w"), figures),
    )


def hpl_params() -> st.SearchStrategy[HplParams]:
    return any_of(
        HplParams,
        N=st.integers(0, 2**31 - 1),
        threshold=st.floats(allow_nan=False, allow_infinity=False),
        NDIV=st.integers(2, 2**31 - 1),
        DEPTH=st.integers(0, 9),
        **dict.fromkeys(("P", "Q"), st.integers(1, 2**15)),
        **dict.fromkeys(("NB", "NBMIN", "swap_threshold", "alignment"), whole),
    )


def observed() -> st.SearchStrategy[BlasObservation]:
    own = {"threads": st.none() | whole, "hosts": st.lists(anything, max_size=3).map(tuple)}
    return any_of(BlasObservation, **dict.fromkeys(("library", "version", "kernel"), texts), **own)


def outcomes() -> st.SearchStrategy[TrialRecord]:
    """Trials of the study "study" that have ended."""
    return any_of(
        TrialRecord,
        study=st.just(begun().study),
        number=st.just(1),
        state=st.sampled_from([state for state in TrialState if state is not TrialState.RUNNING]),
        params=st.dictionaries(anything, scalars, max_size=5),
        started_at=moments,
        ended_at=st.none() | moments,
        hpl=st.none() | hpl_params(),
        observed=st.none() | observed(),
        versions=versions,
        part=st.floats(0.01, 1.0),
        session=st.integers(0, 9),
        measurements=st.dictionaries(texts, st.floats(allow_nan=False, allow_infinity=False), max_size=3),
        **dict.fromkeys(("key", "reason", "blas", "kernel", "command", "directory", "xhpl_key"), texts),
        **dict.fromkeys(("hpl_dat", "output", "errors_text"), anything),
        **dict.fromkeys(("ranks", "threads"), st.none() | whole),
        **dict.fromkeys(("time_s", "gflops", "residual", "cost_s"), figures),
    )
