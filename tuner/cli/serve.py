"""`hpltune serve`: the service."""

from typing import Annotated

import typer

from .common import Db, remark, user_dirs


def serve(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Loopback address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8475,
    db: Db = None,
) -> None:
    """Serve a database on this machine over HTTP, until Ctrl-C or SIGTERM ends it.

    It shows campaigns in a browser, and programs read them below /api/v1. It starts none: that is what `tune` is for.

    Examples:

        hpltune serve

        hpltune serve --port 9000 --db lab.db
    """
    from ..service.server import Service
    from ..service.settings import ServiceSettings
    from .signals import stop_on_signals

    service = Service(ServiceSettings(user_dirs(), db, host, port))
    with stop_on_signals(lambda _: service.end()):
        remark(f"open {service.url} in a browser; Ctrl-C ends the service")
        service.run()
    remark("the service has ended")
