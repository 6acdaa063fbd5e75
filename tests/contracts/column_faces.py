"""What every face tells of a trial: a program of its own, which a test runs on an hpltune with another column."""

import json
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from in_process import run_in_process
from pandas import read_parquet
from queue_contract import ORDER
from record_builders import a_study, begun, finished
from service_client import served

from results.store.store import Store
from tuner.messages.live import document
from tuner.service.notification_text import text_of

API = "/api/v1/campaigns/one/trials"
DOWNLOADS = (f"{API}.csv", f"{API}.jsonl", f"{API}.parquet")
COMMANDS = ("export csv one", "export jsonl one", "show one --json", "show one#1 --json", "show one#1")
AT_A_GLANCE = ("show one", "best one", "show --all")
ADDRESSES = (API, f"{API}/1", "/api/v1/openapi.json", "/api/v1/campaigns", "/campaigns/one", "/campaigns/one/trials/1")


def faces(folder: Path, values: dict[str, Any]) -> dict[str, str]:
    """What is told of the one trial of a study, by face; its columns have these values."""
    place = folder / "one.db"
    with Store.open(place) as store:
        store.queue.add(replace(ORDER, name="one", idempotency_key=None))
        store.create_study(a_study("one"))
        store.finish(replace(finished(store.begin(begun("one")), study="one"), **values))
        store.end_study("one", "complete")
        [entry] = store.queue.of_names(["one"]).values()
        told = {"store": repr(store.get("one", 1))}
        events = map(document, store.outbox.after(0, 10**9, "one", 1000))
        told["stream"] = "\n".join(event.model_dump_json() for event in events if event)
        told["notification"] = text_of(store, entry, "done", None)[1]
        for words in (*COMMANDS, *AT_A_GLANCE):
            told[words] = run_in_process((*words.split(), "--db", str(place)), folder).stdout
        with served(store, folder) as client:
            answers = {address: client.get(address) for address in (*ADDRESSES, *DOWNLOADS)}
            rows = read_parquet(BytesIO(answers[DOWNLOADS[2]].content))
            return told | {address: one.text for address, one in answers.items()} | {DOWNLOADS[2]: rows.to_csv()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(faces(Path(sys.argv[1]), json.loads(sys.argv[2]))))
