"""Makes engines by their name. A new engine is one file and one line here, and is imported only when chosen."""

import difflib
from collections.abc import Mapping
from importlib import import_module

from search_spaces.space import SearchSpace

from ..errors import UsageError
from .base import NOTHING_KNOWN, Engine, EngineContext

ENGINES: Mapping[str, tuple[str, str, str, str]] = {
    "bayes": (
        "baselines.tpe",
        "Bayes",
        "Optuna's TPE, multivariate, started from points that experience suggests",
        "The engine expects to gain most from it.",
    ),
    "grid": (
        "baselines.grid",
        "Grid",
        "every valid combination, or an even subset of ⟦points⟧",
        "It is the next of the grid.",
    ),
    "hpl": (
        "hpl.engine",
        "HplEngine",
        "knows HPL's algorithm and learns from cheap runs; takes the run with most gain per second",
        "The engine expects to gain most from it for each second that it takes.",
    ),
    "one-at-a-time": (
        "baselines.one_at_a_time",
        "OneAtATime",
        "one parameter after the other, as the Kronos authors worked",
        "It changes one parameter of the best so far.",
    ),
    "random": (
        "baselines.random_search",
        "RandomSearch",
        "valid combinations at random, none twice",
        "It was drawn by chance.",
    ),
}
"""Name: module, class, what it does in a phrase, and why a trial that it asked runs."""

OF_TWO_OBJECTIVES = frozenset({"hpl"})
"""Those that search a front."""


def descriptions() -> dict[str, str]:
    """What each engine does, by its name."""
    return {name: entry[2] for name, entry in ENGINES.items()}


def check_engine(name: str, *, of_two_objectives: bool = False) -> None:
    """Refuse a name that no engine has.

    Raises:
        TunerError: with the nearest name; or it knows only one objective where it is to search a front of two.
    """
    if name not in ENGINES:
        near = difflib.get_close_matches(name, ENGINES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(ENGINES)}"
        raise UsageError(f"there is no such engine; {hint}", field="engine", given=name)
    if of_two_objectives and name not in OF_TWO_OBJECTIVES:
        raise UsageError(
            f"⟦pareto⟧ needs ⟦engine⟧ hpl: the engine {name} knows one objective only; `hpltune best "
            "⟦pareto⟧` shows the front of a finished study",
            field="pareto",
        )


def make_engine(name: str, space: SearchSpace, seed: int, context: EngineContext = NOTHING_KNOWN) -> Engine:
    """Make an engine that was told nothing yet.

    Raises:
        TunerError: no engine has the name, or `--points` makes no sense.
    """
    check_engine(name)
    module, kind, *_ = ENGINES[name]
    engine: Engine = getattr(import_module(f".{module}", __package__), kind)(space, seed, context)
    return engine
