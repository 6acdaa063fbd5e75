"""Writes `schema-4.db` beside itself: run once with the version that had schema 4, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_4.py
"""

import platform
from pathlib import Path

from record_builders import a_study, begun, finished

from results.store import Store


def main() -> None:
    platform.node = lambda: "made-for-a-test"
    path = Path(__file__).with_name("schema-4.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        store.create_study(a_study("shared"))
        store.finish(finished(store.begin(begun("shared")), study="shared"))
        store.begin(begun("shared", key="64|1x2"))


if __name__ == "__main__":
    main()
