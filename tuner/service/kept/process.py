"""Writes a file of a study in a process of its own: `python -m tuner.service.kept.process`.

It may take many seconds of a core, in which a thread would keep all others from answering.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from results.store.store import Store

NICEST = 19
"""It takes only what others leave of the machine."""


def main() -> None:
    """Read from standard input what to write of which study, and write it to standard output."""
    asked = json.load(sys.stdin)
    os.nice(NICEST)
    place = asked["place"] if "://" in asked["place"] else Path(asked["place"])
    with Store.open(place, create=False) as store:
        sys.stdout.buffer.write(_file(store, asked["name"], asked["kind"]))


def _file(store: Store, name: str, kind: str) -> bytes:
    if kind == "parquet":
        from ...commands.stored.export import ExportRequest  # noqa: PLC0415
        from ...commands.stored.export_binary import export_binary  # noqa: PLC0415 - one of them is used

        with TemporaryDirectory(prefix="hpltune-") as folder:
            out = Path(folder) / "study"
            export_binary(store, ExportRequest(kind, name), out)
            return out.read_bytes()
    from ..pages.report_page import report_page  # noqa: PLC0415

    return report_page(store, name).encode()


if __name__ == "__main__":
    main()
