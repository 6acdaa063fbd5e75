"""`hpltune reproduce`: a published tuning, simulated."""

from typing import Annotated

import typer

from ..asks.field import LARGEST_SEED, MOST_RUNS
from ..asks.shared import Engine, Jobs, Limit
from .common import Db, Html, Json, complete_published


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", autocompletion=complete_published, help="The publication: kronos.")
    ],
    trials: Annotated[
        int,
        typer.Option(
            min=0, max=MOST_RUNS, help="Trials of each of the two searches; 0 simulates only the published tests."
        ),
    ] = 120,
    engine: Engine = "hpl",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the engine's random numbers.")] = 0,
    html: Html = None,
    jobs: Jobs = None,
    limit: Limit = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Simulate the tests of a published tuning, then search for what the same hardware could have done.

    A table shows published and simulated GFLOPS with their errors, and to which tests the model was fitted. The
    searches are ordinary studies: `hpltune show` and `hpltune best` know them. It needs SimGrid
    (`hpltune setup --with simgrid`).

    Examples:

        hpltune reproduce kronos

        hpltune reproduce kronos --trials 0 --html kronos.html

        hpltune reproduce kronos --trials 0 --json
    """
    from results.report.terminal import say

    from ..budget import Budget
    from ..commands import reproduce as use_case
    from ..console import output
    from ..engines.registry import check_engine
    from ..options import DEFAULT_SIMULATION_S, TuneOptions
    from ..units import parse_duration_s
    from .terminal import INTERRUPTED, EarlyParts, ReportFiles, show_and_write, watched

    check_engine(engine)
    limit_s = parse_duration_s(limit, "limit") if limit else DEFAULT_SIMULATION_S
    files = ReportFiles.required(html)
    console = output(stderr=as_json)
    with watched(console) as (listener, stop):
        early = EarlyParts(listener, shown=not as_json)
        options = TuneOptions(engine=engine, seed=seed, budget=Budget(trials=trials), jobs=jobs, limit_s=limit_s)
        result = use_case.reproduce(name, options, early, stop, db)
    told, page = early.rest(result.report()), result.page()
    show_and_write(console, told, files, as_json=as_json and not result.unfinished, page=page)
    if result.stopped is not None and as_json:
        say(console, result.stopped.sentence)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
