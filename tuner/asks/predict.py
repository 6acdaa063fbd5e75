"""What can be asked of `predict`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from .field import BUDGET, LARGEST_SEED, MOST_RUNS, SEARCH, Ask, AskField, Named
from .shared import Engine, Jobs, Limit


def _table(file: Path) -> Mapping[str, Any]:
    """What stands in a file of designs.

    Raises:
        runners.toml_file.ClusterFileError: it cannot be read.
    """
    from runners.toml_file import parse_table, read_text  # noqa: PLC0415 - --help does without

    return parse_table(str(file), read_text(file))


@dataclass(frozen=True)
class PredictAsk(Ask):
    """Designs of clusters, each tuned in simulation, in the words of `hpltune predict`."""

    designs: Annotated[
        Path | Mapping[str, Any],
        AskField(
            "The file of the designs: a base cluster, and what each design changes.",
            described="what a file of designs has: base, a cluster that the service offers, and a list design",
            argument=True,
            metavar="DESIGNS.toml",
            typed=Path,
            sent=_table,
        ),
    ]
    space: Annotated[
        str,
        AskField(
            "The space that is searched for each design: a shipped name or a TOML file.",
            described="name of a space that the service offers",
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
