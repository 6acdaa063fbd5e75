"""`hpltune clean`: remove what setup and builds left."""

from typing import Annotated

import typer

from .common import console, places


def clean(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs: Annotated[
        bool, typer.Option("--runs", help="Also the folders of runs; their output stays in the database.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove what setup and builds left: programs, HPL's source, probes and the private prefix.

    The database, the winners' files and system packages stay. Nothing is removed while hpltune runs anything.

    Examples:

        hpltune clean --dry-run

        hpltune clean --yes --runs
    """
    from ..provision.clean import run_clean

    raise typer.Exit(run_clean(places(), console(), assume_yes=yes, runs=runs, dry_run=dry_run))
