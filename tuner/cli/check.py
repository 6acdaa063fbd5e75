"""`hpltune check`: is the machine slower than it was?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..asks.check import FAILABLE, CheckAsk, CheckVerdict
from .common import Db, Html, Json
from .server import asked_server
from .terminal import INTERRUPTED, ReportFiles, show_and_write, watched

CODES = {
    CheckVerdict.NOT_SLOWER: 0,
    CheckVerdict.FAILED: 1,
    CheckVerdict.SLOWER: 10,
    CheckVerdict.SLOWER_TODAY: 11,
    CheckVerdict.CANNOT_TELL: 12,
    CheckVerdict.STOPPED: INTERRUPTED,
}


def check(
    context: typer.Context,
    ask: CheckAsk,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the verdict as JUnit XML, for CI services.")
    ] = None,
    fail_on: Annotated[
        list[CheckVerdict] | None,
        typer.Option(
            "--fail-on",
            metavar="VERDICT",
            help="Of slower, slower-today and cannot-tell only this is a failure, for JUnit and by the exit code; "
            "may be repeated.",
        ),
    ] = None,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Measure the best configuration of a study again, and say whether the machine got slower and what else changed.

    It runs the study's best trial as it ran then, stores the runs as a new study, and gives the probability that the
    machine is slower by more than the tolerance. Slower is only what is more than two occasions of one machine differ:
    by 2 % as usual, until checks on other days tell it. What is surely slower now, but may be the occasion, is slower
    today; with --reference both are told apart. A baseline whose best configuration ran three times or more tells most:
    `tune` confirms its best, and `run --repeats 5` measures a file of yours.

    Exit codes: 0 the machine is not slower (probability below 5 %); 10 it is slower (above 95 %); 11 it is slower
    today; 12 the runs cannot tell; 1 a run failed, or one sentence on standard error says why nothing was measured; 2
    wrong usage; 130 stopped. In JUnit's file slower is a failure of the test, failed runs are an error, and the rest is
    skipped. --fail-on says what is a failure instead: what it does not name is skipped there, and ends with 0.

    Examples:

        hpltune check --baseline default-1

        hpltune check --baseline run-HPL-1 --runs 5 --tolerance 3

        hpltune check --baseline default-1 --reference stored-xhpl

        hpltune check --baseline default-1 --junit check.xml --fail-on slower --fail-on slower-today --json
    """
    from ..commands.campaigns.check import CheckRequest
    from ..commands.campaigns.check import check as measure
    from ..console import output

    failing = None if fail_on is None else tuple(fail_on)
    there = asked_server(context, {"db", "html", "junit", "fail_on"})
    if there is not None:
        from .served_ask import ask_there

        facts = ask_there(there, "check", ask, as_json=as_json)
        raise typer.Exit(_code(CheckVerdict(facts["verdict"]), failing))
    console, files = output(stderr=as_json), ReportFiles.required(html)
    with watched(console) as (listener, stop):
        result = measure(CheckRequest(ask, junit, failing, db), listener, stop)
    show_and_write(console, result.report(), files, as_json=as_json, page=result.page() if html else None)
    if result.failure is not None:
        raise result.failure
    raise typer.Exit(_code(result.verdict, failing))


def _code(verdict: CheckVerdict, failing: Sequence[CheckVerdict] | None) -> int:
    """Return the exit code; 0 of a verdict that is no failure by what the user said."""
    return 0 if failing is not None and verdict in FAILABLE and verdict not in failing else CODES[verdict]
