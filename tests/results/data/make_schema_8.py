"""Writes `schema-8.db` beside itself: run once with the version that had schema 8, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_8.py
"""

import platform
from pathlib import Path

from record_builders import a_study, begun, finished
from sqlalchemy import insert, select

from results.store.schema import CAMPAIGNS
from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store

ORDER = CampaignOrder("waits", "tune", {"kind": "tune", "space": "quick"}, ("node-1",), "ada")


def main() -> None:
    platform.node = lambda: "made-for-a-test"
    path = Path(__file__).with_name("schema-8.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        for name in ("complete", "running", "failed"):
            store.create_study(a_study(name))
            store.finish(finished(store.begin(begun(name)), 72.0, name))
            store.finish(finished(store.begin(begun(name)), None, name, passed=False))
        for _ in range(2):
            store.begin(begun("running"))
        store.end_study("complete", "complete")
        store.end_study("failed", "interrupted")
        store.queue.add(ORDER)
        with store.queue.writing() as connection:
            row = connection.execute(select(CAMPAIGNS)).mappings().one()
            connection.execute(insert(CAMPAIGNS).values({**row, "name": "failed", "state": "failed"}))


if __name__ == "__main__":
    main()
