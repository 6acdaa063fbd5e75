"""The first runs of a study: how fast HPL is here, and so which N the budget can pay for."""

import math
import shlex
import socket
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hpl.errors import HplError
from hpl.params import Scalar
from hpl.sizing import seconds
from results.metrics import updated_part
from results.record import Kind, TrialRecord, TrialState
from results.store.networks import NetworkProbe
from results.store.store import Store
from runners.base import JobState
from runners.errors import RunnerError
from runners.paths import RunPaths
from runners.settings.registry import full_name, is_setting, recorded_name
from search_spaces.space import SearchSpace

from ...budget import Budget
from ...database import db_option
from ...engines.points import starts
from ...engines.probes import Messages, Probes
from ...errors import NodesLostError, TunerError
from ...machine.inventory import Inventory, node_shape, terms_here
from ...machine.problem_size import (
    IN_TURN,
    RUNS_IN_BUDGET,
    SMALLEST_N,
    STEP,
    Sample,
    affordable_n,
    first_choice,
    full_memory_n,
    launch_s,
    natural_nb,
    textbook,
)
from ...options import DEFAULT_WALL_S
from ...trial.evaluate import Evaluator
from ...trial.launching import Launching
from ...trial.plan import TrialPlan, plan
from ..rounds import MOST_IN_A_ROW
from ..search.trials import StudyTrials

if TYPE_CHECKING:
    from ...machine.calibrator import Figures

FIRST_RUN_S = 1.0
"""What the first pilot run should take at most; HPL reaches about half of dgemm's rate at such a size."""


def target_s(budget: Budget, runs: int = RUNS_IN_BUDGET, longest_s: float = math.inf, kept: float = IN_TURN) -> float:
    """Seconds a run of the study should take: what the search has of the budget among so many; 5 minutes without one.

    Args:
        kept: part of the budget for runs at a larger N.
        longest_s: the most a run may take whatever the budget; half of it leaves room for slow ones.
    """
    return min(((1 - kept) * budget.whole_s if budget.whole_s else DEFAULT_WALL_S) / runs, longest_s / 2)


def pilot(
    trials: StudyTrials[Evaluator], target_s: float, earlier: Sequence[TrialRecord], largest_asked: int | None
) -> list[Sample]:
    """Run the textbook configuration twice, small and a little larger, unless an earlier session did.

    What fails is tried with another configuration. What was disturbed runs again, and its time counts
    only where there is no other.

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
    session, site = trials.session, trials.site.machine
    runs = list(earlier)
    samples = samples_of(runs, site.node_count)
    largest_n = min(filter(None, (largest_asked, full_memory_n(site))))
    while len(samples) < 2 and not session.stopped:
        N = affordable_n(samples, target_s / 2, largest_n) if samples else _first_n(site, target_s, largest_n)
        if samples and N <= samples[-1].N:
            break
        full_s = launch_s(samples, N) if samples else None
        record = _tried(trials, N, full_s)
        if session.stopped and not record.ranked:
            break
        if not record.ranked:
            raise TunerError(
                f"{'a larger' if samples else 'the first'} run of HPL failed, so nothing can be tuned: "
                f"{record.reason}. "
                f"`hpltune show {shlex.quote(session.study)} {record.number}{db_option(session.context.store)}` tells "
                f"what it printed, `hpltune doctor{' ⟦cluster⟧ FILE' if site.nodes else ''}` what is missing here"
            )
        runs += _until_quiet(trials, record, full_s)
        found = samples_of(runs, site.node_count)
        if samples and len(found) <= len(samples):
            break  # the larger one was disturbed each time: the smaller one tells more
        samples = found
    if samples and not any(run.ranked and run.disturbed is None for run in runs):
        session.say(
            "All first runs were disturbed: HPL looks slower than it is, and N may be smaller than the budget allows."
        )
    return samples


def _until_quiet(trials: StudyTrials[Evaluator], first: TrialRecord, full_s: float | None) -> list[TrialRecord]:
    """Repeat a first run that was disturbed, MOST_IN_A_ROW times at most; all runs."""
    session, runs = trials.session, [first]
    while runs[-1].disturbed is not None and len(runs) <= MOST_IN_A_ROW:
        if session.stopped or session.meter.out_of_time(runs[-1].cost_s or 0.0):
            break
        why = runs[-1].disturbed
        session.say(
            f"Trial {runs[-1].number} was disturbed ({why}), and N follows from it: it runs again.", detail=True
        )
        runs.append(trials.trial(first.params, Kind.PILOT, full_s=full_s))
    return runs


def _tried(trials: StudyTrials[Evaluator], N: int, full_s: float | None) -> TrialRecord:
    """The textbook's run; where it failed, although it started, another configuration."""
    session = trials.session
    *_, other = starts(session.space)
    point = {**pilot_point(trials.site.machine, N), **launch_settings(session.space)}
    record = trials.trial(point, Kind.PILOT, full_s=full_s)
    if record.state is not TrialState.FAILED or not record.command or session.stopped or session.meter.out_of_time(0.0):
        return record
    session.say(f"The run failed ({record.reason}) and is tried with another configuration.")
    return trials.trial({**session.space.measured(other), "N": N}, Kind.PILOT, full_s=full_s)


