"""Writes `schema-11.db` beside itself: run once with the version that had schema 11, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_11.py
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from queue_contract import ORDER

from results.store.service.campaign_entry import QueueState
from results.store.store import Store

FILE = Path(__file__).with_name("schema-11.db")
MESSAGE = "INSERT INTO deliveries VALUES ('1', 'chat', 'done', '{}', 0, '2026-11-29T00:00:00+00:00', NULL, '')"

if __name__ == "__main__":
    FILE.unlink(missing_ok=True)
    with Store.open(FILE) as store:
        store.queue.add(ORDER)
        store.queue.claim(ORDER.name)
        store.queue.end(ORDER.name, QueueState.DONE)
    with closing(sqlite3.connect(FILE)) as connection, connection:
        connection.execute(MESSAGE)
        connection.execute("PRAGMA journal_mode = DELETE")
