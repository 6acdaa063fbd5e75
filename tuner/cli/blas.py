"""`hpltune blas`: the fair comparison of BLAS libraries."""

from typing import Annotated

import typer

from ..asks.field import BUDGET, LARGEST_SEED, MOST_RUNS, OUTPUT, SEARCH
from ..asks.shared import Libraries, Power, Price, RealClusterFile, Rpeak, Source
from .common import Db, Json, complete_space, complete_study, given
from .terminal import INTERRUPTED, show_report, watched

WITH_RESUME = frozenset({"study", "resume", "db", "as_json"})
"""What may be given beside --resume: a comparison has options of its own."""
DEFAULT_S = 600.0
"""Wall time where no limit is given."""
DEFAULT_FULL = 12
"""Search trials of each library with --full, where no limit is given."""


def blas(
    context: typer.Context,
    blas: Libraries = (),
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            rich_help_panel=BUDGET,
            help="Wall time of the whole comparison: 10m, 1h30m. Default: 10m, unless --trials or --full is given.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_RUNS, rich_help_panel=BUDGET, help="Limit of search trials of each library."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            rich_help_panel=BUDGET,
            help="Measure at the N that fills the memory. Default limit: 12 trials a library.",
        ),
    ] = False,
    memory_fraction: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=0.95,
            rich_help_panel=BUDGET,
            help="Part of the free memory that the matrix fills with --full.",
        ),
    ] = 0.8,
    space: Annotated[
        str,
        typer.Option(
            metavar="SPACE",
            autocompletion=complete_space,
            rich_help_panel=SEARCH,
            help="A shipped space or a TOML file.",
        ),
    ] = "blas",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=V[,V]",
            rich_help_panel=SEARCH,
            help="Set the values of a parameter: --set N=8000. Repeatable.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, rich_help_panel=SEARCH, help="Seed of the random numbers.")
    ] = 0,
    hpl_source: Source = None,
    rpeak: Rpeak = None,
    price: Price = None,
    power: Power = None,
    cluster: RealClusterFile = None,
    study: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=complete_study, rich_help_panel=OUTPUT, help="Name of the study."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            rich_help_panel=OUTPUT,
            help="Continue a comparison that was stopped, or show one that is complete.",
        ),
    ] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Compare the BLAS libraries of this machine, each at its own best NB, kernel, layout and threads.

    Each library gets the same time for a search of its own, all at the same N. Then the best configuration of each
    runs once a round, in an order drawn anew each round, until the order is known with 95 % or the budget ends. Only
    the rounds decide: a lucky run of a search does not count, and a machine that slows down slows all libraries alike.
    Two libraries that are alike are a tie; a longer --budget shows smaller differences.

    Ctrl-C stops after the running trial, and `--resume` continues.

    Examples:

        hpltune blas

        hpltune blas --budget 1h

        hpltune blas --blas openblas --blas mine=/opt/blis/lib/libblis.so

        hpltune blas --full --trials 8

        hpltune blas --set N=8000 --json

        hpltune blas --resume --study blas-1
    """
    from ..asks.texts import parse_overrides
    from ..budget import Budget
    from ..commands.campaigns.blas import BlasRequest
    from ..commands.campaigns.blas import blas as compare
    from ..commands.real_cluster import read_cluster
    from ..console import output
    from ..errors import UsageError
    from ..options import TuneOptions, parse_blas, user_source
    from ..units import parse_duration_s

    if resume:
        for refused in given(context, {one.name or "" for one in context.command.params} - WITH_RESUME):
            raise UsageError(f"{refused} cannot be given with --resume: the comparison has options of its own")
    names, files = parse_blas(blas)
    real = read_cluster(str(cluster)) if cluster else None
    if cluster and real is None:
        raise UsageError(f"--cluster {cluster} is a virtual cluster: BLAS libraries are compared on real machines")
    wall_s = parse_duration_s(budget, "--budget") if budget else None
    if wall_s is None and trials is None:
        wall_s, trials = (None, DEFAULT_FULL) if full else (DEFAULT_S, None)
    options = TuneOptions(
        space=space,
        seed=seed,
        budget=Budget(trials=trials, wall_s=wall_s),
        full=full,
        memory_fraction=memory_fraction,
        overrides=parse_overrides(set_ or []),
        blas_only=names,
        blas_files=files,
        hpl_source=user_source(hpl_source),
        rpeak_gflops=rpeak,
        price_usd=price or (real.price_usd if real else None),
        power_w=power or (real.power_w if real else None),
        real_cluster=real.cluster.table() if real else None,
        shootout=True,
    )
    console = output(stderr=as_json)
    with watched(console) as (listener, stop):
        result = compare(BlasRequest(options, study, resume, db), listener, stop)
    show_report(console, result.report(), as_json=as_json)
    raise typer.Exit(INTERRUPTED if result.on else 0)
