"""What can be asked of `predict`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from .field import BUDGET, LARGEST_SEED, MOST_RUNS, SEARCH, Ask, AskField, Named
from .shared import Engine, Jobs, Limit


@dataclass(frozen=True)
class PredictAsk(Ask):
    """Designs of clusters, each tuned in simulation, in the words of `hpltune predict`."""

    designs: Annotated[
        Path,
        AskField(
            "The file of the designs: a base cluster, and what each design changes.",
            argument=True,
            metavar="DESIGNS.toml",
        ),
    ]
    space: Annotated[
        str,
        AskField(
            "The space that is searched for each design: a shipped name or a TOML file.",
            metavar="SPACE",
            panel=SEARCH,
            names=Named.SPACE,
        ),
    ] = "default"
    engine: Engine = "hpl"
    trials: Annotated[int, AskField("Simulations for each design.", panel=BUDGET, least=1, most=MOST_RUNS)] = 24
    seed: Annotated[int, AskField("Seed of the engine's random numbers.", panel=SEARCH, least=0, most=LARGEST_SEED)] = 0
    full: Annotated[
        bool, AskField("Simulate at the N that fills the memory, however long that takes.", panel=BUDGET)
    ] = False
    jobs: Jobs = None
    limit: Limit = None
