"""`hpltune predict`: clusters before they are bought."""

from pathlib import Path
from typing import Annotated

import typer

from ..asks.field import OUTPUT
from ..asks.predict import PredictAsk
from .common import Db, Html, Json
from .terminal import INTERRUPTED, ReportFiles, show_and_write, watched


def predict(
    ask: PredictAsk,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Draw GFLOPS and $/GFLOPS of the designs into a .png, .svg or .pdf file.",
        ),
    ] = None,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Tune designs of clusters in simulation: more nodes, another network, another BLAS, another price.

    One table shows the tuned rate, % of peak, $/GFLOPS and MFLOPS/W of every design, with its best configuration.

    Examples:

        hpltune predict designs.toml --plot designs.png

        hpltune predict designs.toml --trials 60 --json
    """
    from ..commands import predict as use_case
    from ..console import output
    from ..engines.registry import check_engine
    from ..simulation.design import read_designs

    check_engine(ask.engine)
    files, console = ReportFiles.required(html, plot), output(stderr=as_json)
    designs = read_designs(ask.designs)
    with watched(console) as (listener, stop):
        result = use_case.predict(ask, designs, listener, stop, db)
    report, page = result.report(), result.page()
    show_and_write(console, report, files, as_json=as_json, page=page, figures=result.figures())
    if result.failure is not None:
        raise result.failure
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
