"""Options that several commands share, and the few lines that open and complete what they name."""

import sys
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..asks.field import OUTPUT
from ..errors import TunerError

if TYPE_CHECKING:
    from rich.console import Console

    from results.store.store import Store

    from ..user_dirs import UserDirs


def require_agreement(out: "Console", question: str, otherwise: str, *, yes: bool) -> None:
    """Ask the user, unless that is agreed already, and end the command where the answer is another than yes.

    Args:
        otherwise: the sentence that is printed then.

    Raises:
        TunerError: nobody sits at a terminal.
        typer.Exit: the user does not agree.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise TunerError("nobody can be asked here: add --yes")
    if input(f"{question} [y/N] ").strip().lower() not in {"y", "yes"}:
        out.print(otherwise)
        raise typer.Exit(1)


LARGEST_INT = 2**31 - 1
"""Of HPL's own numbers, and of what databases count with."""

COMPLETION_S = 2.0
"""Seconds for which somebody who pressed the tab key waits."""


def complete_study(context: typer.Context, incomplete: str) -> list[str]:
    """Names of stored studies, or of the campaigns of a service, for tab completion; silent where there are none."""
    try:
        served = served_names(context, incomplete)
        if served is not None:
            return served
        with open_store(None, create=False) as store:
            return [study.name for study in store.studies() if study.name.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - completion must never print an error into the user's line
        return []


def named_trial(study: str | None, trial: int | None) -> tuple[str | None, int | None]:
    """The study and the trial that a command names, as STUDY#TRIAL too."""
    name, mark, number = (study or "").rpartition("#")
    return (name, int(number)) if trial is None and mark and number.isdecimal() else (study, trial)


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


def complete_space(incomplete: str) -> list[str]:
    """Names of shipped spaces, for tab completion."""
    from search_spaces.load import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


def complete_engine(incomplete: str) -> list[str]:
    """Names of engines, for tab completion."""
    from ..engines.registry import descriptions

    return [name for name in descriptions() if name.startswith(incomplete)]


def complete_cluster(incomplete: str) -> list[str]:
    """Names of shipped virtual clusters, for tab completion."""
    from runners.virtual.load import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


def complete_published(incomplete: str) -> list[str]:
    """Names of published tunings, for tab completion."""
    from ..simulation.reproduction import names

    return [name for name in names() if name.startswith(incomplete)]


Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        rich_help_panel=OUTPUT,
        metavar="FILE|URL",
        help="Database: a file, or postgresql://user@host:port/name. Default: hpltune.db in hpltune's data folder.",
    ),
]


def served_names(context: typer.Context, incomplete: str) -> list[str] | None:
    """Names of campaigns of the service that is asked, for tab completion; None where none is.

    Raises:
        TunerError: it does not answer.
    """
    url = context.find_root().params.get("server")
    if not url:
        return None
    from ..client.connection import Connection
    from ..client.server import Server
    from ..messages.addresses import CAMPAIGNS, QUEUE
    from ..messages.campaigns import CampaignPage
    from ..messages.queue import QueueModel

    connection = Connection(Server.at(url), COMPLETION_S)
    begun = connection.get(CAMPAIGNS, CampaignPage, name=incomplete or None, limit=200).campaigns
    queue = connection.get(QUEUE, QueueModel)
    connection.close()
    names = [*(one.name for one in begun), *(entry.name for entry in queue.all())]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


Newest = Annotated[
    str | None,
    typer.Argument(metavar="[STUDY]", autocompletion=complete_study, help="A study; without it the newest one."),
]
StudyName = Annotated[
    str | None, typer.Option("--study", autocompletion=complete_study, hidden=True, help="STUDY, as `tune` names it.")
]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the report as a page too, with figures, that needs no network."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an HPL.dat that is there already.")]
Json = Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON for scripts.")]


def user_dirs() -> "UserDirs":
    """Where hpltune keeps its things for this user."""
    from ..user_dirs import UserDirs

    return UserDirs.of_user()


def open_store(db: str | None, *, create: bool) -> "Store":
    """Open the store at `db`, or the user's own; without `create` one that can only be read is enough."""
    from .. import database
    from ..user_dirs import UserDirs

    folders = UserDirs.of_user(to_read=not create)
    return database.open_store(db, folders, create=create, on_new_folder=remark)


def remark(sentence: str, *, failed: bool = False) -> None:
    """Say something on standard error, in red where it is why a command failed."""
    from .. import console

    console.remark(sentence, failed=failed)


def console(*, stderr: bool = False) -> "Console":
    """Standard output for people, or standard error, beside a result that a script reads."""
    from ..console import output

    return output(stderr=stderr)


def given(context: typer.Context, names: AbstractSet[str]) -> list[str]:
    """Those of some options that the command line gives, as they are written there."""
    found = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            found.append(parameter.opts[0])
    return found
