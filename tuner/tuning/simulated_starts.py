"""What a simulation found, as points of a real study's space, and as rates that teach its engine."""

from collections.abc import Sequence

from hpl.params import Scalar
from results.stats.ranking import Ranked, rank
from results.store.store import Store
from search_spaces.space import SearchSpace

from ..errors import UsageError
from .warm_start import Known, Source

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
    known = space.first
    here = {key: known[key] for key in OF_THIS_MACHINE if key in space.parameters and key in known}
    return [dict(space.nearest({**here, **_elsewhere(entry, space)})) for entry in ranking[:COUNT]]


def simulated_source(ranking: Sequence[Ranked], name: str, space: SearchSpace) -> Source:
    """All that a simulated study measured, without what belongs to this machine."""
    known = tuple(Known(_elsewhere(entry, space), entry.median_gflops) for entry in ranking)
    return Source(f"the simulation {name}", known)


def _elsewhere(entry: Ranked, space: SearchSpace) -> dict[str, Scalar]:
    elsewhere = space.parameters.keys() - set(OF_THIS_MACHINE)
    return {key: value for key, value in entry.params.items() if key in elsewhere}
