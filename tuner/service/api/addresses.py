"""Addresses of the API."""

from urllib.parse import quote


def campaign_address(name: str) -> str:
    """The address of a campaign."""
    return f"/api/v1/campaigns/{quote(name, safe='')}"
