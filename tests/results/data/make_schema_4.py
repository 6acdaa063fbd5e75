"""Writes `schema-4.db` beside itself: run once with the version that had schema 4, and kept for ever.

From the top folder: PYTHONPATH=.:tests/contracts python tests/results/data/make_schema_4.py
"""

import platform
from dataclasses import replace
from pathlib import Path

from record_builders import a_study, begun, finished

from results.record import Kind
from results.store.store import Store

REASONS = (
    "given up after 30% of its columns: at most 61.2 GFLOPS with 99% certainty, the best has at least 74.7",
    "",
)
"""How schema 4 told a full run that was given up from a prefix that an engine had asked for."""


def main() -> None:
    platform.node = lambda: "made-for-a-test"
    path = Path(__file__).with_name("schema-4.db")
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        store.create_study(a_study("shared"))
        store.finish(finished(store.begin(begun("shared")), study="shared"))
        store.begin(begun("shared", key="64|1x2"))
        store.create_study(a_study("ladder", engine="hpl"))
        prefix = finished(0, None, study="ladder", kind=Kind.PREFIX, part=0.3, passed=None, residual=None)
        for reason in REASONS:
            store.finish(replace(prefix, number=store.begin(begun("ladder")), reason=reason))
        store.end_study("ladder", "complete")


if __name__ == "__main__":
    main()
