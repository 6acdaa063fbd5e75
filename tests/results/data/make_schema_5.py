"""Writes `schema-5.db` beside itself: run once with the version that had schema 5, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_5.py
"""

import platform
from pathlib import Path

from record_builders import a_study, begun, finished

from results.store.store import Store


def main() -> None:
    platform.node = lambda: "made-for-a-test"
    path = Path(__file__).with_name("schema-5.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        store.create_study(a_study("before-the-service"))
        store.finish(finished(store.begin(begun("before-the-service")), study="before-the-service"))
        store.end_study("before-the-service", "complete")


if __name__ == "__main__":
    main()
