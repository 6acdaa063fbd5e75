"""`hpltune study`: what can be done with stored studies."""

from typing import Annotated

import typer

from .common import Db, Json, complete_study, console, open_store, require_agreement, user_dirs
from .plain_help import PlainCommand, PlainGroup
from .terminal import show_report

study = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode="rich",
    help="Delete, rename or trust a stored study; keep a note or tags with it.",
)
Named = Annotated[str, typer.Argument(metavar="STUDY", autocompletion=complete_study, help="The study.")]


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
    from ..commands.stored.study import delete_studies, plan_deletion

    out = console()
    with open_store(db, create=False) as store:
        planned = plan_deletion(store, user_dirs(), names)
        show_report(out, planned.report(), as_json=False)
        require_agreement(out, "Delete this for good?", "Nothing was deleted.", yes=yes)
        show_report(out, delete_studies(store, planned), as_json=False)


@study.command(cls=PlainCommand)
def trust(
    name: Named,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    db: Db = None,
) -> None:
    """Let a study of somebody else run its programs as you.

    A database that others can write may name programs, libraries, sources and ways to reach hosts that you have not
    named. This shows them first; without it, `--resume`, `--join`, `--like` and `check` refuse such a study.

    Examples:

        hpltune study trust default-1

        hpltune study trust default-1 --yes --db postgresql://tuner.example.org/hpl
    """
    from ..commands.stored.study import plan_trust, trust_study

    out = console()
    with open_store(db, create=False) as store:
        planned = plan_trust(store, user_dirs(), name)
        show_report(out, planned.report(), as_json=False)
        if not planned.programs:
            return
        require_agreement(out, "Let these run as you?", "Nothing was trusted.", yes=yes)
        show_report(out, trust_study(planned), as_json=False)


@study.command(cls=PlainCommand)
def rename(
    old: Annotated[str, typer.Argument(metavar="OLD", autocompletion=complete_study, help="The study.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    db: Db = None,
) -> None:
    """Give a study another name; the folders of its runs get it, too.

    Examples:

        hpltune study rename default-1 before-the-upgrade
    """
    from ..commands.stored.study import rename_study

    with open_store(db, create=False) as store:
        show_report(console(), rename_study(store, user_dirs(), old, new), as_json=False)


@study.command(cls=PlainCommand)
def note(
    name: Named,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="What to keep; without it, what is kept is shown.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the note away.")] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Keep a line of text with a study, which its page and `hpltune show STUDY` tell.

    Examples:

        hpltune study note default-1 "before the new switch"

        hpltune study note default-1 --remove
    """
    from ..commands.stored.study import note_study

    with open_store(db, create=False) as store:
        show_report(console(), note_study(store, name, "" if remove else text), as_json=as_json)


@study.command(cls=PlainCommand)
def tag(
    name: Named,
    tags: Annotated[
        list[str] | None, typer.Argument(metavar="[TAG...]", help="Words to add; without one its tags are shown.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take these tags away.")] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Give a study words by which it is found again: `hpltune show --tag TAG`, and the service's first page.

    Examples:

        hpltune study tag default-1 openblas new-switch

        hpltune study tag default-1 new-switch --remove
    """
    from ..commands.stored.study import note_study

    with open_store(db, create=False) as store:
        show_report(console(), note_study(store, name, tags=tags or (), remove=remove), as_json=as_json)
