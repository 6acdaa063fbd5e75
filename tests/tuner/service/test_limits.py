"""Nobody keeps the service busy alone."""

from pathlib import Path

import pytest
from service_client import bearer, client_of, of_client, served

from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.service.config import LimitsTable, ServiceConfig
from tuner.service.middleware import MOST_BUCKETS, RateLimit, network_of

CAMPAIGNS = "/api/v1/campaigns"


def test_who_asks_too_often_waits_and_nobody_else(store: Store, tmp_path: Path) -> None:
    ada, bob = (store.tokens.create(name, AccessScope.READ, None)[1] for name in ("ada", "bob"))
    with served(store, tmp_path, ServiceConfig(limits=LimitsTable(requests_per_minute=3))) as client:
        asked = [client.get(CAMPAIGNS, headers=bearer(ada)) for _ in range(4)]
        assert [one.status_code for one in asked] == [200, 200, 200, 429]
        assert 0 < int(asked[-1].headers["retry-after"]) <= 20
        assert asked[-1].json()["detail"].startswith("These are too many requests: ask again in ")
        assert client.get(CAMPAIGNS, headers=bearer(bob)).status_code == 200
        guesses = [client.get(CAMPAIGNS, headers=bearer(f"hpltune_{number}")).status_code for number in range(4)]
        assert guesses == [401, 401, 401, 429]
        assert client_of(of_client(client), "10.0.0.1").get(CAMPAIGNS).status_code == 401


def test_the_user_of_this_machine_is_not_counted(store: Store, tmp_path: Path) -> None:
    with served(store, tmp_path, ServiceConfig(limits=LimitsTable(requests_per_minute=1))) as client:
        assert {client.get(CAMPAIGNS).status_code for _ in range(5)} == {200}


def test_a_bucket_fills_again_with_time() -> None:
    now = 0.0
    limit = RateLimit(60, lambda: now)
    assert [limit.wait_s("a") for _ in range(61)] == [*[0.0] * 60, 1.0]
    now = 0.5
    assert limit.wait_s("a") == pytest.approx(0.5)
    now = 1.0
    assert (limit.wait_s("a"), limit.wait_s("b")) == (0.0, 0.0)
    now = 1000.0
    assert [bool(limit.wait_s("a")) for _ in range(61)] == [*[False] * 60, True]


def test_memory_does_not_grow_with_addresses() -> None:
    limit = RateLimit(1)
    for number in range(MOST_BUCKETS + 100):
        limit.wait_s(str(number))
    assert len(limit._buckets) == MOST_BUCKETS


def test_the_addresses_of_one_machine_are_one() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2") != network_of("2001:db8:0:1::1")


def test_the_limit_of_a_body_can_be_set(store: Store, tmp_path: Path) -> None:
    with served(store, tmp_path, ServiceConfig(limits=LimitsTable(body_bytes=1000))) as client:
        answer = client.post("/healthz", content=b"x" * 1001)
        assert answer.status_code == 413
        assert "1,000 bytes" in answer.json()["detail"]
