"""Messages between two ranks, timed before a study: a network that is not used as it was meant shows here first."""

from hpl.build import Recipe, Xhpl, build_calibrator
from hpl.errors import HplError
from runners.errors import RunnerError
from runners.paths import RunPaths
from runners.status import JobState

from .errors import TunerError
from .loop import Loop
from .pilot import pilot_point, settled
from .plan import TrialPlan, plan
from .problem_size import SMALLEST_N
from .site import Site
from .virtual.figures import LARGEST, Messages, messages_of, parse_figures

FOLDER = "ping-pong"
SHARE = 0.05
"""Of the time that is left, what it may take at most; it usually takes one or two seconds."""
LIMIT_S = 10.0
LEAST_S = 2.0
"""Below this it is not worth beginning."""


def tell_messages(loop: Loop, site: Site) -> None:
    """Say how fast messages between the first and the last rank are, where there are two and there is time for it.

    What goes wrong is said as well, and ends nothing. The search does not use the figures: told of them, HPL's cost
    model prefers flat grids where they are not the fastest (docs/search.md).
    """
    remaining_s = loop.meter.remaining_s()
    limit_s = LIMIT_S if remaining_s is None else min(LIMIT_S, SHARE * remaining_s)
    source = loop.evaluator.source
    if source is None or limit_s < LEAST_S or loop.stopped:
        return
    try:
        asked = plan({**pilot_point(site, SMALLEST_N), **settled(loop)}, site)
        if asked.ranks == 1 or asked.library is None:
            return
        recipe = Recipe(source, site.mpi_named(asked.launch.mpi), asked.library)
        program = build_calibrator(recipe, loop.evaluator.search)
        found = _timed(loop, asked, program, limit_s)
    except (TunerError, HplError, RunnerError, OSError) as error:
        loop.say(f"Ping-pong between two ranks failed, so how long messages take is not known: {error}.")
        return
    if found is not None:
        figures = (found.latency_us, 1e-9 * found.bytes_s)
        latency, rate = (f"{one:.0f}" if one >= 10 else f"{one:.2g}" for one in figures)
        loop.say(f"Ping-pong between two ranks: {latency} us, {rate} GB/s.")


def _timed(loop: Loop, asked: TrialPlan, program: Xhpl, limit_s: float) -> Messages | None:
    """What the messages took; None where the user ended them.

    Args:
        asked: tells the ranks and where they are; nothing is computed.
        limit_s: seconds after which it is ended.

    Raises:
        TunerError: the program failed or printed no figures.
        RunnerError, OSError: it could not be started.
    """
    directory = loop.bench.runs / loop.study / FOLDER
    status = loop.evaluator.run_program(program, ("messages",), asked, directory, limit_s, loop.bench.stop)
    if status.state is JobState.CANCELLED:
        return None
    if status.state is not JobState.COMPLETED:
        raise TunerError(status.message)
    figures = parse_figures(RunPaths(directory).read_stdout())
    if len(figures) <= LARGEST:
        raise TunerError(f"it printed {len(figures)} figures, which are too few")
    return messages_of(figures)
