"""What handlers of requests are given: the store of their service."""

from typing import Annotated

from fastapi import Depends, Request

from results.store.store import Store


def _store(request: Request) -> Store:
    store = request.app.state.store
    assert isinstance(store, Store)  # noqa: S101 - opened before the first request
    return store


OpenStore = Annotated[Store, Depends(_store)]
