"""Hypothesis strategies: any study and any outcome of a trial that hpltune could have to keep."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st
from record_builders import begun

from hpl.params import Bcast, Fact, Form, HplParams, Pmap, Scalar, Swap
from results.record import BlasObservation, Invalidity, Kind, Study, TrialRecord, TrialState

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


def studies() -> st.SearchStrategy[Study]:
    return st.builds(
        Study,
        name=texts,
        created_at=moments,
        space_name=texts,
        space_text=texts,
        engine=texts,
        options=open_json,
        host=open_json,
        rpeak_gflops=figures,
        price_usd=figures,
        power_w=figures,
        versions=versions,
    )


def hpl_params() -> st.SearchStrategy[HplParams]:
    return st.builds(
        HplParams,
        N=st.integers(0, 2**31 - 1),
        NB=whole,
        P=st.integers(1, 2**15),
        Q=st.integers(1, 2**15),
        PMAP=st.sampled_from(Pmap),
        threshold=st.floats(allow_nan=False, allow_infinity=False),
        PFACT=st.sampled_from(Fact),
        NBMIN=whole,
        NDIV=st.integers(2, 2**31 - 1),
        RFACT=st.sampled_from(Fact),
        BCAST=st.sampled_from(Bcast),
        DEPTH=st.integers(0, 9),
        SWAP=st.sampled_from(Swap),
        swap_threshold=whole,
        L1=st.sampled_from(Form),
        U=st.sampled_from(Form),
        EQUIL=st.booleans(),
        alignment=whole,
    )


def observed() -> st.SearchStrategy[BlasObservation]:
    return st.builds(
        BlasObservation,
        library=texts,
        version=texts,
        kernel=texts,
        threads=st.none() | whole,
        hosts=st.lists(anything, max_size=3).map(tuple),
    )


def outcomes() -> st.SearchStrategy[TrialRecord]:
    """Trials of the study "study" that have ended."""
    return st.builds(
        TrialRecord,
        study=st.just(begun().study),
        number=st.just(1),
        kind=st.sampled_from(Kind),
        state=st.sampled_from([state for state in TrialState if state is not TrialState.RUNNING]),
        params=st.dictionaries(anything, scalars, max_size=5),
        key=texts,
        started_at=moments,
        invalidity=st.none() | st.sampled_from(Invalidity),
        reason=texts,
        hpl=st.none() | hpl_params(),
        blas=texts,
        kernel=texts,
        ranks=st.none() | whole,
        threads=st.none() | whole,
        time_s=figures,
        gflops=figures,
        residual=figures,
        passed=st.none() | st.booleans(),
        observed=st.none() | observed(),
        command=texts,
        directory=texts,
        hpl_dat=anything,
        output=anything,
        errors_text=anything,
        ended_at=st.none() | moments,
        cost_s=figures,
        xhpl_key=texts,
        versions=versions,
        part=st.floats(0.01, 1.0),
        session=st.integers(0, 9),
        measurements=st.dictionaries(texts, st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    )
