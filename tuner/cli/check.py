"""`hpltune check`: is the machine slower than it was?"""

from pathlib import Path
from typing import Annotated

import typer

from ..asks.check import CheckAsk
from .common import Db, Html, Json
from .server import asked_server
from .terminal import INTERRUPTED, ReportFiles, show_and_write, watched


def check(
    context: typer.Context,
    ask: CheckAsk,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the verdict as JUnit XML, for CI services.")
    ] = None,
    html: Html = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Measure the best configuration of a study again, and say whether the machine got slower and what else changed.

    It runs the study's best trial as it ran then, stores the runs as a new study, and gives the probability that the
    machine is slower by more than the tolerance. Slower is only what is more than two occasions of one machine differ:
    by 2 % as usual, until checks on other days tell it. A baseline whose best configuration ran three times or more
    tells most: `tune` confirms its best, and `run --repeats 5` measures a file of yours.

    Exit codes: 0 the machine is not slower (probability below 5 %); 1 it is slower (above 95 %), or a run failed, or
    one sentence on standard error says why nothing was measured; 2 the runs cannot tell, or wrong usage; 130 stopped.
    The verdict of --json and --junit tells them apart: slower is a failure of the test, failed runs are an error, and
    a test that cannot tell is skipped. With wrong usage there is no JSON.

    Examples:

        hpltune check --baseline default-1

        hpltune check --baseline run-HPL-1 --runs 5 --tolerance 3

        hpltune check --baseline default-1 --junit check.xml --json
    """
    from ..commands.campaigns.check import CheckRequest, CheckVerdict
    from ..commands.campaigns.check import check as measure
    from ..console import output

    codes = {
        CheckVerdict.NOT_SLOWER: 0,
        CheckVerdict.SLOWER: 1,
        CheckVerdict.FAILED: 1,
        CheckVerdict.CANNOT_TELL: 2,
        CheckVerdict.STOPPED: INTERRUPTED,
    }
    there = asked_server(context, {"db", "html", "junit"})
    if there is not None:
        from .served_ask import ask_there

        facts = ask_there(there, "check", ask, as_json=as_json)
        raise typer.Exit(codes[CheckVerdict(facts["verdict"])])
    console, files = output(stderr=as_json), ReportFiles(html)
    files.require()
    with watched(console) as (listener, stop):
        result = measure(CheckRequest(ask, junit, db), listener, stop)
    show_and_write(console, result.report(), files, as_json=as_json, page=result.page())
    if result.failure is not None:
        raise result.failure
    raise typer.Exit(codes[result.verdict])
