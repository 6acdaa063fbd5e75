"""Writes `schema-11.db` beside itself: run once with the version that had schema 11, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_11.py
"""

import platform
import sqlite3
from contextlib import closing
from pathlib import Path

from queue_contract import ORDER
from record_builders import a_study
from settings_builders import an_original

from results.store.service.campaign_entry import QueueState
from results.store.store import Store

MESSAGE = "INSERT INTO deliveries VALUES ('1', 'chat', 'done', '{}', 0, '2026-11-29T00:00:00+00:00', NULL, '')"


def main() -> None:
    platform.node = lambda: "made-for-a-test"
    path = Path(__file__).with_name("schema-11.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        store.create_study(a_study("tuned"))
        store.network.remember([an_original(host="h1", value="9000"), an_original()])
        store.queue.add(ORDER)
        store.queue.claim(ORDER.name)
        store.queue.end(ORDER.name, QueueState.DONE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(MESSAGE)
        connection.execute("PRAGMA journal_mode = DELETE")


if __name__ == "__main__":
    main()
