"""What a simulated run is worth: HPL's own line, for the configuration that was asked. It has no residual."""

from hpl import output
from hpl.output import HplResult
from hpl.params import HplParams
from results.record import Invalidity, Observed
from runners.status import JobState, JobStatus

from ..judge import Fault, Verdict


def judge_simulated(asked: HplParams, status: JobStatus, stdout: str, simulator: str, nodes: int) -> Verdict:
    """Hold a simulated run against what was asked.

    Args:
        simulator: name and version, which stand where a real run says which BLAS it mapped.
    """
    found = output.parse(stdout)
    result = found.results[0] if found.results else None
    observed = Observed(
        library=simulator, version="", kernel="cost model", threads=1, hosts=(f"{nodes} virtual nodes",)
    )
    fault = _fault(asked, result, status, found.errors)
    return Verdict(found.results, (fault,), observed, status.state is JobState.CANCELLED)


def _fault(asked: HplParams, result: HplResult | None, status: JobStatus, errors: tuple[str, ...]) -> Fault | None:
    if result is None:
        if status.state is JobState.TIMEOUT:
            return Fault(Invalidity.TIMEOUT, f"the simulation was {status.message}")
        if errors:
            return Fault(Invalidity.RUNTIME, f"HPL says: {errors[0]}")
        return Fault(Invalidity.RUNTIME, status.message or "the simulated HPL printed no result")
    if (result.N, result.NB, result.P, result.Q) != (asked.N, asked.NB, asked.P, asked.Q):
        return Fault(Invalidity.RUNTIME, f"HPL ran N={result.N} NB={result.NB} {result.P}x{result.Q} instead")
    return None
