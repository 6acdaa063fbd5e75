"""`hpltune nodes`: whether the nodes of a cluster are ready, and the checks of them that are kept."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from ..asks.field import keys_here
from ..asks.nodes import NodesAsk
from .ask_options import asking
from .common import LARGEST_INT, Db, Html, Json, console, open_store, remark
from .plain_help import PlainCommand, PlainGroup
from .server import asked_server, choose_server_of_group
from .terminal import INTERRUPTED, ReportFiles, show_and_write, show_report, watched

nodes = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode="rich",
    help="Tell whether the nodes of a cluster are ready.",
)

MOST_LISTED = 30


@nodes.callback()
def _group(context: typer.Context) -> None:
    choose_server_of_group(context)


def check(
    context: typer.Context,
    ask: NodesAsk,
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

    Ctrl-C ends what runs on the nodes; what was measured until then is reported.

    --groups runs HPL on sets of nodes, too, sorted (neighbours) and shuffled, and tells which node is common to the
    failed or slow runs. Real nodes need the same MPI for it, and the folders of hpltune or copies of its programs.

    A check is kept, and `hpltune nodes show` shows it again. With --baseline it is compared with an earlier one of the
    same cluster: what is clearly slower than it was, and what else changed, is named and counts for the exit code.

    Exit codes: 0 the nodes are ready and alike, and no slower than in the baseline; 1 something is not, or one sentence
    on standard error says why nothing was measured; 2 wrong usage; 130 stopped.

    Examples:

        hpltune nodes check

        hpltune nodes check --cluster my-cluster.toml --html nodes.html

        hpltune nodes check --cluster my-cluster.toml --facts --json

        hpltune nodes check --cluster my-cluster.toml --benchmark stream --repeats 10

        hpltune nodes check --cluster my-cluster.toml --baseline default --quiet

        hpltune nodes check --cluster my-cluster.toml --benchmark groups --groups 8
    """
    there = asked_server(context, {"db", "html", "quiet"} | keys_here(NodesAsk))
    if there is not None:
        from .served_ask import ask_there

        facts = ask_there(there, "nodes", ask, as_json=as_json)
        raise typer.Exit(0 if facts["ready"] and facts["alike"] else 1)
    from ..console import output
    from ..nodes.check import check_asked, check_nodes, cluster_name
    from ..nodes.keeping import KeepRequest, keep_check

    files = ReportFiles.required(html)
    check_asked(ask)
    out = output(stderr=as_json)
    out.quiet = quiet
    opened = open_store(db, create=True) if ask.keep or ask.baseline else nullcontext()
    with watched(out, ends_at_once=True) as (listener, stop), opened as store:
        cluster = None if ask.cluster is None else Path(ask.cluster)
        keep = KeepRequest(cluster_name(cluster), ask.keep, ask.baseline)
        done = keep_check(lambda told: check_nodes(ask, cluster, told, stop), keep, store, listener)
    out.quiet = False
    report, page = done.brief() if quiet else done.report(), done.result.page() if html else None
    show_and_write(out, report, files, as_json=as_json, page=page)
    if done.result.interrupted:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if done.sound else 1)


nodes.command(cls=PlainCommand)(asking(check))


def list_(
    cluster: Annotated[str | None, typer.Argument(metavar="[CLUSTER]", help="Only checks of this cluster.")] = None,
    every: Annotated[bool, typer.Option("--all", help=f"List all; without it the newest {MOST_LISTED}.")] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """List the checks of nodes that are kept, newest first, with their verdicts.

    Examples:

        hpltune nodes list

        hpltune nodes list my-cluster --all --json
    """
    from ..nodes.figures import kept_list_report

    with open_store(db, create=False) as store:
        report = kept_list_report(store.node_checks.lines(cluster, None if every else MOST_LISTED))
    show_report(console(), report, as_json=as_json)


nodes.command("list", cls=PlainCommand)(list_)


def show(
    which: Annotated[
        str | None, typer.Argument(metavar="[CHECK|CLUSTER]", help="A check's number, or a cluster's newest one.")
    ] = None,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show a check of nodes that is kept again, as it was judged then; without a name the newest one.

    The exit code is 0 whatever the verdict is; --json tells it.

    Examples:

        hpltune nodes show

        hpltune nodes show 12 --html nodes.html

        hpltune nodes show my-cluster --json
    """
    from ..nodes.keeping import show_check

    files = ReportFiles.required(html)
    with open_store(db, create=False) as store:
        shown = show_check(store, which)
    show_and_write(console(), shown.report(), files, as_json=as_json, page=shown.page() if html else None)


nodes.command(cls=PlainCommand)(show)


def compare(
    before: Annotated[int, typer.Argument(metavar="CHECK", min=1, max=LARGEST_INT, help="The earlier check.")],
    now: Annotated[int, typer.Argument(metavar="CHECK", min=1, max=LARGEST_INT, help="The later check.")],
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Compare two checks of a cluster: which nodes lost, in what, and what else changed.

    Exit codes: 0 nothing is worse; 1 something is, or one sentence on standard error says why nothing was compared;
    2 wrong usage.

    Examples:

        hpltune nodes compare 3 12
    """
    from ..nodes.keeping import compare_checks

    with open_store(db, create=False) as store:
        compared = compare_checks(store, before, now)
    show_report(console(), compared.report(), as_json=as_json)
    raise typer.Exit(1 if compared.worse else 0)


nodes.command(cls=PlainCommand)(compare)


def baseline(
    check: Annotated[int, typer.Argument(metavar="CHECK", min=1, max=LARGEST_INT, help="A check's number.")],
    db: Db = None,
) -> None:
    """Choose the check with which `nodes check --baseline default` compares later checks of the same cluster.

    Without such a choice it is the oldest complete check that found the nodes ready and alike.

    Examples:

        hpltune nodes baseline 12
    """
    with open_store(db, create=False) as store:
        line = store.node_checks.mark_baseline(check)
    remark(f"check {line.number} is the baseline of {line.cluster} now")


nodes.command(cls=PlainCommand)(baseline)
