"""`hpltune report`: studies as a page."""

from pathlib import Path
from typing import Annotated

import typer

from .common import Db, complete_study, console, open_store
from .server import asked_server


def report(
    context: typer.Context,
    studies: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STUDY]...", autocompletion=complete_study, help="Studies; without any the newest."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    static: Annotated[
        bool, typer.Option("--static", help="Leave out the small script that shows the values of figures.")
    ] = False,
    db: Db = None,
) -> None:
    """Write studies as one HTML file that opens anywhere and needs no network.

    It begins with the best configuration and how sure that is. Then it shows the way there, the machine, and the
    command and HPL.dat that repeat the best run.

    Examples:

        hpltune report

        hpltune report default-1 -o kronos.html

        hpltune report before after --static
    """
    from results.report.terminal import say

    from ..commands.stored.report import ReportRequest, report_studies

    there = asked_server(context, {"db", "static"})
    if there is not None:
        from .served import report_there

        report_there(there, studies or [], out)
        return
    with open_store(db, create=False) as store:
        result = report_studies(store, ReportRequest(tuple(studies or ()), out, not static))
    say(console(), f"Wrote {result.out}. Open it in a browser.")
