"""The first runs of a study: how fast HPL is here, and so which N the budget can pay for."""

import math
from collections.abc import Mapping, Sequence

from hpl.flops import seconds
from hpl.params import Scalar
from results.record import Invalidity, Kind, TrialRecord, TrialState
from search_spaces.space import SearchSpace

from ..budget import Budget
from ..engines.starts import starts
from ..errors import TunerError
from ..machine.inventory import Inventory
from ..machine.problem_size import RUNS_IN_BUDGET, SMALLEST_N, STEP, Sample, affordable_n, launch_s
from ..machine.textbook import first_choice, full_memory_n, natural_nb, textbook
from ..options import DEFAULT_WALL_S
from ..study.search.launch_worker import LaunchWorker

FIRST_RUN_S = 1.0
"""What the first pilot run should take at most; HPL reaches about half of dgemm's rate at such a size."""


def target_s(budget: Budget, runs: int = RUNS_IN_BUDGET, longest_s: float = math.inf) -> float:
    """Seconds a run of the study should take: the budget parted among so many, without a limit in time 5 minutes.

    Args:
        longest_s: the most a run may take whatever the budget; half of it leaves room for slow ones.
    """
    return min((budget.whole_s or DEFAULT_WALL_S) / runs, longest_s / 2)


def pilot(
    worker: LaunchWorker, target_s: float, earlier: Sequence[TrialRecord], largest_asked: int | None
) -> list[Sample]:
    """Run the textbook configuration twice, small and a little larger, unless an earlier session did.

    What fails is tried again, and then with another configuration.

    Args:
        target_s: what a run of the study may take.
        earlier: pilot records already in the store.
        largest_asked: N that the study will not exceed, where one run may do, and no larger one is made unless it is
            below SMALLEST_N; None where N follows from the pilots.

    Returns:
        One sample per valid pilot run, smallest N first; fewer than two where the first is as large as is asked, or
        the user stops.

    Raises:
        TunerError: neither runs at all, with the reason of the last failure.
    """
    session, site = worker.session, worker.evaluator.site
    samples = samples_of(earlier)
    largest_n = full_memory_n(site, NB=STEP, P=1, Q=site.host.physical_cores)
    largest_n = min(largest_n, largest_asked or largest_n)
    while len(samples) < 2 and not session.stopped:
        N = affordable_n(samples, target_s / 2, largest_n) if samples else _first_n(site, target_s, largest_n)
        if samples and N <= samples[-1].N:
            break
        record = _tried(worker.expecting(launch_s(samples, N) if samples else None), N)
        if session.stopped and not record.ranked:
            break
        if not record.ranked:
            raise TunerError(f"the first run of HPL failed, so nothing can be tuned: {record.reason}")
        samples = [*samples, *samples_of([record])]
    return samples


def _tried(worker: LaunchWorker, N: int) -> TrialRecord:
    """The textbook's run; where it failed in a way that may pass the same once more, and then another configuration.

    A run that hung is not waited for once more.

    Raises:
        TunerError: no run can start, because nodes cannot reach this host.
    """
    session = worker.session
    textbook_point = {**pilot_point(worker.evaluator.site, N), **launch_settings(session.space)}
    *_, other = starts(session.space)
    again: list[tuple[str, Mapping[str, Scalar]]] = [
        ("once more", textbook_point),
        ("with another configuration", {**session.space.measured(other), "N": N}),
    ]
    record = worker.trial(textbook_point, Kind.PILOT)
    if _may_pass(record) and (why := _no_way_back(worker.evaluator.site)):
        raise TunerError(f"the first run of HPL failed, so nothing can be tuned: {why}")
    for how, point in again:
        over = session.stopped or session.meter.out_of_time(0.0)
        if record.ranked or over or not _may_pass(record):
            break
        if point is not textbook_point or record.invalidity is not Invalidity.TIMEOUT:
            session.say(f"The run failed ({record.reason}) and is tried {how}.")
            record = worker.trial(point, Kind.PILOT)
    return record


def _no_way_back(site: Inventory) -> str:
    """The sentence that nodes cannot reach this host, from which ranks are started; "" where that is not why."""
    if site.nodes is None or not site.nodes.names:
        return ""
    from runners.hosts.way_back import no_way_back  # noqa: PLC0415 - only a cluster needs it

    cluster = site.nodes.cluster
    return no_way_back(cluster.reach, site.nodes.names, cluster.interfaces or site.nodes.interfaces)


def _may_pass(record: TrialRecord) -> bool:
    """Whether a failed run was started at all: what cannot be built, does not fit or is no program never will be."""
    return record.state is TrialState.FAILED and bool(record.command)


def samples_of(records: Sequence[TrialRecord]) -> list[Sample]:
    """The valid runs among records, smallest N first."""
    found = [
        Sample(record.hpl.N, seconds(record.hpl.N, record.gflops), record.cost_s)
        for record in records
        if record.ranked and record.hpl and record.gflops and record.cost_s
    ]
    return sorted(found, key=lambda sample: sample.N)


def pilot_point(site: Inventory, N: int) -> dict[str, str | int | float | bool]:
    """The textbook configuration with the fastest BLAS, one rank per core unless the program wants fewer."""
    choice = first_choice(site)
    blas, kernel = str(choice["blas"]), str(choice["kernel"])
    NB = min(natural_nb(site, blas), max(32, N // 16))
    terms = site.program.terms
    ranks, threads = terms.layouts(site.host.physical_cores, site.node_count)[0]
    return terms.fitted(textbook(N=N, NB=NB, blas=blas, kernel=kernel, ranks=ranks, threads=threads))


def launch_settings(space: SearchSpace) -> dict[str, Scalar]:
    """How the search will start its ranks whatever else it tries: a first run without it may not even start."""
    point = space.first
    launch = [name for name in point if name in {"binding", "mpi"} or name.startswith("mpi.")]
    return {name: point[name] for name in launch if name not in space.varying}


def _first_n(site: Inventory, target_s: float, largest_n: int) -> int:
    probe = site.best_probe(str(first_choice(site)["blas"]))
    rate = 0.5 * site.host.physical_cores * (probe.gflops if probe else 1.0)
    cubed = 1.5 * rate * 1e9 * min(FIRST_RUN_S, target_s / 8)
    return max(SMALLEST_N, min(largest_n, int(cubed ** (1 / 3)) // STEP * STEP))
