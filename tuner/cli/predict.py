"""`hpltune predict`: clusters before they are bought."""

from pathlib import Path
from typing import Annotated

import typer

from ..asks.field import BUDGET, LARGEST_SEED, MOST_RUNS, OUTPUT, SEARCH
from ..asks.shared import Engine, Jobs, Limit
from .common import Db, Html, Json, complete_space


def predict(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="DESIGNS.toml", help="The file of the designs: a base cluster, and what each design changes."
        ),
    ],
    space: Annotated[
        str,
        typer.Option(
            metavar="SPACE",
            autocompletion=complete_space,
            rich_help_panel=SEARCH,
            help="The space that is searched for each design: a shipped name or a TOML file.",
        ),
    ] = "default",
    engine: Engine = "hpl",
    trials: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, rich_help_panel=BUDGET, help="Simulations for each design.")
    ] = 24,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, rich_help_panel=SEARCH, help="Seed of the engine's random numbers.")
    ] = 0,
    full: Annotated[
        bool,
        typer.Option(
            "--full", rich_help_panel=BUDGET, help="Simulate at the N that fills the memory, however long that takes."
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Draw Rmax and $/GFLOPS of the designs into a .png, .svg or .pdf file.",
        ),
    ] = None,
    html: Html = None,
    jobs: Jobs = None,
    limit: Limit = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Tune designs of clusters in simulation: more nodes, another network, another BLAS, another price.

    One table shows the tuned Rmax, % of peak, $/GFLOPS and MFLOPS/W of every design, with its best configuration.

    Examples:

        hpltune predict designs.toml --plot designs.png

        hpltune predict designs.toml --trials 60 --json
    """
    from ..commands import predict as use_case
    from ..console import output
    from ..engines.registry import check_engine
    from ..options import DEFAULT_SIMULATION_S
    from ..units import parse_duration_s
    from .terminal import INTERRUPTED, ReportFiles, show_and_write, watched

    check_engine(engine)
    limit_s = parse_duration_s(limit, "limit") if limit else DEFAULT_SIMULATION_S
    files = ReportFiles(html, plot)
    files.require()
    console = output(stderr=as_json)
    with watched(console) as (listener, stop):
        request = use_case.PredictRequest(file, space, engine, trials, seed, full, jobs, limit_s, db)
        result = use_case.predict(request, listener, stop)
    report, page = result.report(), result.page()
    show_and_write(console, report, files, as_json=as_json, page=page, figures=result.figures())
    if result.failure is not None:
        raise result.failure
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
