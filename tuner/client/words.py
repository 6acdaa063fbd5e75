"""The keys of documents as arguments of Python, for type checkers and editors."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from hpl.params import Scalar


class TuneWords(TypedDict, total=False):
    """The keys of `TuneDocument`; those that are left out have its defaults."""

    name: str
    priority: int
    space: str
    cluster: str
    budget: str
    trials: int
    run_time: str
    engine: str
    objective: str
    pareto: str
    full: bool
    memory_fraction: float
    set: Mapping[str, Scalar | Sequence[Scalar]]
    points: int
    repeats: int
    confirm: int
    seed: int
    blas: Sequence[str]
    program: str
    rpeak_gflops: float
    price_usd: float
    power_w: float
    parallel: int
    jobs: int
    limit: str
    from_simulation: str
    warm_start: Sequence[str]


class CheckWords(TypedDict, total=False):
    """The keys of `CheckDocument`, but for the baseline."""

    name: str
    priority: int
    runs: int
    tolerance_percent: float
