"""`hpltune spaces`: list, check and explain search spaces."""

import json
from typing import Annotated

import typer

from ..asks.field import MOST_AT_ONCE
from .common import Json, complete_space, console
from .terminal import show_report


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

        hpltune spaces default --explain "NB=128,grid=1x2"
    """
    from ..commands.spaces import explain_point, list_spaces, point_report, show_space
    from ..errors import UsageError

    if name is None and (explain or set_):
        option = "--explain" if explain else "--set"
        raise UsageError(f"{option} is for one space: name it, for example hpltune spaces default {option} …")
    if name is not None and explain is not None:
        why_not = explain_point(name, explain, cores, set_ or ())
        if as_json:
            print(json.dumps(point_report(why_not).facts))
        else:
            show_report(console(), point_report(why_not), as_json=False)
        raise typer.Exit(0 if why_not is None else 1)
    report = list_spaces(cores) if name is None else show_space(name, cores, set_ or ())
    show_report(console(), report, as_json=as_json)
