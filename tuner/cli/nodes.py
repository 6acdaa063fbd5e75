"""`hpltune nodes`: whether the nodes of a cluster are ready."""

from contextlib import nullcontext
from typing import Annotated

import typer

from .common import LARGEST_SEED, Db, Html, Json, RealClusterFile, given, open_store
from .kept_nodes import baseline, compare, list_, show
from .plain_help import PlainCommand, PlainGroup
from .terminal import INTERRUPTED, ReportFiles, show_and_write, watched

nodes = typer.Typer(
    cls=PlainGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Tell whether the nodes of a cluster are ready.",
)


@nodes.command(cls=PlainCommand)
def check(
    context: typer.Context,
    cluster: RealClusterFile = None,
    facts: Annotated[bool, typer.Option("--facts", help="Ask nodes for their facts only; measure nothing.")] = False,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=100, help="Runs of each benchmark; the best of each node counts.")
    ] = 3,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            metavar="NAME",
            help="Only this one: stream, dgemm, hpcc, hpl, pairs, groups. Repeatable.",
        ),
    ] = None,
    soak: Annotated[
        str | None,
        typer.Option("--soak", metavar="TIME", help="Run HPL again and again for this time, as 30m or 2h."),
    ] = None,
    blas: Annotated[str | None, typer.Option("--blas", metavar="NAME", help="Use this BLAS library.")] = None,
    virtual: Annotated[
        int | None, typer.Option("--virtual", min=1, max=4096, metavar="NODES", help="Judge a virtual cluster instead.")
    ] = None,
    per_switch: Annotated[
        int, typer.Option("--per-switch", min=1, max=4096, help="Nodes at each switch of a virtual cluster.")
    ] = 16,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="KIND:NODE[:PERCENT]", help="Plant a fault in a virtual cluster. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of a virtual cluster, or of groups.")] = 0,
    groups: Annotated[
        int | None,
        typer.Option(
            "--groups",
            min=2,
            max=4096,
            metavar="NODES",
            help="Run HPL on groups of so many nodes.",
        ),
    ] = None,
    keep: Annotated[
        bool | None, typer.Option("--keep/--no-keep", help="Keep the check; by default unless the cluster is virtual.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="CHECK",
            help="Compare with an earlier check: its number, a day, first, last, or default (see nodes baseline).",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print nothing where all is well, else only what is wrong.")
    ] = False,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Say whether all nodes are alike, compute rightly and are equally fast, and which are not.

    It asks all nodes at once for their facts, copies a small program to them, and times memory (STREAM) and processor
    (DGEMM) and runs HPL on all of them at the same time, each result checked. Then pairs of nodes send messages over
    TCP, one pair at a time and all at once. Nodes need ssh or Slurm, no shared file system, no MPI and no software of
    ours. Of Slurm all nodes of the partition that can run jobs are held meanwhile. Without --cluster it looks at this
    machine alone.

    --soak runs HPL on all nodes again and again, and tells which nodes get slower, with their clock and temperature.
    Ctrl-C ends what runs on the nodes; what was measured until then is reported.

    --groups runs HPL on sets of nodes, too, sorted (neighbours) and shuffled, and tells which node is common to the
    failed or slow runs. Real nodes need the same MPI for it, and the folders of hpltune or copies of its programs.

    A check is kept, and `hpltune nodes show` shows it again. With --baseline it is compared with an earlier one of the
    same cluster: what is clearly slower than it was, and what else changed, is named and counts for the exit code.

    On a virtual cluster nothing is measured: it shows what the check finds, and with which words. The kinds of faults
    are slow-node, flaky-node, half-memory, weak-cable, wrong-mtu, throttled-class (of several nodes), and
    weak-uplink and oversubscribed (of a switch: s01, s02 …).

    Exit codes: 0 the nodes are ready and alike, and no slower than in the baseline; 1 something is not, or one sentence
    on standard error says why nothing was measured; 2 wrong usage; 130 stopped.

    Examples:

        hpltune nodes check

        hpltune nodes check --cluster my-cluster.toml --html nodes.html

        hpltune nodes check --cluster my-cluster.toml --facts --json

        hpltune nodes check --cluster my-cluster.toml --benchmark stream --repeats 10

        hpltune nodes check --cluster my-cluster.toml --baseline default --quiet

        hpltune nodes check --cluster my-cluster.toml --soak 2h --html nodes.html

        hpltune nodes check --cluster my-cluster.toml --benchmark groups --groups 8

        hpltune nodes check --virtual 64 --fault slow-node:node007:6

        hpltune nodes check --virtual 484 --per-switch 14 --fault weak-uplink:s02:25 --html nodes.html

        hpltune nodes check --virtual 484 --groups 8 --fault flaky-node:node483
    """
    from ..commands.nodes.check import (
        NodesCheckRequest,
        VirtualClusterAsked,
        check_nodes,
        check_virtual,
        cluster_name,
    )
    from ..commands.nodes.keeping import KeepRequest, keep_check
    from ..console.progress import output
    from ..errors import UsageError
    from ..nodes.planted import virtual_name
    from ..units import parse_duration_s

    files = ReportFiles(html)
    files.require()
    out = output(stderr=as_json)
    out.quiet = quiet
    opened = open_store(db, create=True) if keep or baseline or (virtual is None and keep is None) else nullcontext()
    with watched(out, ends_at_once=True) as (listener, stop), opened as store:
        if virtual is None:
            for refused in given(context, {"per_switch", "fault", *({"seed"} if groups is None else set())}):
                raise UsageError(f"{refused} is for virtual clusters: add --virtual NODES, or leave it out")
            if facts and soak:
                raise UsageError("--facts measures nothing, and --soak measures long: leave one out")
            if facts and groups:
                raise UsageError("--facts measures nothing, and --groups runs HPL: leave one out")
            soak_s = parse_duration_s(soak, "--soak") if soak else None
            request = NodesCheckRequest(cluster, repeats, facts, blas, tuple(benchmark or ()), soak_s, groups, seed)
            kept = KeepRequest(cluster_name(cluster), keep is not False, baseline)
            done = keep_check(lambda told: check_nodes(request, told, stop), kept, store, listener)
        else:
            for refused in given(context, {"cluster", "facts", "repeats", "benchmark", "soak", "blas"}):
                raise UsageError(f"{refused} is for real nodes: leave it out, or leave --virtual out")
            asked = VirtualClusterAsked(virtual, per_switch, tuple(fault or ()), seed, groups)
            kept = KeepRequest(virtual_name(virtual), keep is True, baseline, virtual=True)
            done = keep_check(lambda _: check_virtual(asked), kept, store, listener)
    out.quiet = False
    report, page = done.brief() if quiet else done.report(), done.result.page() if html else None
    show_and_write(out, report, files, as_json=as_json, page=page)
    if done.result.interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if done.sound else 1)


nodes.command("list", cls=PlainCommand)(list_)
nodes.command(cls=PlainCommand)(show)
nodes.command(cls=PlainCommand)(compare)
nodes.command(cls=PlainCommand)(baseline)
