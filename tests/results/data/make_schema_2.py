"""Writes `schema-2.db` beside itself: run once with the version that had schema 2, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_2.py
"""

from dataclasses import replace
from pathlib import Path

from record_builders import a_study, begun, finished

from results.record import Kind
from results.store.store import Store


def main() -> None:
    path = Path(__file__).with_name("schema-2.db")
    path.unlink(missing_ok=True)
    records = (
        finished(0, study="ladder"),
        finished(0, 60.0, study="ladder", kind=Kind.SMALL, part=0.35),
        finished(0, None, study="ladder", kind=Kind.PREFIX, part=0.05, session=1, passed=None, residual=None),
    )
    with Store.open(path) as store:
        store.create_study(a_study("ladder", engine="hpl"))
        for record in records:
            store.finish(replace(record, number=store.begin(begun("ladder", key=record.key, kind=record.kind))))
        store.end_study("ladder", "complete")


if __name__ == "__main__":
    main()
