"""`hpltune best`: the best configurations of a study."""

from typing import Annotated

import typer

from .common import Db, Html, Json, Newest, StudyName, console, open_store
from .server import asked_server
from .terminal import ReportFiles, show_and_write


def best(
    context: typer.Context,
    study: Newest = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Number of configurations to show.")] = 5,
    pareto: Annotated[
        str | None,
        typer.Option(
            help="Show the Pareto front of GFLOPS against percent-of-peak, usd-per-gflops or mflops-per-watt. "
            "Default: the objective of the study's own --pareto, if it had one.",
            metavar="OBJECTIVE",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all figures of each configuration, and what they tell of the machine.")
    ] = False,
    named: StudyName = None,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Tell the best of a study in short, and rank its configurations by the GFLOPS that are expected of them.

    Without a name it takes the newest study that `tune` made, or that was imported. A run from which other programs
    took the machine is called disturbed: docs/disturbed.md tells what follows.

    Examples:

        hpltune best

        hpltune best default-1 --all -n 10

        hpltune best predicted --pareto usd-per-gflops --html front.html
    """
    from ..commands.stored.best import best_of_study

    there = asked_server(context, {"db", "html"})
    if there is not None:
        from .served import best_there

        best_there(there, study or named, count, pareto, whole=everything, as_json=as_json)
        return
    files = ReportFiles.required(html)
    with open_store(db, create=False) as store:
        found = best_of_study(store, study or named, count, pareto, db, whole=everything)
    show_and_write(console(), found.report(), files, as_json=as_json, page=found.page() if html else None)
