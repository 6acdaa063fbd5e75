"""`hpltune explain`: what a study learnt."""

from typing import Annotated

import typer

from .common import Db, Json, complete_study, console, open_store


def explain(
    study: Annotated[
        str | None,
        typer.Argument(metavar="[STUDY]", autocompletion=complete_study, help="A study; none takes the newest."),
    ] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Tell which parameters matter, which depend on each other, and what one-at-a-time tuning would have missed.

    Examples:

        hpltune explain

        hpltune explain default-1 --json
    """
    from ..explain_report import run_explain

    with open_store(db, create=False) as store:
        run_explain(console(), store, study, as_json=as_json)
