"""`hpltune show`: what is in the database."""

from typing import Annotated

import typer

from .common import LARGEST_INT, Db, Json, complete_study, console, open_store


def show(
    study: Annotated[
        str | None,
        typer.Argument(metavar="[STUDY]", autocompletion=complete_study, help="A study; without it all are listed."),
    ] = None,
    trial: Annotated[
        int | None,
        typer.Argument(metavar="[TRIAL]", min=1, max=LARGEST_INT, help="A trial of the study, shown in full."),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Show only trials that failed or were cancelled, with the reason.")
    ] = False,
    output: Annotated[bool, typer.Option("--output", help="Print the output of HPL; needs a TRIAL.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List also the studies of `hpltune run` and `hpltune predict`.")
    ] = False,
    page: Annotated[int, typer.Option(min=1, max=LARGEST_INT, help="Number of the page; page 1 has the newest.")] = 1,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", min=1, max=LARGEST_INT, help="Rows of a page. Default: 20 studies or 100 trials."
        ),
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """List all studies, the trials of a study, or everything about one trial.

    Examples:

        hpltune show

        hpltune show default-1 --failed

        hpltune show default-1 --page 2

        hpltune show default-1 12 --output
    """
    from ..commands.show import Page, show_studies, show_trial, show_trials
    from ..errors import UsageError

    if output and trial is None:
        raise UsageError("--output is for one trial: name it, for example hpltune show default-1 12 --output")
    if failed and (study is None or trial is not None):
        raise UsageError("--failed is for the trials of a study: name it alone, for example hpltune show default-1")
    with open_store(db, create=False) as store:
        if study is None:
            show_studies(console(), store, as_json=as_json, page=Page(page, count), everything=everything)
        elif trial is None:
            show_trials(console(), store, study, failed=failed, as_json=as_json, page=Page(page, count))
        else:
            show_trial(console(), store, study, trial, output=output, as_json=as_json)
