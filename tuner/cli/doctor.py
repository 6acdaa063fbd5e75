"""`hpltune doctor`: what was found on this machine and what is missing."""

from pathlib import Path
from typing import Annotated

import typer

from ..asks.shared import Rpeak
from .common import Json, console, user_dirs
from .terminal import show_report


def doctor(
    cluster: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The TOML file of a real cluster to look at.")
    ] = None,
    blas: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="Look at this library too: --blas mine=/opt/lib/libblas.so. Repeatable."
        ),
    ] = None,
    rpeak: Rpeak = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Show all that was looked at: libraries, programs, kernels, each check, and Rpeak."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether everything that `tune` needs is here, what could be better, and what could spoil runs.

    --all also shows Rpeak with its reasoning, which kernel each BLAS picks by itself, and all that is as it should be.

    With --cluster its nodes are asked instead, and what they are is filled into the node table of the file. A rank is
    started on each node, and BLAS kernels are timed on one node of each kind of CPU, unless Slurm chooses the nodes.

    Ends with 1 where something that `tune` needs is missing.

    Examples:

        hpltune doctor

        hpltune doctor --all

        hpltune doctor --json

        hpltune doctor --cluster my-cluster.toml
    """
    from ..errors import UsageError

    if cluster is not None:
        from ..commands.hosts.doctor_cluster import doctor_cluster

        if blas or rpeak:
            raise UsageError("--blas and --rpeak are of this machine: what nodes have stands in the cluster's file")
        examined = doctor_cluster(cluster, user_dirs())
        show_report(console(), examined.report(), as_json=as_json)
        raise typer.Exit(1 if examined.missing else 0)
    from ..commands.hosts import doctor as command
    from ..options import parse_blas

    names, files = parse_blas(blas or [])
    if len(names) > len(files):
        raise UsageError("doctor looks at every BLAS it knows: --blas NAME=FILE adds your own")
    result = command.doctor(user_dirs(), files, rpeak)
    show_report(console(), result.report(everything=everything), as_json=as_json)
    raise typer.Exit(1 if result.findings.missing else 0)
