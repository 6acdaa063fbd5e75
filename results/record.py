"""The record of a study and of a trial: plain frozen values, units in their names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from hpl.params import HplParams

Scalar = str | int | float | bool


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
    """Why a trial was run; only search and confirmation trials are ranked against one another."""

    SEARCH = "search"
    PILOT = "pilot"
    CONFIRMATION = "confirmation"
    EXTRAPOLATION = "extrapolation"
    RUN = "run"


@dataclass(frozen=True)
class Study:
    """A set of trials over one space, and all that is needed to go on with it or to repeat it.

    Attributes:
        space_text: the TOML as it was used.
        options: what the user asked for, as JSON can hold it.
        host: facts of the machine by name, units in the names.
        rpeak_gflops, price_usd, power_w: of the whole machine; None where not known.
        versions: of hpltune, HPL, MPI, the compiler, Python and each BLAS.
        state: "running", "complete" or "interrupted".
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
    state: str = "running"


@dataclass(frozen=True)
class Observed:
    """The BLAS that really ran, as the ranks themselves said.

    Attributes:
        library: the file that was mapped.
        threads: per rank; None where the library does not tell.
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
        number: counts from 1 within the study.
        reason: the sentence why it does not count; "" where it does.
        params: the configuration in the words of the space, complete.
        key: identity of the configuration; points HPL cannot tell apart share it.
        hpl: what HPL was asked; None where the point never got that far.
        time_s: HPL's own time of the solve.
        gflops: HPL's own rate; also kept where the residual FAILED, but never ranked then.
        residual, passed: of HPL's check; None where it was not reached.
        output, errors_text: standard output of HPL and standard error of all; "" unless they were asked for.
        cost_s: wall seconds from launch to the end of the process tree.
        xhpl_key: identity of the program that ran.
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

    @property
    def ranked(self) -> bool:
        """Whether its GFLOPS count: a full run whose residual PASSED."""
        return self.state is TrialState.COMPLETE and self.passed is True and self.gflops is not None
