"""The record of a study and of a trial: plain frozen values, units in their names."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from hpl.params import HplParams, Scalar

SIMULATOR = "simulator"
"""The entry of `versions` that only simulated studies and trials have."""
FIGURES = ("time_s", "gflops", "residual", "cost_s")
"""What of a trial is stored and shown as missing (None) where it is infinite or not a number."""
StudyState = Literal["running", "complete", "interrupted"]


class TrialState(StrEnum):
    """Where a trial is. A row is RUNNING from before its launch until its outcome is committed."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Invalidity(StrEnum):
    """The stage at which a FAILED trial failed, in the words of the T4 results schema of autotuners."""

    CONSTRAINTS = "constraints"
    COMPILE = "compile"
    RUNTIME = "runtime"
    TIMEOUT = "timeout"
    CORRECTNESS = "correctness"


class Kind(StrEnum):
    """Why a trial was run; what is no full run at the study's N is never ranked against the others.

    SEARCH: an engine asked for it. SMALL: an engine asked for it at a smaller N. PREFIX: an engine asked for its first
    columns only. GIVEN_UP: an engine asked for it, and it was stopped because it could not win. PILOT: a small run that
    tells how long runs take. CONFIRMATION: a finalist once more. EXTRAPOLATION: the winner at a smaller N. RUN: the
    user's own HPL.dat.
    """

    SEARCH = "search"
    SMALL = "small"
    PREFIX = "prefix"
    GIVEN_UP = "given-up"
    PILOT = "pilot"
    CONFIRMATION = "confirmation"
    EXTRAPOLATION = "extrapolation"
    RUN = "run"


SMALLER_RUNS = frozenset({Kind.PILOT, Kind.EXTRAPOLATION, Kind.SMALL, Kind.PREFIX, Kind.GIVEN_UP})
"""Kinds that are less than a full run at the study's N: their GFLOPS do not compare with the rest."""


@dataclass(frozen=True)
class Study:
    """A set of trials over one space, and all that is needed to go on with it or to repeat it.

    Attributes:
        name: unique within a store.
        created_at: with its time zone.
        space_name: a shipped space, or the file it was read from.
        space_text: the TOML as it was used.
        engine: name of the search engine.
        options: what the user asked for (seed, budget, repeats, overrides …), as JSON can hold it.
        host: facts of the machine by name, units in the names.
        rpeak_gflops: theoretical peak in GFLOPS, above 0, of the machine, or of the nodes that one trial has where
            several run at a time; None where not known.
        price_usd: price of the same in US dollars, above 0; None where not given.
        power_w: power of the same under load in watts, above 0; None where not given.
        versions: of hpltune, HPL, MPI, the compiler, Python and each BLAS.
    """

    name: str
    created_at: datetime
    space_name: str
    space_text: str
    engine: str
    options: Mapping[str, object]
    host: Mapping[str, object]
    rpeak_gflops: float | None = None
    price_usd: float | None = None
    power_w: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    state: StudyState = "running"

    @property
    def simulated(self) -> bool:
        """Whether its trials ran on a virtual cluster."""
        return SIMULATOR in self.versions


@dataclass(frozen=True)
class Observed:
    """The BLAS that really ran, as the ranks themselves said.

    Attributes:
        library: path of the file that was mapped.
        version: as the library tells it; "" where it does not.
        kernel: the set of kernels it chose; "" where it does not tell.
        threads: per rank, at least 1; None where the library does not tell.
        hosts: names of the hosts that had ranks.
    """

    library: str
    version: str
    kernel: str
    threads: int | None
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialRecord:
    """One evaluation of one configuration. Repeats are further records with the same key.

    Attributes:
        study: name of the study it belongs to.
        number: counts from 1 within the study; 0 before the store gave it one.
        params: the configuration in the words of the space, complete.
        key: identity of the configuration; points HPL cannot tell apart share it.
        started_at, ended_at: with their time zone; the end is None while it runs, or where it was never seen.
        invalidity: the stage that failed; None unless the state is FAILED.
        reason: the sentence why it does not count; "" where it does.
        hpl: what HPL was asked; None where the point never got that far.
        blas, kernel: the BLAS and the kernel that were asked for; `observed` says what ran.
        ranks: MPI ranks, at least 1.
        threads: per rank, at least 1.
        time_s: HPL's own time of the solve in seconds; of a stopped one the seconds until then.
        gflops: HPL's own rate in GFLOPS; also kept where the residual FAILED, but never ranked then.
        part: how much of a full run it was: n / N of a small one, the part of the columns of a stopped one, else 1.
        session: which sitting of the study it belongs to, from 0.
        residual, passed: HPL's check, the residual without a unit; None where it was not reached.
        command: the command line as a shell would need it.
        directory: where the run's files are.
        hpl_dat: the file that runs it; HPL read one with more values where it shared a launch.
        output, errors_text: what HPL printed, and standard error of all ranks; "" unless asked for, as `hpl_dat`.
        cost_s: wall seconds from launch to the end of the process tree; where trials shared a launch, HPL's
            time of this one and an equal part of the rest.
        xhpl_key: identity of the program that ran.
        versions: of what was used where it differs from what the study says.
    """

    study: str
    number: int
    kind: Kind
    state: TrialState
    params: Mapping[str, Scalar]
    key: str
    started_at: datetime
    invalidity: Invalidity | None = None
    reason: str = ""
    hpl: HplParams | None = None
    blas: str = ""
    kernel: str = ""
    ranks: int | None = None
    threads: int | None = None
    time_s: float | None = None
    gflops: float | None = None
    residual: float | None = None
    passed: bool | None = None
    observed: Observed | None = None
    command: str = ""
    directory: str = ""
    hpl_dat: str = ""
    output: str = ""
    errors_text: str = ""
    ended_at: datetime | None = None
    cost_s: float | None = None
    xhpl_key: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    part: float = 1.0
    session: int = 0

    @property
    def simulated(self) -> bool:
        """Whether a simulator made it: nothing was computed, so there is no residual, and its study is a simulation."""
        return SIMULATOR in self.versions

    @property
    def ranked(self) -> bool:
        """Whether its GFLOPS count among its like: a full run whose residual PASSED, or a simulated one."""
        if self.state is not TrialState.COMPLETE or not (self.passed or self.simulated):
            return False
        return self.gflops is not None and math.isfinite(self.gflops) and self.gflops > 0
