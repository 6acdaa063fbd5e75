"""`hpltune show`: what is in the database."""

from pathlib import Path
from typing import Annotated

import typer

from .common import LARGEST_INT, Db, Json, complete_study, console, named_trial, open_store
from .server import asked_server
from .terminal import ReportFiles, print_output, show_and_write


def show(
    context: typer.Context,
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
        bool,
        typer.Option(
            "--all",
            help="List also the studies of `hpltune run`, `blas`, `predict` and `learn`; of a study, all columns.",
        ),
    ] = False,
    tag: Annotated[str | None, typer.Option(metavar="TAG", help="List only studies with this tag.")] = None,
    page: Annotated[int, typer.Option(min=1, max=LARGEST_INT, help="Number of the page; page 1 has the newest.")] = 1,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", min=1, max=LARGEST_INT, help="Rows of a page. Default: 20 studies or 100 trials."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the page of a TRIAL too: beside the best, what the machine did, HPL.dat, output.",
        ),
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """List all studies, the trials of a study, or everything about one trial.

    Examples:

        hpltune show

        hpltune show --tag new-switch

        hpltune show default-1 --failed

        hpltune show default-1 --page 2

        hpltune show default-1 12 --output

        hpltune show default-1 12 --html trial.html
    """
    from ..commands.stored.show import show_studies, show_trial, show_trials
    from ..errors import UsageError
    from ..reports.lists import Page

    study, trial = named_trial(study, trial)
    if output and trial is None:
        raise UsageError("--output is for one trial: name it, for example hpltune show default-1 12 --output")
    if html is not None and (trial is None or output):
        raise UsageError(
            "--html is for one trial, without --output: hpltune show default-1 12 --html trial.html. "
            "hpltune report writes the page of a study"
        )
    if tag is not None and study is not None:
        raise UsageError("--tag is for the list of studies: name no study with it")
    if failed and (study is None or trial is not None):
        raise UsageError("--failed is for the trials of a study: name it alone, for example hpltune show default-1")
    asked_there = asked_server(context, {"db", "html", "tag"})
    if asked_there is not None:
        from .served import show_there

        show_there(
            asked_there,
            study,
            trial,
            failed=failed,
            output=output,
            everything=everything,
            pages={"page": page, "count": count},
            as_json=as_json,
        )
        return
    files, trial_page = ReportFiles.required(html), None
    with open_store(db, create=False) as store:
        if study is None:
            shown = None if as_json else Page(page, count)
            report = show_studies(store, shown, everything=as_json or everything, tag=tag).report()
        elif trial is None:
            report = show_trials(store, study, failed=failed, page=Page(page, count), whole=everything)
        else:
            found = show_trial(store, study, trial, output=output)
            if output and not as_json:
                print_output(found.output)
                return
            report, trial_page = found.report(), found.page(store) if html is not None else None
        show_and_write(console(), report, files, as_json=as_json, page=trial_page)
