"""Addresses of the API."""

from urllib.parse import quote

CAMPAIGNS, QUEUE, PRINTED = "/api/v1/campaigns", "/api/v1/queue", "/api/v1/printed/campaigns"

COMPARISON = "/api/v1/printed/comparison"


def campaign_address(name: str) -> str:
    """The address of a campaign."""
    return f"{CAMPAIGNS}/{quote(name, safe='')}"


def queue_address(name: str) -> str:
    """The address of a campaign as it stands in the queue."""
    return f"{QUEUE}/{quote(name, safe='')}"


def printed_address(name: str) -> str:
    """The address of what `show` prints of a campaign."""
    return f"{PRINTED}/{quote(name, safe='')}"
