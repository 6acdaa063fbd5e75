"""Users with each scope, over every address of the OpenAPI document."""

import pytest
from fastapi.testclient import TestClient
from service_client import bearer, client_of, of_client

from results.store.service.tokens import AccessScope
from results.store.store import Store


@pytest.mark.heavy
def test_each_address_takes_those_whose_scope_is_enough(client: TestClient, store: Store) -> None:
    tokens = {scope: store.tokens.create(scope, scope, None)[1] for scope in AccessScope}
    stranger = client_of(of_client(client), "10.0.0.7")
    document = client.get("/api/v1/openapi.json", headers=bearer(tokens[AccessScope.READ])).json()
    for path, operations in document["paths"].items():
        for method, told in operations.items():
            demanded = {AccessScope(scope) for one in told.get("security", ()) for scope in one["token"]}
            if not demanded:
                assert path in {"/healthz", "/readyz"}
                continue
            address = path.replace("{", "").replace("}", "")
            assert stranger.request(method, address).status_code == 401, path
            for scope, token in tokens.items():
                ended = {"Last-Event-ID": "none of ours"}  # a stream of events would go on for ever
                status = stranger.request(method, address, headers=bearer(token) | ended).status_code
                assert (status == 403) is not all(scope.covers(one) for one in demanded), (scope, method, path)
                assert status != 401
