"""What can be asked of `nodes check`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from .field import LARGEST_SEED, Ask, AskField, Named
from .shared import USUAL_QUIET, QuietTime

MOST_REPEATS = 100
"""Runs of a benchmark on each node."""
MOST_NODES = 4096
"""Of a group."""


@dataclass(frozen=True)
class NodesAsk(Ask):
    """A check whether all nodes are ready, as `hpltune nodes check` makes it."""

    cluster: Annotated[
        str | None,
        AskField(
            "The TOML file of a real cluster to run on.",
            described="a real cluster that the service offers; null for its own machine",
            metavar="FILE",
            names=Named.CLUSTER,
            typed=Path | None,
            read=str,
        ),
    ] = None
    facts: Annotated[bool, AskField("Ask nodes for their facts only; measure nothing.")] = False
    repeats: Annotated[
        int,
        AskField(
            "Runs of each benchmark; the best of each node counts.",
            least=1,
            most=MOST_REPEATS,
        ),
    ] = 3
    benchmarks: Annotated[
        tuple[str, ...],
        AskField(
            "Only this one: stream, dgemm, hpl, pairs, groups. Repeatable.",
            described="only these; none takes the usual",
            field="benchmark",
            metavar="NAME",
        ),
    ] = ()
    blas: Annotated[
        str | None,
        AskField(
            "Use this BLAS library.",
            metavar="NAME",
            described="name of the BLAS library to use; null takes the usual",
        ),
    ] = None
    wait_for_quiet: QuietTime = USUAL_QUIET
    seed: Annotated[int, AskField("Seed of the shuffled groups.", least=0, most=LARGEST_SEED, here=True)] = 0
    groups: Annotated[
        int | None,
        AskField("Run HPL on groups of so many nodes.", metavar="NODES", least=2, most=MOST_NODES, here=True),
    ] = None
    keep: Annotated[bool, AskField("Keep the check.", here=True)] = True
    baseline: Annotated[
        str | None,
        AskField(
            "Compare with an earlier check: its number, a day, first, last, or default (see nodes baseline).",
            described="an earlier check: its number, a day, first, last or default; null compares with none",
            metavar="CHECK",
            there="default",
        ),
    ] = None
