"""`hpltune explain`: what a study learnt."""

from itertools import permutations
from typing import Annotated

import typer

from .common import Db, Html, Json, Newest, console, open_store
from .terminal import ReportFiles, show_and_write


def complete_pair(context: typer.Context, incomplete: str) -> list[str]:
    """Two parameters of the study, for tab completion; silent where there is none."""
    try:
        from ..explain.stored_space import searched, stored_space

        with open_store(context.params.get("db"), create=False) as store:
            names = stored_space(*searched(store, context.params.get("study"))).varying
    except Exception:  # noqa: BLE001 - completion must never print an error into the user's line
        return []
    return [pair for pair in map(",".join, permutations(names, 2)) if pair.startswith(incomplete)]


def explain(
    study: Newest = None,
    pair: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            autocompletion=complete_pair,
            help="Show the rate of all combinations of two parameters, and the best value of each by the other.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Tell all of it, not only what matters most.")] = False,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show which parameters matter, which depend on each other, and what one-at-a-time tuning would have missed.

    Examples:

        hpltune explain

        hpltune explain default-1 --pair NB,grid

        hpltune explain default-1 --json
    """
    from ..commands.stored.explain import explain_study

    files = ReportFiles.required(html)
    with open_store(db, create=False) as store:
        found = explain_study(store, study, pair, whole=everything)
    show_and_write(console(), found.report(), files, as_json=as_json, page=found.page() if html else None)
