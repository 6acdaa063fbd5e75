"""`hpltune serve`: the service."""

import signal
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .common import Db, remark, user_dirs


class LogChoice(StrEnum):
    """How log lines are written."""

    PLAIN = "plain"
    JSON = "json"


def serve(
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one. Default: 8475.")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="TOML file with settings of the service.")] = None,
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Let tokens cross the network in plain text, without TLS.")
    ] = False,
    log: Annotated[
        LogChoice,
        typer.Option(metavar="plain|json", help="Log lines on standard error: plain tells of changes, json tells all."),
    ] = LogChoice.PLAIN,
    db: Db = None,
) -> None:
    """Serve a database over HTTP, until Ctrl-C or SIGTERM ends it.

    Only this machine reaches it, and asks no token, unless there is one: see `hpltune token`.

    It shows campaigns in a browser, and programs read them and hand in new ones below /api/v1. Each campaign runs in
    a process of its own, one on each machine at a time; the end of the service does not end them, and a service that
    is started again finds them.

    Examples:

        hpltune serve

        hpltune serve --port 9000 --db lab.db

        hpltune serve --config serve.toml --log json
    """
    from ..service.config import ServiceConfig, ServiceSettings, read_config
    from ..service.server import Service
    from .signals import stop_on_signals

    listening = (ServiceConfig() if config is None else read_config(config)).listening_at(host, port)
    settings = ServiceSettings(
        user_dirs(),
        db,
        listening,
        config,
        insecure_http=insecure_http,
        log="json" if log is LogChoice.JSON else "plain",
    )
    service = Service(settings)
    with stop_on_signals(lambda _: service.end()):
        signal.signal(signal.SIGHUP, lambda *_: service.reload())
        remark(f"open {service.url} in a browser; Ctrl-C ends the service")
        service.run()
    remark("the service has ended")
