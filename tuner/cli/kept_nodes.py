"""`hpltune nodes list`, `show`, `compare` and `baseline`: checks that are kept."""

from typing import Annotated

import typer

from .common import LARGEST_INT, Db, Html, Json, console, open_store, remark
from .terminal import ReportFiles, show_and_write, show_report

MOST_LISTED = 30


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
    from ..reports.nodes.kept_list import kept_list_report

    with open_store(db, create=False) as store:
        report = kept_list_report(store.node_checks.lines(cluster, None if every else MOST_LISTED))
    show_report(console(), report, as_json=as_json)


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
    from ..commands.nodes.kept import show_check

    files = ReportFiles(html)
    files.require()
    with open_store(db, create=False) as store:
        shown = show_check(store, which)
    show_and_write(console(), shown.report(), files, as_json=as_json, page=shown.page() if html else None)


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
    from ..commands.nodes.kept import compare_checks

    with open_store(db, create=False) as store:
        compared = compare_checks(store, before, now)
    show_report(console(), compared.report(), as_json=as_json)
    raise typer.Exit(1 if compared.worse else 0)


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
