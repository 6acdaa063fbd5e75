"""Names of campaigns of a service, for tab completion."""

import typer

COMPLETION_S = 2.0
"""Seconds for which somebody who pressed the tab key waits."""


def served_names(context: typer.Context, incomplete: str) -> list[str] | None:
    """Names of campaigns of the service that is asked, for tab completion; None where none is.

    Raises:
        TunerError: it does not answer.
    """
    url = context.find_root().params.get("server")
    if not url:
        return None
    from ..client.connection import Connection
    from ..client.server import Server
    from ..messages.addresses import CAMPAIGNS, QUEUE
    from ..messages.campaigns import CampaignPage
    from ..messages.queue import QueueModel

    connection = Connection(Server.at(url), COMPLETION_S)
    begun = connection.get(CAMPAIGNS, CampaignPage, name=incomplete or None, limit=200).campaigns
    queue = connection.get(QUEUE, QueueModel)
    connection.close()
    names = [*(one.name for one in begun), *(entry.name for entry in (*queue.running, *queue.queued, *queue.paused))]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]
