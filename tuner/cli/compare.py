"""`hpltune compare`: studies, or the values of one parameter, against each other."""

import math
from typing import Annotated

import typer

from .common import Db, Html, Json, complete_study, console, open_store
from .terminal import ReportFiles, show_and_write


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
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Compare studies, or the values of one parameter, each at its own best configuration.

    For each pair it tells the difference with a 95 % confidence interval, whether a test shows that it is not chance,
    and otherwise how many more runs would show a difference. Two studies are two occasions, whose difference is in the
    interval: 2 % as usual, or what earlier checks tell. It warns where machines, N or simulation differ.

    Examples:

        hpltune compare before after --html compared.html

        hpltune compare default-1 --by blas

        hpltune compare default-1 /mnt/other/hpltune.db#default-1

        hpltune compare run-HPL-1 --by date

        hpltune compare default-1 --by NB --difference 0.5% --json
    """
    from ..commands.stored.compare import CompareRequest
    from ..commands.stored.compare import compare as compare_studies

    request = CompareRequest(tuple(studies or ()), by, parse_percent(difference))
    files = ReportFiles(html)
    files.require()
    with open_store(db, create=False) as store:
        found = compare_studies(store, request)
    show_and_write(console(), found.report(), files, as_json=as_json, page=found.page())


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
