"""Writes `schema-11.db` beside itself: run once with the version that had schema 11, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_11.py
"""

import platform
from pathlib import Path

from record_builders import a_study
from settings_builders import an_original

from results.store.store import Store


def main() -> None:
    platform.node = lambda: "made-for-a-test"
    path = Path(__file__).with_name("schema-11.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        store.create_study(a_study("tuned"))
        store.network.remember([an_original(host="h1", value="9000"), an_original()])


if __name__ == "__main__":
    main()
