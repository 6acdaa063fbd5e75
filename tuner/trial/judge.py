"""What a finished run is worth: the rules by which a GFLOPS counts, or why it does not. Pure functions over texts."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest

from hpl import output, variant
from hpl.log import unlike_asked
from hpl.output import HplOutput, HplResult, contradictions
from hpl.params import HplParams
from hpl.programs.family import AskedLibrary
from hpl.witness import RankReport, RankSight, parse_panels, parse_reports
from results.record import BlasObservation, Invalidity
from runners.base import JobState, JobStatus
from runners.launchers.base import words_of_ranks

from ..words import counted, listed
from .plan import TrialPlan
from .plausible import MachineLimits, MeasuredLaunch, implausible, too_fast

NOT_ASKED = "HPL ran a configuration that was not asked for"
_OWN_ROWS = re.compile(
    r"^(?:HPLinpack|Written by|Modified by|An explanation|The following|- (?:The (?:matrix|follow|relat)|Computat)|"
    r"[-=]{80}| {6}|\|\|Ax|"
    r"(?:T/V|[NPQ]|NB|Time|Gflops|PMAP|[PR]FACT|NBMIN|NDIV|BCAST|DEPTH|SWAP|L1|U|EQUIL|ALIGN) *:).*$",
    re.MULTILINE,
)
"""What HPL prints above its results, of which nothing tells why it ended."""
HPL_SAYS = "HPL says: "
"""Stands before an error that HPL itself explains."""


@dataclass(frozen=True)
class Failure:
    """Why a run does not count: the stage that failed and the sentence for the user."""

    invalidity: Invalidity
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What one run of HPL showed.

    Attributes:
        results: the result lines HPL printed, in its order, whatever became of the run afterwards.
        faults: one per run the plan asked for: None where its result counts.
        observed: the BLAS that really ran, or None where the ranks did not say.
        cancelled: the run was ended on request and says nothing about the configuration.
    """

    results: tuple[HplResult, ...]
    faults: tuple[Failure | None, ...]
    observed: BlasObservation | None
    cancelled: bool

    def doubted(self, sentences: Sequence[str], kind: Invalidity = Invalidity.CORRECTNESS) -> "Verdict":
        """The same where runs that would count do not: each has a sentence why, "" where nothing speaks against it."""
        doubts = [Failure(kind, sentence) if sentence else None for sentence in sentences]
        left = [None] * (len(self.faults) - len(doubts))
        return replace(
            self, faults=tuple(found or doubt for found, doubt in zip(self.faults, [*doubts, *left], strict=True))
        )


def judge(plan: TrialPlan, status: JobStatus, stdout: str, stderr: str) -> Verdict:
    """Hold a run's outcome against what was asked.

    A result counts when HPL printed it for the configuration that was asked, the number of its residual is small
    enough, GFLOPS and time agree with the flop count, and the ranks really ran the BLAS, kernel and threads asked for.
    """
    found = plan.program.parse(stdout)
    reports = parse_reports(stderr)
    observed = observe(reports)
    ended = _end(plan, status, found, stdout, stderr)
    blas = AskedLibrary(plan.blas, plan.kernel, plan.threads, plan.library)
    unlike = "" if ended and not reports else plan.program.unproven(blas, reports, found)
    mismatch = Failure(Invalidity.RUNTIME, unlike) if unlike else None
    if plan.stop_at is not None:
        stopped = any(panel.stopped for panel in parse_panels(stderr)) and status.exit_code == 0
        early = None if stopped else ended_early(status, found, stderr, "the run did not stop where it was asked to")
        return Verdict((), (mismatch or early,), observed, status.state is JobState.CANCELLED)
    faults = tuple(
        mismatch or _surplus(plan, found) or _fault(asked, found.results[i] if i < len(found.results) else None, ended)
        for i, asked in enumerate(plan.runs)
    )
    verdict = Verdict(found.results, faults, observed, status.state is JobState.CANCELLED)
    if len(plan.runs) == 1 and plan.program.workload.is_hpl:
        asked = {name: value for name, value in plan.runs[0].words().items() if not plan.program.terms.lacks(name)}
        if other := unlike_asked(stdout, asked):
            verdict = verdict.doubted([f"{NOT_ASKED}: the head of its output says {other}"], Invalidity.RUNTIME)
    return verdict.doubted(contradictions(found.results[: len(plan.runs)], found.passed_told))


