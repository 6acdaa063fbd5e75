"""Hypothesis strategies for HPL's parameters."""

from typing import TypeVar

from hypothesis import strategies as st

from hpl.dat import HplDat
from hpl.params import Bcast, Fact, Form, HplParams, Pmap, Swap

T = TypeVar("T")
WHOLE = st.integers(1, 10_000)


def listed(one: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(one, min_size=1, max_size=20).map(tuple)


OF_NETLIB = [broadcast for broadcast in Bcast if not broadcast.of_vendors]

PARAMS = st.builds(
    HplParams,
    N=st.integers(0, 10_000_000),
    NB=st.integers(1, 1024),
    P=st.integers(1, 64),
    Q=st.integers(1, 64),
    PMAP=st.sampled_from(Pmap),
    threshold=st.floats(-1e6, 1e6, allow_nan=False),
    PFACT=st.sampled_from(Fact),
    NBMIN=st.integers(1, 512),
    NDIV=st.integers(2, 16),
    RFACT=st.sampled_from(Fact),
    BCAST=st.sampled_from(OF_NETLIB),
    DEPTH=st.integers(0, 12),
    SWAP=st.sampled_from(Swap),
    swap_threshold=st.integers(0, 1000),
    L1=st.sampled_from(Form),
    U=st.sampled_from(Form),
    EQUIL=st.booleans(),
    alignment=st.integers(1, 64),
)

DATS = st.builds(
    HplDat,
    Ns=listed(st.integers(0, 2**31 - 1)),
    NBs=listed(WHOLE),
    grids=listed(st.tuples(WHOLE, WHOLE)),
    PMAP=st.sampled_from(Pmap),
    threshold=st.floats(0.001, 1e6),
    PFACTs=listed(st.sampled_from(Fact)),
    NBMINs=listed(WHOLE),
    NDIVs=listed(st.integers(2, 100)),
    RFACTs=listed(st.sampled_from(Fact)),
    BCASTs=listed(st.sampled_from(OF_NETLIB)),
    DEPTHs=listed(st.integers(0, 9)),
    SWAP=st.sampled_from(Swap),
    swap_threshold=st.integers(0, 1000),
    L1=st.sampled_from(Form),
    U=st.sampled_from(Form),
    EQUIL=st.booleans(),
    alignment=WHOLE,
    device=st.sampled_from([6, 7, 8]),
)
