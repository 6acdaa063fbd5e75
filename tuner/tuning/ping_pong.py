"""What a launch on all ranks tells before a study: what messages between two ranks take, and what narrow blocks cost.

A network that is not used as it was meant shows here first.
"""

import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hpl.errors import HplError
from hpl.params import Scalar
from results.store.networks import NetworkProbe
from results.store.store import Store
from runners.errors import RunnerError
from runners.network.setting import PREFIX
from runners.paths import RunPaths
from runners.status import JobState
from search_spaces.space import SearchSpace

from ..engines.perf.probes import Messages, Probes
from ..errors import TunerError
from ..machine.calibrator import LARGEST, Figures, half_nb_of, message_times, messages_of, parse_figures
from ..machine.inventory import Inventory
from ..machine.problem_size import SMALLEST_N
from ..stopping import Stopping
from ..study.session import StudySession
from ..trial.evaluate import Evaluator
from ..trial.plan import TrialPlan, plan
from .pilot import launch_settings, pilot_point

FOLDER = "ping-pong"
PROGRAM = "hpltune's ping-pong"
"""As it is stored."""
HALF_NB = "dgemm_half_nb"
"""The fact of the machine that a study keeps."""
SHARE = 0.05
"""Of the time that is left, what it may take at most; it usually takes one or two seconds."""
LIMIT_S = 10.0
LEAST_S = 2.0
"""Below this it is not worth beginning."""
LEAST_BYTES = 32 * 2**10
"""Messages up to this size must have been timed where it is ended by its limit: shorter ones do not tell the rate."""


def timed_at_first(session: StudySession, evaluator: Evaluator, known: Probes) -> Probes:
    """What is known, with what this launch tells, as it was found when the study began, or now.

    It is measured where there are two ranks and there is time for it, and told. What goes wrong is told as well, and
    ends nothing.
    """
    store, site = session.context.store, evaluator.site
    before = stored(store, session.study, known)
    if before.messages is not None:
        return before
    remaining_s = session.meter.remaining_s()
    limit_s = LIMIT_S if remaining_s is None else min(LIMIT_S, SHARE * remaining_s)
    if limit_s < LEAST_S or session.stopped:
        return known
    try:
        point = {**pilot_point(site, SMALLEST_N), **launch_settings(session.space), **_network(session.space)}
        asked = plan(point, site)
        found = timed(evaluator, asked, session.folder / FOLDER, limit_s, session.context.stop)
    except (TunerError, HplError, RunnerError, OSError) as error:
        session.say(f"The ping-pong between two ranks failed, so the message times are unknown: {error}.")
        return known
    if found is None:
        return known
    probe, half_nb = _probe(found, session.study, site, asked), half_nb_of(found)
    store.note_host(session.study, {HALF_NB: half_nb})
    store.network.add_probe(probe)
    figures = (probe.latency_us, probe.bandwidth_mbit_s / 8e3)
    latency, rate = (f"{one:.0f}" if one >= 10 else f"{one:.2g}" for one in figures)
    session.say(f"Ping-pong between two ranks: {latency} us, {rate} GB/s.")
    return replace(known, messages=_messages(probe), half_nb=half_nb)


def stored(store: Store, study: str, known: Probes) -> Probes:
    """What is known, with what the launch told when a study began."""
    probe = next((one for one in store.network.probes(study) if one.program == PROGRAM), None)
    if probe is None:
        return known
    half_nb = store.study(study).host.get(HALF_NB)
    return replace(known, messages=_messages(probe), half_nb=half_nb if isinstance(half_nb, float) else None)


def _probe(figures: Figures, study: str, site: Inventory, asked: TrialPlan) -> NetworkProbe:
    """The measurement as it is stored."""
    found = messages_of(figures)
    names = site.node_names or (("first node", "last node") if site.nodes else (socket.gethostname(),))
    return NetworkProbe(
        study=study,
        measured_at=datetime.now(UTC),
        program=PROGRAM,
        hosts=(names[0], names[-1]),
        interface=asked.launch.mpi or site.mpi.name,
        settings=asked.network,
        latency_us=found.latency_us,
        bandwidth_mbit_s=8e-6 * found.bytes_s,
        points=tuple((size, 1e6 * time_s) for size, time_s in message_times(figures).items()),
    )


def _messages(probe: NetworkProbe) -> Messages:
    point = {PREFIX + name: value for name, value in probe.settings.items()}
    return Messages.under(point, 1e-6 * probe.latency_us, 1e6 * probe.bandwidth_mbit_s / 8)


def _network(space: SearchSpace) -> dict[str, Scalar]:
    """The settings of a space's first configuration: what is measured is of use where it is known under what."""
    return {name: value for name, value in space.first.items() if name.startswith(PREFIX)}


def timed(evaluator: Evaluator, asked: TrialPlan, directory: Path, limit_s: float, stop: Stopping) -> Figures | None:
    """Seconds of dgemm with growing blocks and of growing messages; None where the user ended it, or for a single rank.

    Args:
        asked: tells the ranks, where they are, and their BLAS.
        limit_s: seconds after which it is ended; what it has measured till then counts.

    Raises:
        TunerError: the program failed or printed too few figures.
        HplError: it could not be built.
        RunnerError, OSError: it could not be started, or the network not be set.
    """
    if asked.ranks == 1:
        return None
    mpi = evaluator.site.mpi_named(asked.launch.mpi)
    program = asked.program.calibrator(mpi, asked.library, evaluator.search)
    if program is None:
        return None
    status = evaluator.run_program(program, ("blocks",), asked, directory, limit_s, stop)
    if status.state is JobState.CANCELLED:
        return None
    if status.state not in {JobState.COMPLETED, JobState.TIMEOUT}:
        raise TunerError(status.message)
    figures = parse_figures(RunPaths(directory).read_stdout())
    times = message_times(figures)
    if status.state is JobState.TIMEOUT and max(times, default=0) < LEAST_BYTES:
        raise TunerError(status.message)
    if len(times) <= LARGEST:
        raise TunerError(f"it printed {len(times)} figures, which are too few")
    return figures
