"""What a simulated run is worth: HPL's own line, for the configuration that was asked. It has no residual."""

from hpl import output
from hpl.params import HplParams
from results.record import Invalidity, Observed
from runners.status import JobState, JobStatus

from ..trial.judge import Failure, Verdict, another_run, ended_early


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
    if result:
        fault = another_run(asked, result)
    elif status.state is JobState.TIMEOUT:
        fault = Failure(Invalidity.TIMEOUT, f"the simulation was {status.message}")
    else:
        fault = ended_early(status, found, "", "the simulated HPL printed no result")
    return Verdict(found.results, (fault,), observed, status.state is JobState.CANCELLED)
