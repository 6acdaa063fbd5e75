"""`--server URL`: the same commands, asked of a service."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .common import given, remark

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from ..client.client import Client
    from ..client.server import Server

NAME, VARIABLE = "hpltune", "HPLTUNE_SERVER"
TAKEN = ("tune", "show", "best", "report", "export", "campaign", "blas", "check", "nodes check", "compare")
"""Commands that a service is asked for."""
ALL_TAKEN = f"{', '.join(TAKEN[:-1])} and {TAKEN[-1]}"
HERE_ONLY = {
    "study": "a service deletes and renames nothing: do that on its machine",
    "token": "a service makes no tokens: do that on its machine",
}
"""Commands that would change something here that a service has, too."""
Url = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar=VARIABLE,
        help=f"Ask a service instead of this machine: {ALL_TAKEN}.",
    ),
]


@dataclass(frozen=True)
class Asked:
    """The service that a command line asks.

    Attributes:
        words: with which another command asks it.
    """

    server: "Server"
    words: str


def choose_server(context: typer.Context, url: str | None) -> None:
    """Note which service is asked; commands that have no use for one say that they work here, or refuse.

    Raises:
        UsageError: such a command is asked of a service.
    """
    command, on_line = context.invoked_subcommand, bool(given(context, {"server"}))
    if url is None or command is None:
        return
    if command in {taken.partition(" ")[0] for taken in TAKEN}:
        context.obj = (url, f"{NAME} --server {shlex.quote(url)}" if on_line else NAME)
    else:
        _work_here(command, asked=on_line)


def choose_server_of_group(context: typer.Context) -> None:
    """The same for a group, of which not all commands are asked of a service.

    Raises:
        UsageError: such a command is asked of a service.
    """
    root, command = context.find_root(), f"{context.info_name} {context.invoked_subcommand}"
    if command in TAKEN or not isinstance(root.obj, tuple):
        return
    root.obj, words = None, root.obj[1]
    _work_here(command, asked=words != NAME)


def _work_here(command: str, *, asked: bool) -> None:
    """Say that a command works on this machine.

    Args:
        asked: the command line names a service.

    Raises:
        UsageError: it does, or the command would change what a service has, too.
    """
    from ..errors import UsageError

    harmless = command not in HERE_ONLY or not {"--help", "trust"}.isdisjoint(sys.argv)
    if harmless and not asked:
        remark(f"{command} works on this machine: {VARIABLE} is for {ALL_TAKEN}")
        return
    why = HERE_ONLY.get(command, f"a service is asked for {ALL_TAKEN}")
    named, here = ("--server", "") if asked else (VARIABLE, f", or unset {VARIABLE} to do it here")
    raise UsageError(f"{named} is not for {command}: {why}{here}")


def asked_server(context: typer.Context, not_there: "AbstractSet[str]" = frozenset()) -> Asked | None:
    """The service that a command line asks; None for this machine.

    Args:
        not_there: parameters of the command that make no sense for a service.

    Raises:
        UsageError: one of these is given, or the address or the token cannot be used.
    """
    chosen = context.find_root().obj
    if not isinstance(chosen, tuple):
        return None
    from ..client.server import Server
    from ..errors import UsageError

    url, words = chosen
    for option in given(context, not_there):
        raise UsageError(f"{option} is for this machine, and --server (or {VARIABLE}) asks another: leave one out")
    server = Server.at(url)
    if server.open_to_readers:
        remark("others in the network may read the token on its way: ask for an address with https://")
    return Asked(server, words)


def needed_server(context: typer.Context) -> Asked:
    """The service that a command line asks, where it must ask one.

    Raises:
        UsageError: it asks none.
    """
    from ..client.server import EXAMPLE
    from ..errors import UsageError

    asked = asked_server(context)
    if asked is None:
        raise UsageError(f"say which service: hpltune --server {EXAMPLE} campaign …, or set {VARIABLE}")
    return asked


@contextmanager
def opened(asked: Asked) -> "Iterator[Client]":
    """Ask a service while the block runs; what it refuses is told in the words of the command line.

    Raises:
        UsageError: it refuses an option.
    """
    from ..client.client import Client
    from ..client.problems import LISTS_ALL, SHOW_LISTS, RefusedDocumentError
    from ..errors import UsageError

    with Client(asked.server.url, asked.server.token) as client:
        try:
            yield client
        except RefusedDocumentError as error:
            told = "; ".join(f"{option_of(path)}: {sentence}" for path, sentence in error.errors)
            raise UsageError(told.replace(LISTS_ALL, SHOW_LISTS)) from error


def option_of(path: str) -> str:
    """The option that stands for a place in a document: `--set NB` for set.NB."""
    from ..asks.registry import field_of
    from ..words import option

    head, _, rest = path.partition(".")
    if head in {"document", "query"}:
        return rest or head
    return f"{option(field_of(head))} {rest}".strip()
