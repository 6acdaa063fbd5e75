"""`hpltune blas`: the fair comparison of BLAS libraries."""

from dataclasses import replace
from typing import Annotated

import typer

from ..asks.blas import BlasAsk
from ..asks.field import OUTPUT, keys_here
from ..asks.shared import USUAL_QUIET
from .common import Db, Json, complete_study, given
from .server import asked_server
from .terminal import INTERRUPTED, show_report, watched

WITH_RESUME = frozenset({"study", "resume", "db", "as_json"})
"""What may be given beside --resume: a comparison has options of its own; here also how long it waits."""


def blas(
    context: typer.Context,
    ask: BlasAsk,
    study: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=complete_study, rich_help_panel=OUTPUT, help="Name of the study."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            rich_help_panel=OUTPUT,
            help="Continue a comparison that was stopped, or show one that is complete.",
        ),
    ] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Compare the BLAS libraries of this machine, each at its own best NB, kernel, layout and threads.

    A program with a BLAS inside, as one of a vendor, is compared as a library is: name it with --program NAME=FILE.

    Each library gets the same time for a search of its own, all at the same N. Then the best configuration of each
    runs once a round, in an order drawn anew each round, until the order is known with 95 % or the budget ends. Only
    the rounds decide: a lucky run of a search does not count, and a machine that slows down slows all libraries alike.
    Two libraries that are alike are a tie; a longer --budget shows smaller differences.

    Ctrl-C stops after the running trial, and `--resume` continues.

    Examples:

        hpltune blas

        hpltune blas --budget 1h

        hpltune blas --blas openblas --blas mine=/opt/blis/lib/libblis.so

        hpltune blas --program amd-zen=/opt/amd-zen-hpl/xhpl

        hpltune blas --full --trials 8

        hpltune blas --set N=8000 --json

        hpltune blas --resume --study blas-1
    """
    from ..errors import UsageError

    there = asked_server(context, {"db"} | keys_here(BlasAsk))
    if resume:
        beside = WITH_RESUME | ({"wait_for_quiet"} if there is None else set())
        for refused in given(context, {entry.name or "" for entry in context.command.params} - beside):
            raise UsageError(f"{refused} cannot be given with --resume: the comparison has options of its own")
    if there is not None:
        from .served_ask import ask_there, resume_there

        if resume:
            resume_there(there, study, as_json=as_json)
        else:
            ask_there(there, "blas", ask, study, as_json=as_json)
        return
    from ..commands.campaigns.blas import blas as compare
    from ..commands.campaigns.reading import ThisMachine, blas_options
    from ..console import output

    asked = replace(ask, wait_for_quiet=USUAL_QUIET) if resume else ask
    options = replace(blas_options(asked, ThisMachine()), wait_for_quiet=ask.wait_for_quiet)
    console = output(stderr=as_json)
    with watched(console) as (listener, stop):
        result = compare(options, listener, stop, study, db, resume=resume)
    show_report(console, result.report(), as_json=as_json)
    raise typer.Exit(INTERRUPTED if result.on else 0)
