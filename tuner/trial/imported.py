"""The record of a result that HPL printed without hpltune, and whether it counts."""

from dataclasses import replace
from datetime import UTC, datetime

from hpl.dat import HplDat, render
from hpl.log import VARIANT, LoggedResult
from hpl.params import HplParams, Scalar
from hpl.variant import contradicts
from results.record import IMPORTED_FROM, IMPORTED_SHA256, Invalidity, Kind, TrialRecord, TrialState


def imported_record(
    logged: LoggedResult, dat: HplDat | None, blas: str, file: tuple[str, str, datetime]
) -> TrialRecord:
    """The trial of a result, without study and number.

    Args:
        dat: an HPL.dat beside the file, which says what the output does not; None without one.
        blas: the library that HPL used; "" where nobody said it.
        file: relative name, hash and time of change of the file.
    """
    result, (name, sha256, changed_at) = logged.result, file
    hpl = logged.hpl or _from_dat(logged, dat)
    words: dict[str, Scalar] = {**({"blas": blas} if blas else {}), **(logged.words if hpl is None else hpl.words())}
    words.pop("threshold", None)
    fault = why_not(logged)
    program = {"hpl": logged.program} if logged.program else {}
    record = TrialRecord(
        study="",
        number=0,
        kind=Kind.IMPORTED,
        state=TrialState.FAILED if fault else TrialState.COMPLETE,
        params=words,
        key="|".join(f"{key}={value}" for key, value in sorted(words.items())),
        started_at=_local(logged.started_at) or changed_at,
        ended_at=_local(logged.ended_at),
        invalidity=Invalidity.CORRECTNESS if fault else None,
        reason=fault,
        hpl=hpl,
        blas=blas,
    )
    return replace(
        record,
        ranks=result.P * result.Q,
        time_s=result.time_s,
        gflops=result.gflops,
        residual=result.residual,
        passed=result.passed,
        hpl_dat=render(HplDat.of(hpl)) if hpl else "",
        output=logged.text,
        versions={**program, IMPORTED_FROM: name, IMPORTED_SHA256: sha256},
    )


def why_not(logged: LoggedResult) -> str:
    """The sentence why a result does not count; "" where it counts."""
    result = logged.result
    if result.passed is None and logged.threshold is not None and logged.threshold <= 0:
        return f"the residual was not checked: the threshold of HPL.dat is {logged.threshold:g}, not above 0"
    if result.passed is None:
        return "the output has no residual check for it, so it is stored and not ranked"
    return result.why_not(logged.threshold) or logged.doubt


def _from_dat(logged: LoggedResult, dat: HplDat | None) -> HplParams | None:
    """The run of an HPL.dat that gave a result; None where none or several could have."""
    if dat is None or VARIANT in logged.words:
        return None
    code = logged.result.code
    found = {run for run in dat.runs() if _agrees(run, logged) and not contradicts(code, run)}
    return found.pop() if len(found) == 1 else None


def _agrees(run: HplParams, logged: LoggedResult) -> bool:
    words = run.words()
    return all(words.get(name) == value for name, value in logged.words.items())


def _local(moment: datetime | None) -> datetime | None:
    """A time that HPL printed; it names no zone, so it is taken for one of this machine."""
    return None if moment is None else moment.astimezone(UTC)
