"""What can be asked of `blas`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from .field import BUDGET, LARGEST_SEED, MOST_RUNS, SEARCH, Ask, AskField, Named, Scalar
from .shared import (
    USUAL_QUIET,
    Libraries,
    MemoryFraction,
    Power,
    Price,
    Programs,
    RealClusterFile,
    Rpeak,
    Source,
    WaitForQuiet,
    overrides,
)


@dataclass(frozen=True)
class BlasAsk(Ask):
    """A fair comparison of BLAS libraries, and of programs with a BLAS inside, in the words of `hpltune blas`."""

    blas: Libraries = ()
    programs: Programs = ()
    budget: Annotated[
        str | None,
        AskField(
            "Wall time of the whole comparison: 10m, 1h30m. Default: 10m, unless ⟦trials⟧ or ⟦full⟧ is given.",
            metavar="TIME",
            panel=BUDGET,
        ),
    ] = None
    trials: Annotated[
        int | None, AskField("Limit of search trials of each library.", panel=BUDGET, least=1, most=MOST_RUNS)
    ] = None
    full: Annotated[
        bool, AskField("Measure at the N that fills the memory. Default limit: 12 trials a library.", panel=BUDGET)
    ] = False
    memory_fraction: MemoryFraction = 0.8
    space: Annotated[
        str,
        AskField(
            "A shipped space or a TOML file.",
            described="name of a space that the service offers",
            metavar="SPACE",
            panel=SEARCH,
            names=Named.SPACE,
        ),
    ] = "blas"
    set: Annotated[
        Mapping[str, Scalar | Sequence[Scalar]],
        AskField(
            "Set the values of a parameter: ⟦set⟧ N=8000. Repeatable.",
            described="values of parameters",
            metavar="NAME=V[,V]",
            panel=SEARCH,
            typed=list[str] | None,
            read=overrides,
        ),
    ] = field(default_factory=dict)
    seed: Annotated[int, AskField("Seed of the random numbers.", panel=SEARCH, least=0, most=LARGEST_SEED)] = 0
    hpl_source: Source = None
    rpeak_gflops: Rpeak = None
    price_usd: Price = None
    power_w: Power = None
    cluster: RealClusterFile = None
    wait_for_quiet: WaitForQuiet = USUAL_QUIET
