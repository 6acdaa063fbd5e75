"""Options that several commands have."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from .field import (
    BUDGET,
    CLUSTER,
    FIRST,
    MACHINE,
    MOST_AT_ONCE,
    MOST_FIGURE,
    PRICE,
    QUEUE,
    SEARCH,
    SIZES,
    AskField,
    Named,
    Scalar,
    Useless,
)


def overrides(texts: Sequence[str]) -> Mapping[str, Sequence[Scalar]]:
    """The values of `--set` as a document has them.

    Raises:
        TunerError: they cannot be read.
    """
    from .texts import read_overrides  # noqa: PLC0415 - --help does without

    return read_overrides(texts)


def _price_usd(text: str) -> float | None:
    from ..units import parse_price_usd  # noqa: PLC0415 - --help does without

    return parse_price_usd(text)


Engine = Annotated[
    str,
    AskField(
        "hpl, bayes, grid, one-at-a-time or random.",
        metavar="ENGINE",
        panel=SEARCH,
        label="Engine",
        names=Named.ENGINE,
    ),
]
Rpeak = Annotated[
    float | None,
    AskField(
        "Theoretical peak, in place of the detected one.",
        field="rpeak",
        metavar="GFLOPS",
        panel=MACHINE,
        section=PRICE,
        label="Rpeak in GFLOPS",
        hint="Empty: what is detected.",
        least=0.001,
        most=MOST_FIGURE,
    ),
]
Jobs = Annotated[
    int | None,
    AskField(
        "Simulations at a time. Default: one per core.",
        panel=CLUSTER,
        section=QUEUE,
        label="Simulations at a time",
        hint="On a virtual cluster only.",
        least=1,
        most=MOST_AT_ONCE,
        useless=(Useless.WITH_TABLE,),
    ),
]
Libraries = Annotated[
    tuple[str, ...],
    AskField(
        "Use only this BLAS of the catalogue, or your own library: ⟦blas⟧ mine=/opt/lib/libblas.so. Repeatable.",
        described="only these BLAS libraries",
        metavar="NAME[=FILE]",
        panel=MACHINE,
        section=SIZES,
        label="Only these BLAS libraries",
        hint="None ticked: those of the space.",
        names=Named.LIBRARY,
        useless=(Useless.WITH_TABLE, Useless.SIMULATED),
    ),
]
Program = Annotated[
    str | None,
    AskField(
        "Run this xhpl; build none.",
        described="an xhpl that the service offers; null builds one",
        field="xhpl",
        metavar="FILE",
        panel=MACHINE,
        section=QUEUE,
        label="Program",
        names=Named.PROGRAM,
        typed=Path | None,
        read=str,
        useless=(Useless.WITH_TABLE, Useless.SIMULATED),
    ),
]
Programs = Annotated[
    tuple[str, ...],
    AskField(
        "Compare this program with others: ⟦program⟧ amd-zen=/opt/amd-zen-hpl/xhpl. Repeatable. "
        "⟦set⟧ program=netlib,amd-zen chooses among them and those that are built.",
        field="program",
        metavar="NAME=FILE",
        panel=MACHINE,
        here=True,
        useless=(Useless.WITH_TABLE, Useless.SIMULATED),
    ),
]
Container = Annotated[
    str,
    AskField(
        "Run the program of every rank in this image, as IMAGE or RUNTIME=IMAGE; `hpltune doctor` lists the runtimes. "
        "⟦xhpl⟧ names a program in it; without it the image needs MPI and BLAS only.",
        metavar="IMAGE",
        panel=MACHINE,
        here=True,
        useless=(Useless.WITH_TABLE, Useless.SIMULATED),
    ),
]
Wrap = Annotated[
    str,
    AskField(
        "Words that stand before the program of every rank, such as `numactl --interleave=all`.",
        metavar="WORDS",
        panel=MACHINE,
        here=True,
        useless=(Useless.WITH_TABLE, Useless.SIMULATED),
    ),
]
Source = Annotated[
    Path | None,
    AskField(
        "HPL's source: a folder or a tarball of HPL or HPCC.",
        metavar="PATH",
        panel=MACHINE,
        here=True,
        useless=(Useless.WITH_TABLE,),
    ),
]
Price = Annotated[
    float | None,
    AskField(
        "Price of the machine in US dollars, for $/GFLOPS.",
        field="price",
        metavar="USD",
        panel=MACHINE,
        section=PRICE,
        label="Price of the machine in $",
        hint="Empty: what the file of a cluster says.",
        above=0.0,
        most=MOST_FIGURE,
        typed=str | None,
        read=_price_usd,
    ),
]
Power = Annotated[
    float | None,
    AskField(
        "Power under load, for MFLOPS/W.",
        field="power",
        metavar="WATT",
        panel=MACHINE,
        section=PRICE,
        label="Power under load in W",
        hint="Empty: what the file of a cluster says.",
        least=0.1,
        most=MOST_FIGURE,
    ),
]
Cluster = Annotated[
    str | None,
    AskField(
        "The TOML file of a real cluster to run on; or a virtual cluster to simulate, a file or a shipped name.",
        described="a cluster that the service offers; null for its own machine",
        metavar="CLUSTER",
        panel=CLUSTER,
        section=FIRST,
        label="Machine",
        names=Named.CLUSTER,
        beside=("resume", "join"),
        useless=(Useless.WITH_TABLE,),
    ),
]
Limit = Annotated[
    str | None,
    AskField(
        "Real time after which a simulation is stopped. Default: 10m.",
        metavar="TIME",
        panel=BUDGET,
        section=QUEUE,
        label="Longest time of a simulation",
        hint="On a virtual cluster only.",
        useless=(Useless.WITH_TABLE,),
    ),
]
MemoryFraction = Annotated[
    float,
    AskField(
        "Part of the free memory that the matrix fills with ⟦full⟧.",
        panel=BUDGET,
        section=SIZES,
        label="Part of the memory that N may fill",
        hint="From 0.01 to 0.95.",
        least=0.01,
        most=0.95,
        useless=(Useless.WITH_TABLE,),
    ),
]
WaitForQuiet = Annotated[
    str,
    AskField(
        "Wait for a machine from which others take at most 3 %, before the first run and before the best is measured: "
        "so long at most, as a time or a part of the ⟦budget⟧; 0 waits for nothing.",
        described="how long to wait for a quiet machine at most: a time such as 30s, 0 for none, or, where a budget "
        "limits the time, a part of it such as 10%",
        metavar="TIME",
        panel=BUDGET,
        label="Wait for a quiet machine",
        hint="A time such as 30s, a part of the budget such as 10%, or 0.",
        beside=("resume", "join"),
        useless=(Useless.WITH_TABLE, Useless.SIMULATED),
    ),
]
QuietTime = Annotated[
    str,
    AskField(
        "Wait for a machine from which others take at most 3 %, before the first run: so long at most, as a time or a "
        "part of what the runs should take; 0 waits for nothing.",
        metavar="TIME",
    ),
]
"""The same where there is no budget."""
USUAL_QUIET = "10%"
"""How long is waited at most where nobody says it."""
RealClusterFile = Annotated[
    str | None,
    AskField(
        "The TOML file of a real cluster to run on.",
        described="a real cluster that the service offers; null for its own machine",
        metavar="FILE",
        panel=CLUSTER,
        names=Named.CLUSTER,
        typed=Path | None,
        read=str,
    ),
]
