"""What handlers of requests are given: the store of their service, and the name of a campaign."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi import Path as InPath

from results.store.store import Store

from ..study.names import LONGEST
from .problems import Problem


async def _store(request: Request) -> Store:
    store = request.app.state.store
    assert isinstance(store, Store)  # noqa: S101 - opened before the first request
    return store


async def _name(name: Annotated[str, InPath(description="of the campaign", max_length=LONGEST)]) -> str:
    """The name in the path; what no study can be called goes to no database."""
    if not name.isprintable():
        raise Problem(404, "There is no campaign of this name: /api/v1/campaigns lists all.")
    return name


async def no_query(request: Request) -> None:
    """Refuse any query.

    Raises:
        Problem: there is one.
    """
    for word in request.query_params:
        raise Problem(422, f"query.{word}: this address takes no query.")


OpenStore = Annotated[Store, Depends(_store)]
CampaignName = Annotated[str, Depends(_name)]
