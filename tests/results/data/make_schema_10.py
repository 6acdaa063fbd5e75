"""Writes `schema-10.db` beside itself: run once with the version that had schema 10, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_10.py
"""

import platform
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from record_builders import a_study, begun, finished

from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store

ORDER = CampaignOrder("waits", "check", {"kind": "check", "baseline": "measured"}, ("node-1",), "ada")
SCHEDULE = (
    "weekly",
    "every monday at 06:00 UTC",
    '{"kind": "check", "baseline": "measured"}',
    "ada",
    "2026-11-28T12:00:00.000000+00:00",
    "2026-11-30T06:00:00.000000+00:00",
    None,
    None,
    False,
)


def main() -> None:
    platform.node = lambda: "made-for-a-test"
    path = Path(__file__).with_name("schema-10.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        store.create_study(a_study("measured"))
        run = finished(store.begin(begun("measured")), 72.0, "measured")
        store.finish(replace(run, measurements={"package_power_w": 41.5}))
        store.end_study("measured", "complete")
        store.queue.add(ORDER)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO schedules VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", SCHEDULE)


if __name__ == "__main__":
    main()
