"""`hpltune compare`: studies, or the values of one parameter, against each other."""

import typer

from ..asks.compare import CompareAsk
from ..asks.field import Useless, keys_here
from .common import Db, Html, Json, console, open_store
from .server import asked_server
from .terminal import INTERRUPTED, ReportFiles, show_and_write, watched


def compare(
    context: typer.Context,
    ask: CompareAsk,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Compare studies, or the values of one parameter, each at its own best configuration.

    For each pair it tells the difference with a 95 % confidence interval, whether a test shows that it is not chance,
    and otherwise how many more runs would show a difference. Two studies are two occasions, whose difference is in the
    interval: 2 % as usual, or what checks on other days tell. It warns where machines, N or simulation differ.

    With --interleaved it runs the best configuration of each study here and now, in turn (A B, B A, and so on), keeps
    these runs as a study compare-1, and compares them. They are of one occasion, so a much smaller difference shows.
    The studies must be of this machine, or of one cluster. Ctrl-C keeps what ran.

    Exit codes: 0 compared; 1 one sentence says why not, as where a side has no valid run; 2 wrong usage; 130 stopped.

    Examples:

        hpltune compare before after --html compared.html

        hpltune compare before after --interleaved --rounds 8

        hpltune compare default-1 --by blas

        hpltune compare default-1 /mnt/other/hpltune.db#default-1

        hpltune compare run-HPL-1 --by date

        hpltune compare default-1 --by NB --difference 0.5% --json
    """
    there = asked_server(context, {"db", "html"} | keys_here(CompareAsk))
    if there is not None:
        from .served import compare_there

        compare_there(there, ask, as_json=as_json)
        return
    from ..commands.stored.compare import compare as compare_studies

    files = ReportFiles.required(html)
    if ask.interleaved:
        _in_turn(ask, db, files, as_json=as_json)
        return
    ask.refuse_useless(Useless.WITHOUT_RUNS)
    with open_store(db, create=False) as store:
        found = compare_studies(store, ask)
    show_and_write(console(), found.report(), files, as_json=as_json, page=found.page() if html else None)


def _in_turn(ask: CompareAsk, db: str | None, files: ReportFiles, *, as_json: bool) -> None:
    """Run the sides in turn, and show what that tells."""
    from ..commands.campaigns.in_turn import ROUNDS, InTurnRequest, compare_in_turn
    from ..console import output
    from ..errors import TunerError
    from ..units import parse_duration_s

    wall_s = parse_duration_s(ask.budget, "budget") if ask.budget else None
    asked, shown = InTurnRequest(ask, ask.rounds or ROUNDS, wall_s, db), output(stderr=as_json)
    with watched(shown) as (listener, stop):
        found = compare_in_turn(asked, listener, stop)
    if not isinstance(found, str):
        show_and_write(shown, found.report(), files, as_json=as_json, page=found.page())
    elif stop.requested:
        shown.print(found)
    else:
        raise TunerError(found)
    raise typer.Exit(INTERRUPTED if stop.requested else 0)
