"""What can be asked of `nodes check`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from .field import LARGEST_SEED, Ask, AskField, Named, Useless
from .shared import USUAL_QUIET, QuietTime

MOST_REPEATS = 100
"""Runs of a benchmark on each node."""
MOST_NODES = 4096
"""Of a virtual cluster, or of a group."""


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
            useless=(Useless.ON_VIRTUAL_NODES,),
        ),
    ] = None
    facts: Annotated[
        bool, AskField("Ask nodes for their facts only; measure nothing.", useless=(Useless.ON_VIRTUAL_NODES,))
    ] = False
    repeats: Annotated[
        int,
        AskField(
            "Runs of each benchmark; the best of each node counts.",
            least=1,
            most=MOST_REPEATS,
            useless=(Useless.ON_VIRTUAL_NODES,),
        ),
    ] = 3
    benchmarks: Annotated[
        tuple[str, ...],
        AskField(
            "Only this one: stream, dgemm, hpl, pairs, groups. Repeatable.",
            described="only these; none takes the usual",
            field="benchmark",
            metavar="NAME",
            useless=(Useless.ON_VIRTUAL_NODES,),
        ),
    ] = ()
    blas: Annotated[
        str | None,
        AskField(
            "Use this BLAS library.",
            metavar="NAME",
            described="name of the BLAS library to use; null takes the usual",
            useless=(Useless.ON_VIRTUAL_NODES,),
        ),
    ] = None
    wait_for_quiet: QuietTime = USUAL_QUIET
    virtual: Annotated[
        int | None, AskField("Judge a virtual cluster instead.", metavar="NODES", least=1, most=MOST_NODES, here=True)
    ] = None
    per_switch: Annotated[
        int,
        AskField(
            "Nodes at each switch of a virtual cluster.",
            least=1,
            most=MOST_NODES,
            here=True,
            useless=(Useless.ON_REAL_NODES,),
        ),
    ] = 16
    fault: Annotated[
        tuple[str, ...],
        AskField(
            "Plant a fault in a virtual cluster. Repeatable.",
            metavar="KIND:NODE[:PERCENT]",
            here=True,
            useless=(Useless.ON_REAL_NODES,),
        ),
    ] = ()
    spread: Annotated[
        float | None,
        AskField(
            "How much sound nodes of a virtual cluster differ: 0.4 by default, today's nodes 2 to 3.",
            metavar="PERCENT",
            least=0.0,
            most=10.0,
            here=True,
            useless=(Useless.ON_REAL_NODES,),
        ),
    ] = None
    seed: Annotated[
        int, AskField("Seed of a virtual cluster, or of groups.", least=0, most=LARGEST_SEED, here=True)
    ] = 0
    groups: Annotated[
        int | None,
        AskField("Run HPL on groups of so many nodes.", metavar="NODES", least=2, most=MOST_NODES, here=True),
    ] = None
    keep: Annotated[bool | None, AskField("Keep the check; by default unless the cluster is virtual.", here=True)] = (
        None
    )
    baseline: Annotated[
        str | None,
        AskField(
            "Compare with an earlier check: its number, a day, first, last, or default (see nodes baseline).",
            described="an earlier check: its number, a day, first, last or default; null compares with none",
            metavar="CHECK",
            there="default",
        ),
    ] = None
