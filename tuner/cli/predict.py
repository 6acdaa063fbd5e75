"""`hpltune predict`: clusters before they are bought."""

from pathlib import Path
from typing import Annotated

import typer

from .common import LARGEST_SEED, MOST_RUNS, Db, EngineName, Jobs, Json, Limit, complete_space


def predict(
    file: Annotated[Path, typer.Argument(metavar="DESIGNS.toml", help="A base cluster and what each design changes.")],
    space: Annotated[
        str, typer.Option(metavar="SPACE", autocompletion=complete_space, help="What may be tuned in each design.")
    ] = "default",
    engine: EngineName = "hpl",
    trials: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="Simulations for each design.")] = 24,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the engine.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Simulate the whole memory, however long it takes.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the designs: a .png, .svg or .pdf file.")
    ] = None,
    jobs: Jobs = None,
    limit: Limit = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """What if: more nodes, another network, another BLAS, another price. Each design is tuned in simulation.

    One table: the tuned Rmax, % of peak, $/GFLOPS and MFLOPS/W of every design, and the configuration that gives it.

    Examples:

        hpltune predict designs.toml --plot designs.png

        hpltune predict designs.toml --trials 60 --json
    """
    from ..commands.predict import PredictRequest, run_predict
    from ..engines.registry import check_engine
    from ..options import DEFAULT_SIMULATION_S
    from ..units import parse_duration_s

    check_engine(engine)
    limit_s = parse_duration_s(limit, "--limit") if limit else DEFAULT_SIMULATION_S
    raise typer.Exit(
        run_predict(PredictRequest(file, space, engine, trials, seed, full, jobs, limit_s, plot, db, as_json))
    )
