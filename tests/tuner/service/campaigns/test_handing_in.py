from pathlib import Path
from typing import Any

from service_client import bearer, served

from results.store.service.tokens import AccessScope
from results.store.store import Store
from tuner.service.config import LimitsTable, ServiceConfig

CAMPAIGNS = "/api/v1/campaigns"


def test_nobody_fills_the_queue_alone(store: Store, tmp_path: Path) -> None:
    _, ada = store.tokens.create("ada", AccessScope.RUN, None)
    _, eve = store.tokens.create("eve", AccessScope.RUN, None)
    config = ServiceConfig(limits=LimitsTable(waiting_of_one=2))
    with served(store, tmp_path, config) as client:

        def handed_in(token: str) -> Any:
            return client.post(CAMPAIGNS, json={"kind": "tune", "space": "quick"}, headers=bearer(token))

        assert [handed_in(ada).status_code for _ in range(3)] == [201, 201, 429]
        assert "2 campaigns of ada wait, and one caller may have 2" in handed_in(ada).json()["detail"]
        client.post(f"{CAMPAIGNS}/quick-1/pause", headers=bearer(ada))
        assert handed_in(ada).status_code == 429, "who pauses one gets no place for another"
        assert handed_in(eve).status_code == 201
