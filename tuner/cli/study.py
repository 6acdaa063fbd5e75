"""`hpltune study`: what can be done with stored studies."""

from typing import Annotated

import typer

from .common import Db, complete_study, console, open_store, places
from .plain_help import PlainCommand, PlainGroup

study = typer.Typer(
    cls=PlainGroup, no_args_is_help=True, rich_markup_mode="rich", help="Delete or rename a stored study."
)
Named = Annotated[str, typer.Argument(metavar="OLD", autocompletion=complete_study, help="The study.")]


@study.command(cls=PlainCommand)
def delete(
    names: Annotated[
        list[str], typer.Argument(metavar="STUDY...", autocompletion=complete_study, help="Studies to delete.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    db: Db = None,
) -> None:
    """Delete studies with all their trials and the folders of their runs: all of them or none.

    A study that somebody works on is not deleted.

    Examples:

        hpltune study delete default-1

        hpltune study delete default-1 default-2 --yes
    """
    from ..commands.study import delete_studies

    with open_store(db, create=False) as store:
        raise typer.Exit(delete_studies(console(), store, places(), names, assume_yes=yes))


@study.command(cls=PlainCommand)
def rename(old: Named, new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")], db: Db = None) -> None:
    """Give a study another name; the folders of its runs get it, too.

    Examples:

        hpltune study rename default-1 before-the-upgrade
    """
    from ..commands.study import rename_study

    with open_store(db, create=False) as store:
        rename_study(console(), store, places(), old, new)
