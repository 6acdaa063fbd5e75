"""What can be asked of `tune`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from .field import (
    BUDGET,
    CLUSTER,
    FIRST,
    LARGEST_SEED,
    MACHINE,
    MOST_AT_ONCE,
    MOST_RUNS,
    PRICE,
    QUEUE,
    SEARCH,
    SIZES,
    Ask,
    AskField,
    Named,
    Scalar,
    Useless,
)
from .shared import (
    USUAL_QUIET,
    Cluster,
    Container,
    Engine,
    Jobs,
    Libraries,
    Limit,
    MemoryFraction,
    Power,
    Price,
    Program,
    Programs,
    Rpeak,
    Source,
    WaitForQuiet,
    Wrap,
    overrides,
)


@dataclass(frozen=True)
class SearchSettings(Ask):
    """What is asked of a search and needs no further reading: its study keeps it as it is.

    An option of this kind is one field here, and what heeds it.
    """

    engine: Engine = "hpl"
    objective: Annotated[
        str,
        AskField(
            "gflops, percent-of-peak, usd-per-gflops or mflops-per-watt.",
            metavar="NAME",
            panel=SEARCH,
            section=FIRST,
            label="Find the best of",
        ),
    ] = "gflops"
    pareto: Annotated[
        str | None,
        AskField(
            "Search the front of GFLOPS against percent-of-peak, usd-per-gflops or mflops-per-watt.",
            metavar="OBJECTIVE",
            panel=SEARCH,
            label="Weigh GFLOPS against",
        ),
    ] = None
    power_source: Annotated[
        str | None,
        AskField(
            "Which measurement of the power MFLOPS/W are told by: meter, redfish, ipmi, pm_counters, slurm, hwmon, "
            "rapl, nvml, amdsmi, or a sum as rapl+nvml. Default: the one that is nearest to the wall.",
            metavar="NAME",
            panel=MACHINE,
            section=PRICE,
            label="Which measurement of the power counts",
            hint="Empty: the one that is nearest to the wall.",
            useless=(Useless.WITH_TABLE, Useless.SIMULATED),
        ),
    ] = None
    full: Annotated[
        bool,
        AskField(
            "Measure at the N that fills the memory. Default limit: 24 trials.",
            panel=BUDGET,
            section=SIZES,
            label="Measure with the N that fills the memory",
            useless=(Useless.WITH_TABLE,),
        ),
    ] = False
    memory_fraction: MemoryFraction = 0.8
    points: Annotated[
        int | None,
        AskField(
            "Number of points of a coarse grid, with ⟦engine⟧ grid.",
            panel=SEARCH,
            label="Points of a coarse grid",
            hint="With the engine grid only.",
            least=1,
            most=MOST_RUNS,
        ),
    ] = None
    repeats: Annotated[
        int,
        AskField(
            "Runs of each configuration during the search.",
            panel=BUDGET,
            label="Runs of each configuration",
            least=1,
            most=MOST_RUNS,
        ),
    ] = 1
    confirm: Annotated[
        int,
        AskField(
            "Further runs of each of the three best configurations.",
            panel=BUDGET,
            label="Further runs of the best ones",
            least=0,
            most=MOST_RUNS,
        ),
    ] = 2
    reference: Annotated[
        bool,
        AskField(
            "Run one configuration again after every tenth full run, in at most a tenth of the budget, to see "
            "whether the machine changes. These runs count as ⟦trials⟧; with less than 20 there are none.",
            panel=BUDGET,
            label="Leave out runs that tell whether the machine changes",
            useless=(Useless.WITH_TABLE, Useless.SIMULATED),
        ),
    ] = True
    simulated_opening: Annotated[
        bool,
        AskField(
            "On a cluster, simulate a virtual copy of it before the first full run, in at most a twentieth of the "
            "budget, and learn from that. Needs SimGrid.",
            panel=CLUSTER,
            label="Simulate nothing before the first full run on a cluster",
            useless=(Useless.WITH_TABLE, Useless.SIMULATED),
        ),
    ] = True
    wait_for_quiet: WaitForQuiet = USUAL_QUIET
    seed: Annotated[
        int, AskField("Seed of the engine's random numbers.", panel=SEARCH, label="Seed", least=0, most=LARGEST_SEED)
    ] = 0
    rpeak_gflops: Rpeak = None
    parallel: Annotated[
        int,
        AskField(
            "Trials at a time; each has a K-th of a real cluster's nodes.",
            metavar="K",
            panel=CLUSTER,
            section=QUEUE,
            label="Trials at a time on a cluster",
            least=1,
            most=MOST_AT_ONCE,
            beside=("join",),
            useless=(Useless.WITH_TABLE,),
        ),
    ] = 1
    nodes_check: Annotated[
        str | None,
        AskField(
            "Check the nodes of a real cluster first: refuse a study on bad ones, or leave them out.",
            panel=CLUSTER,
            metavar="refuse|drop",
            section=QUEUE,
            label="Bad nodes of a cluster",
            hint="Write refuse or drop: its nodes are checked first.",
            useless=(Useless.WITH_TABLE,),
        ),
    ] = None
    jobs: Jobs = None
    from_simulation: Annotated[
        str | None,
        AskField(
            "Try the best configurations of a simulated study first, and learn from its rates.",
            described="name of a simulated study, whose best configurations are tried first",
            metavar="STUDY",
            panel=SEARCH,
            label="Begin with what a simulation found",
            hint="Name of a simulated campaign.",
            names=Named.STUDY,
            useless=(Useless.WITH_TABLE, Useless.SIMULATED),
        ),
    ] = None


@dataclass(frozen=True)
class TuneAsk(SearchSettings):
    """A search, in the words of `hpltune tune`."""

    space: Annotated[
        str,
        AskField(
            "A shipped space or a TOML file; without it, ⟦replay⟧ takes all that its table has.",
            described="name of a space that the service offers",
            metavar="SPACE",
            panel=SEARCH,
            section=FIRST,
            label="Search space",
            names=Named.SPACE,
        ),
    ] = "default"
    budget: Annotated[
        str | None,
        AskField(
            "Wall time of the whole study: 90s, 5m, 1h30m; node-hours: 2nh; on a virtual ⟦cluster⟧ also 20usd. "
            "Default: 5m, unless ⟦trials⟧, ⟦run_time⟧ or ⟦full⟧ is given.",
            metavar="TIME",
            panel=BUDGET,
            section=FIRST,
            label="Budget",
            hint="A time such as 90s, 5m or 1h30m, or node-hours such as 2nh.",
            beside=("resume",),
        ),
    ] = None
    trials: Annotated[
        int | None,
        AskField(
            "Limit of search trials; cheap runs count too. First runs, confirmations and what then runs in turn at a "
            "larger N do not; without a limit of time, the latter take about half as long as all before.",
            panel=BUDGET,
            label="Most trials",
            hint="Empty: the budget alone decides.",
            least=1,
            most=MOST_RUNS,
            beside=("resume",),
        ),
    ] = None
    run_time: Annotated[
        str | None,
        AskField(
            "Limit of the time in HPL runs alone.",
            metavar="TIME",
            panel=BUDGET,
            label="Most time in runs of HPL",
            hint="A time such as 20m.",
            beside=("resume",),
        ),
    ] = None
    set: Annotated[
        Mapping[str, Scalar | Sequence[Scalar]],
        AskField(
            "Set the values of a parameter: ⟦set⟧ NB=128,192. Repeatable.",
            described="values of parameters",
            metavar="NAME=V[,V]",
            panel=SEARCH,
            section=SIZES,
            label="Other parameters",
            hint="A line for each, such as grid = 1x2, 2x1.",
            typed=list[str] | None,
            read=overrides,
        ),
    ] = field(default_factory=dict)
    replay: Annotated[
        Path | None,
        AskField(
            "Run nothing and take the runs of a table: a CSV as `export csv` writes it, or a landscape (JSON).",
            metavar="TABLE",
            panel=MACHINE,
            here=True,
        ),
    ] = None
    replay_speed: Annotated[
        float | None,
        AskField(
            "Real seconds for each second of the table; 1 is as it was. Default: 0, as fast as it can.",
            metavar="FACTOR",
            panel=MACHINE,
            least=0.0,
            most=1000.0,
            here=True,
        ),
    ] = None
    blas: Libraries = ()
    program: Program = None
    programs: Programs = ()
    container: Container = ""
    wrap: Wrap = ""
    hpl_source: Source = None
    price_usd: Price = None
    power_w: Power = None
    power_command: Annotated[
        str,
        AskField(
            "A program, with its arguments, that prints the watts of all nodes, such as that of a meter at the wall. "
            "It is started once a second while HPL runs.",
            metavar="COMMAND",
            panel=MACHINE,
            here=True,
            useless=(Useless.WITH_TABLE, Useless.SIMULATED),
        ),
    ] = ""
    cluster: Cluster = None
    limit: Limit = None
    warm_start: Annotated[
        tuple[str, ...],
        AskField(
            "Learn from an earlier study, an output of HPL or an HPL.dat. Repeatable.",
            described="names of studies to learn from",
            metavar="SOURCE",
            panel=SEARCH,
            label="Learn from campaigns",
            hint="Names, separated by commas.",
            names=Named.STUDY,
            useless=(Useless.WITH_TABLE, Useless.SIMULATED),
        ),
    ] = ()
