"""`hpltune nodes`: whether the nodes of a cluster are ready."""

from typing import Annotated

import typer

from .common import LARGEST_SEED, Html, Json
from .plain_help import PlainCommand, PlainGroup
from .terminal import ReportFiles, show_and_write

nodes = typer.Typer(
    cls=PlainGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Tell whether the nodes of a cluster are ready.",
)


@nodes.command(cls=PlainCommand)
def check(
    virtual: Annotated[
        int,
        typer.Option("--virtual", min=1, max=4096, metavar="NODES", help="Check a virtual cluster of that size."),
    ],
    per_switch: Annotated[
        int, typer.Option("--per-switch", min=1, max=4096, help="Nodes at each switch of a virtual cluster.")
    ] = 16,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="KIND:NODE[:PERCENT]", help="Plant a fault in a virtual cluster. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of a virtual cluster.")] = 0,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Say whether all nodes are alike, compute rightly and are equally fast, and which are not.

    On a virtual cluster nothing is measured: it shows what the check finds, and with which words. The kinds of faults
    are slow-node, flaky-node, half-memory, weak-cable, weak-uplink (of a switch: s01, s02 …), wrong-mtu, and
    throttled-class (of several nodes).

    Exit codes: 0 the nodes are ready; 1 a node or a part of the network is not; 2 wrong usage.

    Examples:

        hpltune nodes check --virtual 64

        hpltune nodes check --virtual 64 --fault slow-node:node007:6

        hpltune nodes check --virtual 484 --per-switch 14 --fault weak-uplink:s02:25 --html nodes.html
    """
    from ..commands.nodes.check import VirtualClusterAsked, check_virtual
    from ..console.progress import output

    files = ReportFiles(html)
    files.require()
    result = check_virtual(VirtualClusterAsked(virtual, per_switch, tuple(fault or ()), seed))
    out = output(stderr=as_json)
    show_and_write(out, result.report(), files, as_json=as_json, page=result.page())
    raise typer.Exit(0 if result.verdict.ready else 1)