def sound(
    verdict: Verdict, plan: TrialPlan, measured: MeasuredLaunch | None, limits: Callable[..., MachineLimits]
) -> Verdict:
    """The verdict of any site, without runs that are not as they were asked or cannot have been as they are told.

    Args:
        measured: of the launch; None where time is virtual.
        limits: of the site for this plan, as `Site.limits` tells them.
    """
    if len(verdict.faults) != len(plan.runs):
        told = f"of {counted(len(plan.runs), 'run')} the site told what came of {len(verdict.faults)}"
        return replace(verdict, faults=tuple(Failure(Invalidity.RUNTIME, told) for _ in plan.runs))
    results = verdict.results[: len(plan.runs)]
    if plan.stop_at is not None or (not results and all(verdict.faults)):
        return verdict
    pairs = zip_longest(verdict.faults, plan.runs, results)
    verdict = replace(verdict, faults=tuple(fault or _contradicts(asked, result) for fault, asked, result in pairs))
    for exactly in (False, True):
        known = limits(exactly=exactly)
        said = (
            implausible(results, measured, known) if measured and results else [too_fast(one, known) for one in results]
        )
        if not any(said):
            return verdict
    return verdict.doubted(said)


def observe(reports: Sequence[RankReport]) -> BlasObservation | None:
    """The BLAS of rank 0 and the hosts of all ranks; None where no rank reported."""
    if not reports:
        return None
    first = min(reports, key=lambda report: report.rank)
    return BlasObservation(
        library=str(first.library),
        version=first.version,
        kernel=first.kernel,
        threads=first.threads,
        hosts=tuple(sorted({report.host for report in reports})),
    )


def _surplus(plan: TrialPlan, found: HplOutput) -> Failure | None:
    """Why no result counts where there are more than were asked for: which one is of the run nobody can tell."""
    if len(found.results) <= len(plan.runs):
        return None
    asked = "1 was" if len(plan.runs) == 1 else f"{len(plan.runs)} were"
    many = f"{plan.program.workload.title} printed {len(found.results)} results, and {asked} asked for"
    return Failure(Invalidity.CORRECTNESS, f"{many}: no one knows which of them is right")


def _end(plan: TrialPlan, status: JobStatus, found: HplOutput, stdout: str, stderr: str) -> Failure | None:
    """Why results may be missing; None when HPL ran to its end."""
    if found.finished and len(found.results) >= len(plan.runs):
        return None
    title = plan.program.workload.title
    cut_off, so_many = len(found.results) >= len(plan.runs), f"{len(found.results)} of {len(plan.runs)} results"
    said = f"what {title} printed ends before its last lines" if cut_off else f"{title} printed {so_many}"
    ended = ended_early(status, found, stderr, said)
    if ended.invalidity is Invalidity.RUNTIME and (not status.message or status.message.startswith("a rank ")):
        words = words_of_ranks(stderr) or ("" if found.results else words_of_ranks(_OWN_ROWS.sub("", stdout)))
        if words and words not in ended.reason and not ended.reason.startswith(HPL_SAYS):
            return replace(ended, reason=f"{ended.reason}; its last words: {words}")
    return ended


def ended_early(status: JobStatus, found: HplOutput, stderr: str, otherwise: str) -> Failure:
    """Why a run ended before it should: out of time, what HPL says, what the launcher says, or else this sentence."""
    if status.state is JobState.TIMEOUT:
        return Failure(Invalidity.TIMEOUT, f"{status.message}{_reached(stderr)}")
    errors = found.errors or output.parse(stderr).errors
    if errors:
        return Failure(Invalidity.RUNTIME, f"{HPL_SAYS}{errors[0]}")
    return Failure(Invalidity.RUNTIME, status.message or otherwise)


def another_run(asked: HplParams, result: HplResult) -> Failure | None:
    """What is wrong where HPL ran another configuration than was asked."""
    same = (result.N, result.NB, result.P, result.Q) == (asked.N, asked.NB, asked.P, asked.Q)
    if same and not variant.contradicts(result.code, asked):
        return None
    ran = f"{result.code} N={result.N} NB={result.NB} {result.P}x{result.Q}"
    return Failure(Invalidity.RUNTIME, f"{NOT_ASKED}: {ran}")


def _reached(stderr: str) -> str:
    panels = parse_panels(stderr)
    return f" after {panels[-1].fraction:.0%} of its operations" if panels else ""


def _contradicts(asked: HplParams, result: HplResult | None) -> Failure | None:
    """Why a result is none of what was asked; that a simulation checks no residual speaks against nothing."""
    if result is None:
        return Failure(Invalidity.RUNTIME, "HPL printed no result for it")
    if another := another_run(asked, result):
        return another
    why = "" if result.passed is None else result.why_not(asked.threshold)
    return Failure(Invalidity.CORRECTNESS, why) if why else None


