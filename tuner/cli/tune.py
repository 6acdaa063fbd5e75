"""`hpltune tune`: the main job."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..asks.field import CLUSTER, OUTPUT, fields_of, keys_here
from ..asks.shared import USUAL_QUIET
from ..asks.tune import TuneAsk
from .common import Db, Json, complete_study, given
from .server import asked_server
from .terminal import INTERRUPTED, show_report, watched

if TYPE_CHECKING:
    from rich.console import Console

    from ..commands.campaigns.tune import TuneResult

HERE = frozenset({"db", "join", "out", "verbose"})
"""Options beside those of an ask that make no sense for a service."""


def tune(
    context: typer.Context,
    ask: TuneAsk,
    study: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=complete_study, rich_help_panel=OUTPUT, help="Name of the study."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            rich_help_panel=OUTPUT,
            help="Continue a study that was stopped or killed, with its own options; limits given now replace its own.",
        ),
    ] = False,
    join: Annotated[
        str | None,
        typer.Option(
            metavar="STUDY",
            autocompletion=complete_study,
            rich_help_panel=CLUSTER,
            help="Help a study that runs on other nodes.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", rich_help_panel=OUTPUT, help="Folder for the HPL.dat and the command line of the best."
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            rich_help_panel=OUTPUT,
            help="Show on a terminal all that a log has: details, cautions at once, HPL's own codes of trials.",
        ),
    ] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Find the fastest configuration of HPL on this machine and write its HPL.dat.

    Without options it searches the default space for about five minutes. It chooses N so that one run takes a small
    part of the budget, and also writes an HPL.dat for the whole memory.

    Ctrl-C stops after the running trial, or at once while the study waits for nodes; a second Ctrl-C always stops at
    once. `--resume` continues a study that was stopped. A completed study continues if you give a larger --budget,
    --trials or --run-time; what it has spent already counts.

    Examples:

        hpltune tune

        hpltune tune --budget 1h --space full --price 2490

        hpltune tune --cluster my-cluster.toml --budget 1h

        hpltune tune --engine grid --space grid-classic --set NB=128,192

        hpltune tune --blas openblas --blas mine=/opt/blis/lib/libblis.so

        hpltune tune --resume

        hpltune tune --resume --study default-1 --budget 1h

        hpltune tune --cluster other-half.toml --join default-1

        hpltune tune --cluster kronos --space kronos --trials 40

        hpltune tune --cluster kronos --objective usd-per-gflops --budget 0.1usd

        hpltune tune --cluster kronos --set layout=8x1,4x1 --pareto usd-per-gflops

        hpltune tune --replay old-study.csv --engine bayes --trials 40

        hpltune tune --warm-start default-1 --warm-start old/HPL.out

        hpltune tune --cluster my-cluster.toml --parallel 4

        hpltune tune --cluster my-cluster.toml --nodes-check drop
    """
    there = asked_server(context, HERE | keys_here(TuneAsk))
    if there is not None:
        from .served_ask import ask_there, resume_there

        if resume:
            _check_beside(context, "resume", "a campaign of a service keeps them", frozenset())
            resume_there(there, study, as_json=as_json)
        else:
            ask_there(there, "tune", ask, study, as_json=as_json)
        return
    from ..commands.campaigns.reading import ThisMachine, run_time_s, tune_options
    from ..commands.campaigns.tune import BudgetExtension, TuneRequest
    from ..commands.campaigns.tune import tune as search
    from ..console import output

    if resume:
        _check_beside(context, "resume", "only its limits and --wait-for-quiet may be given anew", _beside("resume"))
    if join:
        _check_beside(
            context, "join", "only --cluster, --parallel and --wait-for-quiet are of this helper", _beside("join")
        )
    more = BudgetExtension(ask.budget, ask.trials, run_time_s(ask))
    if ask.replay is not None and not given(context, {"space"}):
        ask = replace(ask, space=str(ask.replay.expanduser().absolute()))
    waits = ask.wait_for_quiet
    if resume or join:  # what is asked now is held against the study's own budget
        ask = replace(ask, budget=None, trials=None, run_time=None, wait_for_quiet=USUAL_QUIET)
    options = replace(tune_options(ask, ThisMachine()), wait_for_quiet=waits)
    console = output(stderr=as_json)
    with watched(console, verbose=verbose) as (listener, stop):
        result = search(TuneRequest(options, study, resume, out, db, join, more), listener, stop)
    _show(result, console, as_json=as_json)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)


def _show(result: "TuneResult", console: "Console", *, as_json: bool) -> None:
    """Print what a study found, also where its files could not be written, and how it ended.

    Raises:
        TunerError, OSError: the files could not be written.
    """
    from results.report.terminal import say

    if result.summary is not None and (as_json or not result.nothing_to_do):
        show_report(console, result.report(), as_json=as_json)
    if result.failure is not None:
        raise result.failure
    for notice in result.notices:
        say(console, notice.text)


def _beside(option: str) -> frozenset[str]:
    """What may be given beside an option that names another study."""
    return HERE.union(field.key for field in fields_of(TuneAsk) if option in field.said.beside)


def _check_beside(context: typer.Context, option: str, but: str, beside: frozenset[str]) -> None:
    """Refuse what would be ignored.

    Raises:
        TunerError: it names the first such option.
    """
    from ..errors import UsageError

    others = {parameter.name or "" for parameter in context.command.params} - beside
    for refused in given(context, others - {"study", "resume", "join", "as_json", "verbose"}):
        raise UsageError(
            f"{refused} cannot be given with --{option}: the study has options of its own, {but}; "
            f"leave --{option} out for a new study"
        )
