"""What can be asked of `dat`."""

from dataclasses import dataclass
from typing import Annotated

from .field import MOST_FIGURE, SIZES, Ask, AskField, fields_of
from .shared import Libraries

ANOTHER = "Another machine, by a few figures"
"""The group of what describes a machine that is not here."""
LARGEST = 2**31 - 1
"""Of HPL's own numbers."""
MOST_NODES, MOST_CORES, MOST_GHZ, MOST_FLOPS = 1_000_000, 10_000, 20.0, 1024


@dataclass(frozen=True)
class DatAsk(Ask):
    """An HPL.dat that is sensible without a search: for this machine, or for one that a few figures describe."""

    nodes: Annotated[
        int | None,
        AskField(
            "Nodes of a machine that is not here; nothing is measured then. Default: 1.",
            described="nodes of the machine",
            panel=ANOTHER,
            label="Nodes",
            least=1,
            most=MOST_NODES,
        ),
    ] = None
    cores: Annotated[
        int | None,
        AskField(
            "Physical cores of each node.",
            panel=ANOTHER,
            label="Physical cores of a node",
            least=1,
            most=MOST_CORES,
        ),
    ] = None
    memory: Annotated[
        str | None,
        AskField(
            "Memory of each node with its unit: 256GiB, or 256GB for 256,000,000,000 bytes.",
            metavar="SIZE",
            panel=ANOTHER,
            label="Memory of a node",
            hint="Such as 256GiB.",
        ),
    ] = None
    network: Annotated[
        str | None,
        AskField(
            "Speed of a node's network: 1g, 25g, 200g for Gbit/s, or hdr, ndr and the like. Without it the network "
            "counts as a fast one, with a caution.",
            metavar="SPEED",
            panel=ANOTHER,
            label="Network of a node",
            hint="Such as 10g or 100g for Gbit/s, or hdr.",
        ),
    ] = None
    cpu: Annotated[
        str | None,
        AskField(
            "The CPU as it is sold (EPYC 9654, i7-12700K, Graviton3) or as archspec calls it (zen4). NB and FLOP/cycle "
            "follow; `list` shows all names.",
            metavar="NAME",
            panel=ANOTHER,
            label="CPU",
            hint="Such as EPYC 9654, i7-12700K or zen4. Empty: NB is a middle value.",
        ),
    ] = None
    ghz: Annotated[
        float | None,
        AskField(
            "Clock of a core, for Rpeak and the expected time.",
            panel=ANOTHER,
            label="Clock in GHz",
            hint="For the expected time.",
            above=0.0,
            most=MOST_GHZ,
            least=0.01,
        ),
    ] = None
    flops_per_cycle: Annotated[
        int | None,
        AskField(
            "Double-precision FLOP of a core in a cycle. Default: those of ⟦cpu⟧.",
            panel=ANOTHER,
            label="FLOP per cycle of a core",
            hint="Empty: those of the CPU.",
            least=1,
            most=MOST_FLOPS,
        ),
    ] = None
    gflops: Annotated[
        float | None,
        AskField(
            "Rate of all nodes that you expect, for the expected time.",
            panel=ANOTHER,
            label="Expected rate in GFLOPS",
            hint="Of all nodes together. Empty: a part of Rpeak.",
            least=0.001,
            most=MOST_FIGURE,
        ),
    ] = None
    memory_fraction: Annotated[
        float,
        AskField(
            "Part of the memory to fill: of what is free here, or of ⟦memory⟧.",
            section=SIZES,
            label="Part of the memory to fill",
            least=0.01,
            most=0.95,
        ),
    ] = 0.8
    N: Annotated[
        int | None,
        AskField(
            "N, instead of one sized for the memory.",
            section=SIZES,
            label="N",
            hint="Empty: as large as the memory allows.",
            least=1,
            most=LARGEST,
        ),
    ] = None
    NB: Annotated[
        int | None,
        AskField(
            "NB, instead of the one natural for BLAS and CPU.",
            section=SIZES,
            label="NB",
            hint="Empty: what suits the CPU.",
            least=1,
            most=LARGEST,
        ),
    ] = None
    ranks: Annotated[
        int | None,
        AskField(
            "Ranks of the whole run. Default: one per core here; elsewhere cores and network decide.",
            section=SIZES,
            label="Ranks of the whole run",
            hint="Empty: cores and network decide.",
            least=1,
            most=LARGEST,
        ),
    ] = None
    blas: Libraries = ()


FORM = tuple(field for field in fields_of(DatAsk) if field.key != "blas")
"""The options that make sense without a machine."""
