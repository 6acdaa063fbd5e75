"""`hpltune clean`: remove what setup and builds left."""

from typing import Annotated

import typer

from .common import console, require_agreement, user_dirs
from .terminal import show_report


def clean(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs: Annotated[
        bool, typer.Option("--runs", help="Also the folders of runs; their output stays in the database.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove what setup and builds left: programs, HPL's source, probes, the private prefix, and copies on nodes.

    The database, the winners' files and system packages stay. Nothing is removed while hpltune runs anything.

    Examples:

        hpltune clean --dry-run

        hpltune clean --yes --runs
    """
    from ..commands.hosts import clean as command

    out = console()
    planned = command.plan_clean(user_dirs(), runs=runs)
    show_report(out, planned.report(), as_json=False)
    require_agreement(out, "Remove these?", "Nothing was removed.", yes=yes or dry_run or planned.empty)
    show_report(out, command.clean(planned, dry_run=dry_run), as_json=False)
