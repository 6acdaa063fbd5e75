"""What `show` and `best` print of campaigns of a service, in the same form as of studies here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from results.report.model import Report

from ..messages.addresses import PRINTED, printed_address
from ..messages.printed import PrintedModel
from .connection import Connection


def printed_list(connection: Connection, **query: Any) -> Report:
    """The list of campaigns."""
    return connection.get(PRINTED, PrintedModel, **query).report()


def printed(connection: Connection, name: str, more: str = "", **query: Any) -> Report:
    """Something of a campaign.

    Args:
        more: "" for its trials, "/best", "/trials/7".
    """
    return connection.get(f"{printed_address(name)}{more}", PrintedModel, **query).report()


@contextmanager
def facts(connection: Connection, address: str, **query: Any) -> Iterator[Iterator[str]]:
    """The same for scripts, a part of the text at a time."""
    with connection.chunks(address, facts=True, **query) as chunks:
        yield (chunk.decode() for chunk in chunks)
