"""`hpltune predict`: clusters before they are bought."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import LARGEST_SEED, MOST_RUNS, Db, EngineName, Jobs, Json, Limit, complete_space

if TYPE_CHECKING:
    from ..commands.models.predict import PredictResult

PICTURES = frozenset({".png", ".svg", ".pdf"})
"""Ends of the names of files that can be drawn."""


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
            help="The space that is searched for each design: a shipped name or a TOML file.",
        ),
    ] = "default",
    engine: EngineName = "hpl",
    trials: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="Simulations for each design.")] = 24,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the engine's random numbers.")] = 0,
    full: Annotated[
        bool, typer.Option("--full", help="Simulate at the N that fills the memory, however long that takes.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw Rmax and $/GFLOPS of the designs into a .png, .svg or .pdf file."),
    ] = None,
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
    from ..commands.models import predict as use_case
    from ..console.progress import output
    from ..engines.registry import check_engine
    from ..options import DEFAULT_SIMULATION_S
    from ..units import parse_duration_s
    from .terminal import INTERRUPTED, show_report, watched

    check_engine(engine)
    limit_s = parse_duration_s(limit, "--limit") if limit else DEFAULT_SIMULATION_S
    _check_name(plot)
    console = output(stderr=as_json)
    with watched(console) as (listener, stop):
        request = use_case.PredictRequest(file, space, engine, trials, seed, full, jobs, limit_s, db)
        result = use_case.predict(request, listener, stop)
    drawn = plot is not None and bool(result.predictions)
    try:
        if plot is not None and drawn:
            _draw(result, plot)
    finally:
        show_report(console, result.report(), as_json=as_json)
    if drawn:
        console.print(f"Plot: {plot}")
    if result.failure is not None:
        raise result.failure
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_name(plot: Path | None) -> None:
    from ..errors import UsageError

    if plot is not None and plot.suffix not in PICTURES:
        raise UsageError(f"--plot {plot}: expected a name that ends in .png, .svg or .pdf")


def _draw(result: "PredictResult", plot: Path) -> None:
    """Draw the designs before anything is printed: a terminal that is gone then costs no picture."""
    from results.report.plots import plot_designs

    plot_designs(result.points(), plot)
