"""Writes what takes long in a process of its own: `python -m tuner.service.kept.process`.

A thread of the service would keep all others from answering. It reads one line of JSON, which says what to write, and
ends when its standard input does.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from results.store.store import Store

from ...errors import OUR_ERRORS
from ...stopping import StopRequest
from .writer import REFUSED

NICEST = 19
"""It takes only what others leave of the machine."""


def main() -> int:
    """Write to standard output what was asked for; return the code of the process."""
    asked = json.loads(sys.stdin.buffer.readline())
    os.nice(NICEST)
    stop = StopRequest()
    Thread(target=_end_with_the_service, args=(stop, asked["kind"] == "prediction"), daemon=True).start()
    try:
        written = _written(asked, stop)
    except OUR_ERRORS as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "backslashreplace"))
        return REFUSED
    sys.stdout.buffer.write(written)
    return 0


def _end_with_the_service(stop: StopRequest, in_order: bool) -> None:  # noqa: FBT001 - an argument of a thread
    """Wait for the end of standard input; what has started others is asked to end them."""
    os.read(0, 1)
    if in_order:
        stop.ask(at_once=True)
    else:
        os._exit(1)


def _written(asked: Mapping[str, Any], stop: StopRequest) -> bytes:
    if asked["kind"] == "doctor":
        from .machine import doctor_facts  # noqa: PLC0415 - only one of them is used

        return doctor_facts()
    if asked["kind"] == "prediction":
        from .machine import prediction_facts  # noqa: PLC0415

        return prediction_facts(asked["design"], stop)
    place = asked["place"] if "://" in asked["place"] else Path(asked["place"])
    with Store.open(place, create=False) as store:
        if asked["kind"] == "comparison":
            return _comparison(store, asked)
        return _parquet(store, asked["name"]) if asked["kind"] == "parquet" else _page(store, asked)


def _parquet(store: Store, name: str) -> bytes:
    from ...commands.stored.export import ExportRequest  # noqa: PLC0415
    from ...commands.stored.export_binary import export_binary  # noqa: PLC0415

    with TemporaryDirectory(prefix="hpltune-") as folder:
        out = Path(folder) / "study"
        export_binary(store, ExportRequest("parquet", name), out)
        return out.read_bytes()


def _page(store: Store, asked: Mapping[str, Any]) -> bytes:
    from ..pages.report_page import report_page  # noqa: PLC0415

    return report_page(store, asked["name"]).encode()


def _comparison(store: Store, asked: Mapping[str, Any]) -> bytes:
    from ..pages.compare_page import compare_page  # noqa: PLC0415

    return compare_page(store, asked["names"]).encode()


if __name__ == "__main__":
    sys.exit(main())