def samples_of(records: Sequence[TrialRecord], nodes: int | None = None) -> list[Sample]:
    """The valid runs among records, and the first columns that ran to tell of a larger N; smallest N first.

    Disturbed ones only where all were, and then of each N the fastest.

    Args:
        nodes: how many there are now: on so many a run takes longer than it took on more; None where they are the same.
    """
    found = list(filter(None, (_sample(record, nodes) for record in records)))
    quiet = [sample for sample in found if not sample.disturbed]
    fastest = {(sample.N, sample.part): sample for sample in sorted(found, key=lambda sample: -sample.time_s)}
    return sorted(quiet or fastest.values(), key=lambda sample: sample.N)


def _sample(record: TrialRecord, nodes: int | None) -> Sample | None:
    if record.hpl is None or not record.cost_s:
        return None
    N, disturbed = record.hpl.N, record.disturbed is not None
    if record.ranked and record.gflops:
        return on_nodes(Sample(N, seconds(N, record.gflops), record.cost_s, 1.0, disturbed), record, nodes)
    part = updated_part(record) if record.kind is Kind.EXTRAPOLATION and record.state is TrialState.COMPLETE else 1.0
    return Sample(N, record.time_s, record.cost_s, part, disturbed) if 0 < part < 1 and record.time_s else None


def on_nodes(sample: Sample, record: TrialRecord, nodes: int | None) -> Sample:
    """What a run takes on so many nodes, where its record tells that it ran on more of them; else what it took."""
    ran_on = len(record.observed.hosts) if record.observed and nodes else 0
    more_s = sample.time_s * max(0.0, ran_on / (nodes or 1) - 1.0)
    return replace(sample, time_s=sample.time_s + more_s, cost_s=sample.cost_s + more_s)


