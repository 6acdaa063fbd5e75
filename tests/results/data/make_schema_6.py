"""Writes `schema-6.db` beside itself: run once with the version that had schema 6, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_6.py
"""

import platform
from pathlib import Path

from record_builders import a_study, begun, finished

from results.store.service.audit import AuditedAction
from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store


def main() -> None:
    platform.node = lambda: "made-for-a-test"
    path = Path(__file__).with_name("schema-6.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        store.create_study(a_study("before-node-checks"))
        store.finish(finished(store.begin(begun("before-node-checks")), study="before-node-checks"))
        store.end_study("before-node-checks", "complete")
        store.queue.add(CampaignOrder("waits", "tune", {"kind": "tune", "space": "quick"}, ("node-1",), "ada"))
        store.audit.note(AuditedAction("ada", "127.0.0.1", "POST /api/v1/campaigns", "waits", 201))


if __name__ == "__main__":
    main()