def _fault(asked: HplParams, result: HplResult | None, ended: Failure | None) -> Failure | None:
    if result is None and ended:
        return ended
    found = _contradicts(asked, result)
    if found is None and result is not None and result.passed is None:
        # it was told not to check it, or the run was cut off between the two
        unchecked = f"the residual was not checked: the threshold of HPL.dat is {asked.threshold:g}, not above 0"
        cut_off = ended or Failure(Invalidity.CORRECTNESS, "HPL printed a result, but no residual check")
        return Failure(Invalidity.CORRECTNESS, unchecked) if asked.threshold <= 0 else cut_off
    return found


LONGEST = 240
"""Characters of a value that the witness tells whole (`MOST_VALUE` of hpl/native/witness.c, less what it quotes)."""
TOLD = (
    "OMP_", "KMP_", "GOMP_", "GOTO_", "OPENBLAS_", "BLIS_", "MKL_", "UCX_", "FI_", "PSM2_", "NCCL_", "HPL_", "HIP_",
    "CUBLAS_", "NVSHMEM_", "ROCBLAS_", "OMPI_MCA_btl", "OMPI_MCA_pml", "OMPI_MCA_mtl", "OMPI_MCA_coll", "OMPI_MCA_mpi_",
)  # fmt: skip
"""Beginnings of the variables that ranks tell; the same list stands in `witness.c`."""
EACH_ITS_OWN = {"HIP_VISIBLE_DEVICES"}
"""What scripts set to another value on each rank on purpose."""


def unlike_the_plan(
    sights: Sequence[RankSight], planned: Mapping[str, str], cores: int, *, bound: bool
) -> tuple[str, ...]:
    """Return the sentences on what ranks got otherwise than planned; none where all is as it should be.

    Args:
        planned: variables of the ranks.
        cores: that each rank needs, one for each of its threads; 0 where ranks are to share cores.
        bound: whether each rank was to be bound to cores of its own.
    """
    shares = _cores(sights, cores, bound=bound) if cores else ()
    return (*_variables(sights, planned), *_between_ranks(sights, planned), *shares)


def _variables(sights: Sequence[RankSight], planned: Mapping[str, str]) -> Iterator[str]:
    for name, value in planned.items():
        if not name.startswith(TOLD) or len(value) > LONGEST or '"' in value or "\\" in value:
            continue
        others = [sight for sight in sights if sight.variables.get(name) != value.strip()]
        if not others:
            continue
        first = others[0]
        got = first.variables.get(name)
        how = "is not set" if got is None else f"is {got}"
        which = f"on rank {first.rank} of {first.host}"
        many = "" if len(sights) == 1 else f", as on {len(others)} of {counted(len(sights), 'rank')}"
        yield f"{name} {how} {which}, not {value} as planned{many}"


def _between_ranks(sights: Sequence[RankSight], planned: Mapping[str, str]) -> Iterator[str]:
    """Yield what differs between ranks though nobody planned it, as variables that a node's shell sets do."""
    names = sorted({name for sight in sights for name in sight.variables} - planned.keys() - EACH_ITS_OWN)
    for name in names:
        first = sights[0]
        other = next((one for one in sights if one.variables.get(name) != first.variables.get(name)), None)
        if other is not None:
            said = [f"{one.variables.get(name, 'not set')} on rank {one.rank} of {one.host}" for one in (first, other)]
            yield f"{name} differs between ranks: {' and '.join(said)}"


def _cores(sights: Sequence[RankSight], threads: int, *, bound: bool) -> Iterator[str]:
    known = sorted((sight for sight in sights if sight.cpus), key=lambda sight: (sight.host, sight.rank))
    for host, group in groupby(known, key=lambda sight: sight.host):
        ranks = list(group)
        few = next((sight for sight in ranks if len(sight.cpus) < threads), None)
        every = frozenset[int]().union(*(sight.cpus for sight in ranks))
        shared = _sharing(ranks) if bound else ()
        if few is not None:
            yield (
                f"rank {few.rank} of {host} may run on {counted(len(few.cpus), 'CPU')} only, and has "
                f"{counted(threads, 'thread')}"
            )
        elif shared:
            yield f"ranks {listed([str(rank) for rank in shared])} of {host} share a CPU, and each was to have its own"
        elif len(every) < len(ranks) * threads:
            yield (
                f"the {counted(len(ranks), 'rank')} of {host} may run on {counted(len(every), 'CPU')} only, and have "
                f"{counted(len(ranks) * threads, 'thread')}"
            )


def _sharing(ranks: Sequence[RankSight]) -> tuple[int, ...]:
    """Return the first two ranks that share a CPU."""
    owner: dict[int, int] = {}
    for sight in ranks:
        for cpu in sorted(sight.cpus):
            if cpu in owner:
                return owner[cpu], sight.rank
        owner |= dict.fromkeys(sight.cpus, sight.rank)
    return ()