def pilot_point(site: Inventory, N: int) -> dict[str, str | int | float | bool]:
    """The textbook configuration with the fastest BLAS, one rank per core unless the program wants fewer."""
    choice = first_choice(site)
    blas, kernel = str(choice["blas"]), str(choice["kernel"])
    NB = min(natural_nb(site, blas), max(32, N // 16))
    terms = terms_here(site)
    ranks, threads = terms.layouts(node_shape(site), site.node_count)[0]
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


FOLDER = "ping-pong"
PROGRAM = "hpltune's ping-pong"
"""As it is stored."""
SHARE = 0.05
"""Of the time that is left, what it may take at most; it usually takes one or two seconds."""
LIMIT_S = 10.0
LEAST_S = 2.0
"""Below this it is not worth beginning."""
LEAST_BYTES = 32 * 2**10
"""Messages up to this size must have been timed where it is ended by its limit: shorter ones do not tell the rate."""


def timed_at_first(trials: StudyTrials[Evaluator], known: Probes) -> Probes:
    """What is known, with what this launch tells, as it was found when the study began, or now.

    It is measured where there are two ranks and there is time for it, and told. What goes wrong is told as well, and
    ends nothing.

    Raises:
        NodesLostError: as a trial that is lost with a node.
    """
    session, site, store = trials.session, trials.site.machine, trials.session.context.store
    if not site.program.workload.is_hpl:
        return known
    before = stored(store, session.study, known)
    if before.messages is not None:
        return before
    remaining_s = session.meter.remaining_s()
    limit_s = LIMIT_S if remaining_s is None else min(LIMIT_S, SHARE * remaining_s)
    if limit_s < LEAST_S or session.stopped:
        return known
    try:
        network = {name: value for name, value in session.space.first.items() if is_setting(name)}
        asked = plan({**pilot_point(site, SMALLEST_N), **launch_settings(session.space), **network}, site)
        found = timed(trials.launching, trials.site, asked, session.folder / FOLDER, limit_s)
    except NodesLostError:
        raise
    except (TunerError, HplError, RunnerError, OSError) as error:
        session.say(f"The ping-pong between two ranks failed, so the message times are unknown: {error}.")
        return known
    if found is None:
        return known
    from ...machine.calibrator import half_nb_of  # noqa: PLC0415 - needed once there is something to read

    probe, half_nb = _probe(found, session.study, site, asked), half_nb_of(found)
    store.note(session.study, lambda notes: replace(notes, dgemm_half_nb=half_nb))
    store.network.add_probe(probe)
    figures = (probe.latency_us, probe.bandwidth_mbit_s / 8e3)
    latency, rate = (f"{one:.0f}" if one >= 10 else f"{one:.2g}" for one in figures)
    session.say(f"Ping-pong between two ranks: {latency} us, {rate} GB/s.", detail=True)
    return stored(store, session.study, known)


def stored(store: Store, study: str, known: Probes) -> Probes:
    """What is known, with what the launch told when a study began."""
    probe = next((one for one in store.network.probes(study) if one.program == PROGRAM), None)
    if probe is None:
        return known
    point = {full_name(name): value for name, value in probe.settings.items()}
    messages = Messages.under(point, 1e-6 * probe.latency_us, 1e6 * probe.bandwidth_mbit_s / 8)
    return replace(known, messages=messages, half_nb=store.study(study).notes.dgemm_half_nb)


def _probe(figures: "Figures", study: str, site: Inventory, asked: TrialPlan) -> NetworkProbe:
    """The measurement as it is stored."""
    from ...machine.calibrator import message_times, messages_of  # noqa: PLC0415 - needed once there is something to read

    found = messages_of(figures)
    names = site.node_names or (("first node", "last node") if site.nodes else (socket.gethostname(),))
    return NetworkProbe(
        study=study,
        measured_at=datetime.now(UTC),
        program=PROGRAM,
        hosts=(names[0], names[-1]),
        interface=asked.launch.mpi or site.mpi.name,
        settings={recorded_name(name): value for name, value in asked.settings.items()},
        latency_us=found.latency_us,
        bandwidth_mbit_s=8e-6 * found.bytes_s,
        points=tuple((size, 1e6 * time_s) for size, time_s in message_times(figures).items()),
    )


def timed(
    launching: Launching[TrialPlan], evaluator: Evaluator, asked: TrialPlan, directory: Path, limit_s: float
) -> "Figures | None":
    """Seconds of dgemm with growing blocks and of growing messages; None where the user ended it, or for a single rank.

    Args:
        asked: tells the ranks, where they are, and their BLAS.
        limit_s: seconds after which it is ended; what it has measured till then counts.

    Raises:
        NodesLostError: as `Launching.launch_program`.
        TunerError: the program failed or printed too few figures.
        HplError: it could not be built.
        RunnerError, OSError: it could not be started, or the network not be set.
    """
    if asked.ranks == 1:
        return None
    mpi = evaluator.machine.mpi_named(asked.launch.mpi)
    program = asked.program.calibrator(mpi, asked.library, evaluator.search)
    if program is None:
        return None
    status = launching.launch_program(evaluator, program, ("blocks",), asked, directory, limit_s)
    if status.state is JobState.CANCELLED:
        return None
    if status.state not in {JobState.COMPLETED, JobState.TIMEOUT}:
        raise TunerError(status.message)
    from ...machine.calibrator import LARGEST, message_times, parse_figures  # noqa: PLC0415 - needed once it has run

    figures = parse_figures(RunPaths(directory).read_stdout())
    times = message_times(figures)
    if status.state is JobState.TIMEOUT and max(times, default=0) < LEAST_BYTES:
        raise TunerError(status.message)
    if len(times) <= LARGEST:
        raise TunerError(f"it printed {len(times)} figures, which are too few")
    return figures
