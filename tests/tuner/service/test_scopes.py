"""Every address says what its callers must be allowed to do."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

OPEN = {"/healthz", "/readyz", "/sign-in", "/sign-out", "/api/v1/openapi.json", "/assets/{file}"}
"""Addresses that anybody may ask."""


def routes(part: Any) -> Iterator[tuple[str, Any]]:
    """All routes with their addresses, also those that the OpenAPI document does not show."""
    for route in part.routes:
        if hasattr(route, "original_router"):
            yield from routes(route.original_router)
        else:
            yield route.path, getattr(route, "dependant", None)


def scopes(dependant: Any) -> set[str]:
    """The scopes that a handler demands, itself or by what it depends on."""
    own = set(dependant.own_oauth_scopes or ())
    return own.union(*(scopes(one) for one in dependant.dependencies))


def test_every_route_that_is_not_open_demands_a_scope(client: TestClient) -> None:
    app = client.app
    assert isinstance(app, FastAPI)
    found = {path: dependant for path, dependant in routes(app) if path not in OPEN}
    assert {"/", "/campaigns/{name}", "/api/v1/campaigns"} <= found.keys()
    assert not [path for path, dependant in found.items() if dependant is None or not scopes(dependant)]


def test_what_changes_something_demands_more_than_reading(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    operations = {(method, path): told for path, of in paths.items() for method, told in of.items()}
    demanded = {
        key: {scope for one in told.get("security", ()) for scope in one.get("token", ())}
        for key, told in operations.items()
    }
    assert not [key for key, some in demanded.items() if key[0] != "get" and not some & {"run", "admin"}]
