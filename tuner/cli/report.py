"""`hpltune report`: studies as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import Db, complete_published, complete_study, console, open_store
from .server import asked_server

if TYPE_CHECKING:
    from ..commands.hand_in import HandInRequest


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
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            autocompletion=complete_published,
            help="Write the report to hand in of a published tuning: kronos. STUDY… go with it, and may be left out.",
        ),
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --as: who hands it in. Without it the report has a line to fill in."),
    ] = None,
    db: Db = None,
) -> None:
    """Write studies as one HTML file that opens anywhere and needs no network.

    It begins with the best configuration and how sure that is. Then it shows the way there, the machine, and the
    command and HPL.dat that repeat the best run.

    With `--as kronos` it is a report to hand in: all tests of the article, published beside simulated, a chapter for
    each with room for your reasons, and your studies folded below. It needs SimGrid (`hpltune setup --with simgrid`).

    Examples:

        hpltune report

        hpltune report default-1 -o kronos.html

        hpltune report before after --static

        hpltune report blocks grids --as kronos --author "Ada Lovelace" -o kronos.html
    """
    from results.report.terminal import say

    from ..commands.stored.report import report_studies

    there = asked_server(context, {"db", "static", "as_", "author"})
    if there is not None:
        from .served import report_there

        report_there(there, studies or [], out)
        return
    if as_ is not None:
        from ..commands.hand_in import HandInRequest

        _hand_in(HandInRequest(as_, tuple(studies or ()), out, author or "", not static, db))
        return
    if author is not None:
        from ..errors import UsageError

        raise UsageError(
            "it is for the report to hand in: name the tuning with ⟦as⟧ kronos", field="author", given=author
        )
    with open_store(db, create=False) as store:
        report_studies(store, studies or (), out, interactive=not static)
    say(console(), f"Wrote {out}. Open it in a browser.")


def _hand_in(request: "HandInRequest") -> None:
    """Write the report to hand in.

    Raises:
        typer.Exit: somebody stopped it.
    """
    from results.report.terminal import say

    from ..commands.hand_in import hand_in
    from .terminal import INTERRUPTED, watched

    shown = console()
    with watched(shown) as (listener, stop):
        report = hand_in(request, listener, stop)
    if report is None:
        say(shown, "Stopped before all published tests were simulated: no report was written.")
        raise typer.Exit(INTERRUPTED)
    say(shown, f"Wrote {request.out}. Open it in a browser.")
