"""`hpltune spaces`: list, check and explain search spaces."""

from typing import Annotated

import typer

from .common import MOST_AT_ONCE, Json, complete_space, console


def spaces(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[SPACE]", autocompletion=complete_space, help="A shipped space or a TOML file; none lists all."
        ),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain", metavar="POINT", help='Say why a point is illegal, e.g. "NB=128,grid=2x1,layout=2x1".'
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=V[,V]", help="Override a parameter's values. Repeatable.")
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, max=MOST_AT_ONCE, help="Count for a machine with this many cores.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the search spaces, check one, or explain why a point is illegal.

    Examples:

        hpltune spaces

        hpltune spaces my-space.toml

        hpltune spaces default --explain "NB=128,grid=2x2,layout=2x1"
    """
    from ..commands.spaces import explain_point, list_spaces, show_space
    from ..errors import UsageError

    if name is None and (explain or set_):
        option = "--explain" if explain else "--set"
        raise UsageError(f"{option} is for one space: name it, for example hpltune spaces default {option} …")
    if name is None:
        list_spaces(console(), cores=cores, as_json=as_json)
    elif explain is not None:
        raise typer.Exit(explain_point(console(), name, explain, set_ or [], cores=cores, as_json=as_json))
    else:
        show_space(console(), name, set_ or [], cores=cores, as_json=as_json)
