"""Writes `schema-3.db` beside itself: run once with the version that had schema 3, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_3.py
"""

from dataclasses import replace
from pathlib import Path

from record_builders import a_study
from settings_builders import a_probe, an_original

from results.store.store import Store


def main() -> None:
    path = Path(__file__).with_name("schema-3.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        store.create_study(a_study("tuned"))
        store.network.remember([an_original()])
        store.network.add_probe(a_probe("tuned"))
        store.network.add_probe(replace(a_probe(), settings={}))
        store.end_study("tuned", "complete")


if __name__ == "__main__":
    main()
