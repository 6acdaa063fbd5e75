"""`hpltune campaign-process`: the process of one campaign of the service."""

import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from .common import Db, remark
from .terminal import INTERRUPTED, watched


def campaign_process(
    name: Annotated[str, typer.Argument(metavar="CAMPAIGN", help="A campaign that was handed in.")],
    starter: Annotated[str, typer.Option("--starter", metavar="PROCESS", help="The process of the service.")],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Configuration of the service.")
    ] = None,
    db: Db = None,
) -> None:
    """Work on one campaign of the service to its end; `hpltune serve` starts this, people need not.

    Examples:

        hpltune campaign-process monday --starter 'host|boot|123|456'
    """
    from results.errors import DatabaseAwayError
    from results.store.lease import Lease
    from results.store.service.campaign_entry import QueueState

    from ..console import output
    from ..errors import OUR_ERRORS, UsageError
    from ..service.campaigns.offered import offered_by
    from ..service.campaigns.process import ProcessRequest, work_on
    from ..service.config import ServiceConfig, read_config

    lease = Lease.parse(starter)
    if lease is None:
        raise UsageError("--starter needs a process as `hpltune serve` writes it")
    try:
        read = ServiceConfig() if config is None else read_config(config)
        request = ProcessRequest(name, lease, db, offered_by(read), _signal_itself)
    except OUR_ERRORS:  # readers see this log: what stands in the file is the operator's
        remark("the configuration of the service cannot be used now: its operator learns why by starting a service")
        raise typer.Exit(os.EX_TEMPFAIL) from None
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is how Pause asks; a script may have ignored it
    try:
        with watched(output()) as (listener, stop):
            state = work_on(request, listener, stop)
    except DatabaseAwayError as error:
        remark(str(error))
        raise typer.Exit(os.EX_TEMPFAIL) from None
    raise typer.Exit(0 if state in {None, QueueState.DONE, QueueState.FAILED} else INTERRUPTED)


def _signal_itself(at_once: bool) -> None:
    """Do what Ctrl-C does, or at once what SIGTERM does."""
    os.kill(os.getpid(), signal.SIGTERM if at_once else signal.SIGINT)
