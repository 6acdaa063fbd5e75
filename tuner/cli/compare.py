"""`hpltune compare`: studies, or the values of one parameter, against each other."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from .common import Db, Html, Json, complete_study, console, open_store
from .terminal import INTERRUPTED, ReportFiles, show_and_write, watched

if TYPE_CHECKING:
    from ..commands.stored.compare import CompareRequest

MOST_ROUNDS = 100
"""Rounds of which each tells something."""


def complete_parameter(context: typer.Context, incomplete: str) -> list[str]:
    """Parameters of the study with several values, for tab completion; silent where there is none."""
    try:
        from results.stats.ranking import rank, varying

        with open_store(context.params.get("db"), create=False) as store:
            names = context.params.get("studies")
            study = names[0] if names else store.newest().name
            return [name for name in varying(rank(store.records(study))) if name.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - completion must never print an error into the user's line
        return []


def compare(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY]...",
            autocompletion=complete_study,
            help="Two studies or more, DATABASE#STUDY from another database; with --by one, or none for the newest.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="PARAMETER",
            autocompletion=complete_parameter,
            help="Compare the values of this parameter within one study: blas, mpi, NB or any other; or `date`.",
        ),
    ] = None,
    difference: Annotated[
        str,
        typer.Option(
            metavar="PERCENT", help="Say how many more runs would show a difference of this size, such as 0.5%."
        ),
    ] = "1%",
    interleaved: Annotated[
        bool,
        typer.Option(
            "--interleaved",
            help="Run the best of the studies in turn now, on this machine, and compare these runs: one occasion.",
        ),
    ] = False,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_ROUNDS, help="With --interleaved: how often each side is run. Default: 6."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="With --interleaved: no further round begins that does not fit, as 30m."),
    ] = None,
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
    from ..commands.stored.compare import CompareRequest
    from ..commands.stored.compare import compare as compare_studies
    from ..errors import UsageError

    request = CompareRequest(tuple(studies or ()), by, parse_percent(difference))
    files = ReportFiles(html)
    files.require()
    if interleaved:
        _in_turn(request, rounds, budget, db, files, as_json=as_json)
        return
    for option, value in (("--rounds", rounds), ("--budget", budget)):
        if value is not None:
            raise UsageError(f"{option} is for --interleaved: without it compare runs nothing")
    with open_store(db, create=False) as store:
        found = compare_studies(store, request)
    show_and_write(console(), found.report(), files, as_json=as_json, page=found.page())


def _in_turn(
    request: "CompareRequest",
    rounds: int | None,
    budget: str | None,
    db: str | None,
    files: ReportFiles,
    *,
    as_json: bool,
) -> None:
    """Run the sides in turn, and show what that tells."""
    from ..commands.campaigns.in_turn import ROUNDS, InTurnRequest, compare_in_turn
    from ..console import output
    from ..errors import TunerError
    from ..units import parse_duration_s

    wall_s = parse_duration_s(budget, "budget") if budget else None
    asked, shown = InTurnRequest(request, rounds or ROUNDS, wall_s, db), output(stderr=as_json)
    with watched(shown) as (listener, stop):
        result = compare_in_turn(asked, listener, stop)
    if result.found is not None:
        show_and_write(shown, result.found.report(), files, as_json=as_json, page=result.found.page())
    elif result.interrupted:
        shown.print(result.told)
    else:
        raise TunerError(result.told)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)


def parse_percent(text: str) -> float:
    """A percentage that the user wrote, with or without its sign: "1%", "0.5 %", "2".

    Raises:
        UsageError: it is none, or not above 0 and at most 100.
    """
    from ..errors import UsageError

    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not 0 < percent <= 100:
        raise UsageError(f"--difference {text}: write a percentage above 0 and at most 100, such as 1%")
    return percent
