"""Tells an engine what is known at its start: from probes, from elsewhere, and from earlier sessions of its study."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hpl.params import Scalar
from results.stats.ranking import Ranked, rank
from results.store.store import Store
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace

from ..engines.base import Engine
from ..engines.probes import Probes
from ..errors import UsageError
from ..machine.inventory import Inventory
from ..options import TuneOptions
from .session import StudySession

if TYPE_CHECKING:
    from .warm_start import Advice, Source

Opening = Callable[[StudySession, Inventory, Probes], "Advice | None"]
"""Makes what a simulation of these nodes advises, from what was timed on them; None where nothing is simulated."""
COUNT = 5
"""Configurations taken over: simulations rank well, so the real best is among the first few."""
OF_THIS_MACHINE = ("N", "layout", "blas", "kernel", "binding")
"""What belongs to the machine that runs, not to the one that was simulated."""


def simulated_ranking(store: Store, name: str) -> Sequence[Ranked]:
    """The configurations of a simulated study, best first; there may be none.

    Raises:
        TunerError: the study is not simulated.
        ResultsError: there is no such study.
    """
    if not store.study(name).simulated:
        raise UsageError(
            "that study ran on a real machine; `hpltune show` lists all", field="from_simulation", given=name
        )
    return rank(store.records(name))


def simulated_best(ranking: Sequence[Ranked], space: SearchSpace) -> list[dict[str, Scalar]]:
    """The best configurations of a simulated study, each moved to the nearest legal point of this space."""
    here = {key: space.first[key] for key in OF_THIS_MACHINE if key in space.parameters and key in space.first}
    return [dict(space.nearest({**here, **_elsewhere(entry, space)})) for entry in ranking[:COUNT]]


def simulated_source(ranking: Sequence[Ranked], name: str, space: SearchSpace) -> "Source":
    """All that a simulated study measured, without what belongs to this machine."""
    from .warm_start import Known, Source  # noqa: PLC0415 - most studies learn from no other

    known = tuple(Known(_elsewhere(entry, space), entry.median_gflops) for entry in ranking)
    return Source(f"the simulation {name}", known)


def _elsewhere(entry: Ranked, space: SearchSpace) -> dict[str, Scalar]:
    elsewhere = space.parameters.keys() - set(OF_THIS_MACHINE)
    return {key: value for key, value in entry.params.items() if key in elsewhere}


def probes(site: Inventory) -> Probes:
    """What the machine's dgemm probes and its nodes tell an engine."""
    dgemm = {blas: {probe.kernel: probe.gflops for probe in found} for blas, found in site.probes.items()}
    return Probes(dgemm, site.node_count)


def seed_engine(
    options: TuneOptions, session: StudySession, engine: Engine, opening: "Advice | None" = None
) -> Sequence[Point]:
    """Tell an engine what is known from elsewhere.

    Args:
        opening: what was simulated for this study.

    Returns:
        The points to try before it is asked.

    Raises:
        TunerError: a source is none any more.
    """
    if not options.warm_start and not options.from_simulation and opening is None:
        return []
    from .warm_start import advice, advise, contradictions, read_source  # noqa: PLC0415 - most learn from no other

    store = session.context.store
    found = [advice(read_source(store, name), session.space) for name in options.warm_start]
    first: Sequence[Point] = []
    if options.from_simulation:
        ranking = simulated_ranking(store, options.from_simulation)
        first = simulated_best(ranking, session.space)
        taught = advice(simulated_source(ranking, options.from_simulation, session.space), session.space)
        if ranking and not taught.points:
            sentence = (
                f"The simulation {options.from_simulation} and the space {session.space.name} have no configuration in "
                "common. Those nearest to its best are tried first, but its speeds are not used: for that, simulate "
                "the same space with as many ranks."
            )
            taught = replace(taught, sentence=sentence)
        found.append(taught)
    if opening is not None:
        found.append(opening)
    for sentence in (*(one.sentence for one in found), *contradictions(found, session.space)):
        session.say(sentence)
    return [*first, *advise(engine, found)]
