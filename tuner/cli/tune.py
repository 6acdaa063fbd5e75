"""`hpltune tune`: the main job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import (
    LARGEST_SEED,
    MOST_RUNS,
    BlasFiles,
    Cluster,
    Db,
    EngineName,
    Jobs,
    Json,
    Limit,
    Power,
    Price,
    Rpeak,
    Source,
    Xhpl,
    complete_space,
    complete_study,
    given,
)
from .server import asked_server
from .terminal import INTERRUPTED, show_report, watched

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rich.console import Console

    from ..commands.campaigns.tune import TuneResult

BESIDE = {
    "resume": frozenset({"study", "resume", "join", "budget", "trials", "run_time", "cluster", "out", "db", "as_json"}),
    "join": frozenset({"study", "resume", "join", "cluster", "parallel", "out", "db", "as_json"}),
}
"""What may be given beside these options: a study that is gone on with or helped has its own for all else."""

NOT_THERE = frozenset({"db", "hpl_source", "join", "out", "replay", "replay_speed"})
"""Options that make no sense for a service."""
RESUMED_THERE = frozenset({"study", "resume", "as_json"})


def tune(
    context: typer.Context,
    space: Annotated[
        str | None,
        typer.Option(
            metavar="SPACE",
            autocompletion=complete_space,
            help="A shipped space or a TOML file. Default: default; with --replay all that the table has.",
        ),
    ] = None,
    engine: EngineName = "hpl",
    objective: Annotated[
        str,
        typer.Option(metavar="NAME", help="gflops, percent-of-peak, usd-per-gflops or mflops-per-watt."),
    ] = "gflops",
    pareto: Annotated[
        str | None,
        typer.Option(
            metavar="OBJECTIVE",
            help="Search the front of GFLOPS against percent-of-peak, usd-per-gflops or mflops-per-watt.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Wall time of the whole study: 90s, 5m, 1h30m; node-hours: 2nh; on a virtual --cluster also 20usd. "
            "Default: 5m, unless --trials, --run-time or --full is given.",
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, max=MOST_RUNS, help="Limit of search trials; cheap runs count too.")
    ] = None,
    run_time: Annotated[str | None, typer.Option(metavar="TIME", help="Limit of the time in HPL runs alone.")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Measure at the N that fills the memory. Default limit: 24 trials.")
    ] = False,
    memory_fraction: Annotated[
        float, typer.Option(min=0.01, max=0.95, help="Part of the free memory that the matrix fills with --full.")
    ] = 0.8,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=V[,V]", help="Set the values of a parameter: --set NB=128,192. Repeatable."
        ),
    ] = None,
    points: Annotated[
        int | None, typer.Option(min=1, max=MOST_RUNS, help="Number of points of a coarse grid, with --engine grid.")
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Runs of each configuration during the search.")
    ] = 1,
    confirm: Annotated[
        int, typer.Option(min=0, max=MOST_RUNS, help="Further runs of each of the three best configurations.")
    ] = 2,
    reference: Annotated[
        bool,
        typer.Option(
            "--reference/--no-reference",
            help="Run one configuration again after every tenth full run, in at most a tenth of the budget, to see "
            "whether the machine changes. These runs count as --trials; with less than 20 there are none.",
        ),
    ] = True,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the engine's random numbers.")] = 0,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Run nothing and take the runs of a table: a CSV as `export csv` writes it, or a landscape (JSON).",
        ),
    ] = None,
    replay_speed: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1000.0,
            metavar="FACTOR",
            help="Real seconds for each second of the table; 1 is as it was. Default: 0, as fast as it can.",
        ),
    ] = None,
    blas: BlasFiles = None,
    xhpl: Xhpl = None,
    hpl_source: Source = None,
    rpeak: Rpeak = None,
    price: Price = None,
    power: Power = None,
    cluster: Cluster = None,
    parallel: Annotated[
        int, typer.Option(min=1, metavar="K", help="Trials at a time; each has a K-th of a real cluster's nodes.")
    ] = 1,
    nodes_check: Annotated[
        str | None,
        typer.Option(
            metavar="refuse|drop",
            help="Check the nodes of a real cluster first: refuse a study on bad ones, or leave them out.",
        ),
    ] = None,
    jobs: Jobs = None,
    limit: Limit = None,
    from_simulation: Annotated[
        str | None,
        typer.Option(
            metavar="STUDY",
            autocompletion=complete_study,
            help="Try the best configurations of a simulated study first, and learn from its rates.",
        ),
    ] = None,
    warm_start: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            autocompletion=complete_study,
            help="Learn from an earlier study, an output of HPL or an HPL.dat. Repeatable.",
        ),
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="NAME", autocompletion=complete_study, help="Name of the study.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue a study that was stopped or killed, with its own options; limits given now replace its own.",
        ),
    ] = False,
    join: Annotated[
        str | None,
        typer.Option(metavar="STUDY", autocompletion=complete_study, help="Help a study that runs on other nodes."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the HPL.dat and the command line of the best.")
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Find the fastest configuration of HPL on this machine and write its HPL.dat.

    Without options it searches the default space for about five minutes. It chooses N so that one run takes a small
    part of the budget, and also writes an HPL.dat for the whole memory.

    Ctrl-C stops after the running trial, or at once while the study waits for nodes; a second Ctrl-C always stops at
    once. `--resume` continues a study that was stopped. A completed study continues if you give a larger --budget,
    --trials or --run-time; what it has spent already counts.

    Examples:

        hpltune tune

        hpltune tune --budget 1h --space full --price 2490

        hpltune tune --engine grid --space grid-classic --set NB=128,192,256 --set N=8000

        hpltune tune --blas openblas --blas mine=/opt/blis/lib/libblis.so

        hpltune tune --resume

        hpltune tune --resume --study default-1 --budget 1h

        hpltune tune --cluster my-cluster.toml --budget 1h

        hpltune tune --cluster other-half.toml --join default-1

        hpltune tune --cluster kronos --space kronos --trials 40

        hpltune tune --cluster kronos --space kronos-free --objective usd-per-gflops --budget 0.1usd

        hpltune tune --cluster kronos --space quick --set layout=8x1,4x1,2x1,1x1 --set N=4000 --pareto usd-per-gflops

        hpltune tune --replay old-study.csv --engine bayes --trials 40

        hpltune tune --warm-start default-1 --warm-start old/HPL.out

        hpltune tune --cluster my-cluster.toml --parallel 4

        hpltune tune --cluster my-cluster.toml --nodes-check drop
    """
    there = asked_server(context, NOT_THERE)
    if there is not None:
        from .served_tune import resume_there, tune_there

        if resume:
            _check_beside(context, "resume", "a campaign of a service keeps them", RESUMED_THERE)
            resume_there(there, study, as_json=as_json)
        else:
            tune_there(there, context, as_json=as_json)
        return
    from ..commands.campaigns.asked import AskedLimits, AskedMachine, AskedSearch, AskedTuning
    from ..commands.campaigns.extension import BudgetExtension
    from ..commands.campaigns.tune import TuneRequest
    from ..commands.campaigns.tune import tune as search
    from ..console import output
    from ..options import parse_blas, parse_overrides, user_program, user_source
    from ..tuning.warm_start import absolute

    if resume:
        _check_beside(context, "resume", "only --budget, --trials and --run-time may be given anew")
    if join:
        _check_beside(context, "join", "only --cluster and --parallel say where this helper works")
    names, files = parse_blas(blas or [])
    limits = AskedLimits(budget, trials, run_time)
    asked = AskedTuning(
        AskedSearch(
            space=space,
            engine=engine,
            objective=objective,
            pareto=pareto,
            seed=seed,
            points=points,
            repeats=repeats,
            confirm=confirm,
            reference=reference,
            full=full,
            memory_fraction=memory_fraction,
            overrides=parse_overrides(set_ or []),
            blas_only=names,
            blas_files=files,
            xhpl=user_program(xhpl),
            hpl_source=user_source(hpl_source),
            from_simulation=from_simulation,
            warm_start=tuple(absolute(source) for source in warm_start or ()),
        ),
        AskedLimits() if resume else limits,
        AskedMachine(cluster, rpeak, price, power, parallel, jobs, limit, nodes_check, replay, replay_speed),
    )
    options, more = asked.options(), BudgetExtension(budget, trials, limits.run_s)
    console = output(stderr=as_json)
    with watched(console) as (listener, stop):
        result = search(TuneRequest(options, study, resume, out, db, join, more), listener, stop)
    _show(result, console, as_json=as_json)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)


def _show(result: "TuneResult", console: "Console", *, as_json: bool) -> None:
    """Print what a study found, also where its files could not be written, and how it ended.

    Raises:
        TunerError, OSError: the files could not be written.
    """
    if result.summary is not None and (as_json or not result.nothing_to_do):
        show_report(console, result.report(), as_json=as_json)
    if result.failure is not None:
        raise result.failure
    for notice in result.notices:
        console.print(notice.text, soft_wrap=notice.unbroken)


def _check_beside(context: typer.Context, option: str, but: str, beside: "AbstractSet[str] | None" = None) -> None:
    """Refuse what would be ignored.

    Raises:
        TunerError: it names the first such option.
    """
    from ..errors import UsageError

    others = {parameter.name or "" for parameter in context.command.params} - (beside or BESIDE[option])
    for refused in given(context, others):
        raise UsageError(
            f"{refused} cannot be given with --{option}: the study has options of its own, {but}; "
            f"leave --{option} out for a new study"
        )
