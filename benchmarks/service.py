"""How fast the service answers where much is stored: every address that reads, with clients at once.

It makes a database with 100,000 trials in 21 studies, 1,000 more campaigns of three trials, and 1,000 campaigns that
wait in the queue. A real server process is asked from this process; both share the machine. Then a campaign runs in
this process: how late its events come, and what 200,000 of them leave in the server's memory.

Usage: python benchmarks/service.py [--trials 100000] [--campaigns 1000] [--clients 20] [--requests 400]
       [--events 200000] [--db FILE]
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path

from asked_service import Answered, at, events, measured
from large_database import LARGE, SPACE, START, make, trials
from script import as_script, count
from sqlalchemy import insert

from results.record import Study
from results.store.outbox import tell_begun, tell_ended
from results.store.rows import output_row, trial_row
from results.store.schema import OUTPUTS, TRIALS
from results.store.service.campaign_entry import CampaignOrder
from results.store.store import Store
from tuner.options import TuneOptions

GOAL_MS, GOAL_START_S, GOAL_EVENT_MS = 100, 2.0, 250
LIVE = "live"
"""The campaign that runs in this process."""
DELAYS = 60
"""Trials whose events are timed."""
AT_A_TIME = 500
API = "/api/v1/campaigns"
ADDRESSES: dict[str, Sequence[str]] = {
    "/": ["/"],
    "/campaigns/NAME, 3 trials": ["/campaigns/campaign-5"],
    "/campaigns/NAME, 500 trials": ["/campaigns/default-3"],
    "/docs": ["/docs"],
    "/new": ["/new"],
    "/healthz": ["/healthz"],
    "/readyz": ["/readyz"],
    "/metrics": ["/metrics"],
    "campaigns": [API],
    "campaigns?limit=200": [f"{API}?limit=200"],
    "campaigns?state=running": [f"{API}?state=running"],
    "campaigns?name=large": [f"{API}?name=large"],
    "campaigns/NAME, 90,000 trials": [f"{API}/{LARGE}"],
    "campaigns/NAME of 500 different": [f"{API}/campaign-{number}" for number in range(500)],
    "trials of 90,000, one page": [f"{API}/{LARGE}/trials"],
    "trials/NUMBER, 500 different": [f"{API}/{LARGE}/trials/{number}" for number in range(1, 501)],
    "trials/NUMBER/output.txt": [f"{API}/{LARGE}/trials/{number}/output.txt" for number in range(1, 501)],
    "best of 90,000": [f"{API}/{LARGE}/best"],
    "best of 500": [f"{API}/default-3/best"],
    "HPL.dat": [f"{API}/{LARGE}/HPL.dat"],
    "command.sh": [f"{API}/{LARGE}/command.sh"],
    "report.html": [f"{API}/campaign-5/report.html"],
    "trials.csv, 500 trials": [f"{API}/default-3/trials.csv"],
    "trials.parquet, 500 trials": [f"{API}/default-3/trials.parquet"],
    "queue, 1,000 waiting": ["/api/v1/queue"],
    "spaces": ["/api/v1/spaces"],
    "virtual-clusters": ["/api/v1/virtual-clusters"],
    "known-machines": ["/api/v1/known-machines"],
    "openapi.json": ["/api/v1/openapi.json"],
}


@dataclass(frozen=True)
class Server:
    """A service in a process of its own, and the seconds until it answered."""

    process: subprocess.Popen[str]
    port: int
    start_s: float

    @property
    def mebibytes(self) -> float:
        """What it has of the memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0


@contextmanager
def served(db: str) -> Iterator[Server]:
    """Start a service, and end it after the block."""
    program = str(Path(sys.executable).with_name("hpltune"))
    began = time.perf_counter()
    command = [program, "serve", "--port", "0", "--db", db]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        said = process.stderr.readline() if process.stderr else ""
        found = re.search(r"http://\S+:(\d+)", said)
        if not found:
            sys.exit(f"the service did not start: {said}")
        port = int(found[1])
        asyncio.run(measured(port, "", ["/healthz"], 1, 1))
        yield Server(process, port, time.perf_counter() - began)
    finally:
        process.terminate()
        process.wait()


def study(name: str, hours: int) -> Study:
    """A study that is stored some hours after the large ones."""
    host = {"cpu_model": "made up", "physical_cores": 16, "memory_available_bytes": 64 * 2**30}
    created_at = START + timedelta(days=30, hours=hours)
    made = Study(name, created_at, "default", SPACE, "hpl", TuneOptions().to_json(), host, rpeak_gflops=1_000.0)
    return replace(made, versions={"hpl": "2.3"})


def fill(store: Store, number: int, campaigns: int) -> None:
    """Fill a database."""
    make(store, number)
    for place in range(campaigns):
        name = f"campaign-{place}"
        store.create_study(study(name, place))
        some = list(trials(name, 3, seed=place))
        with store._database.writing() as connection:  # noqa: SLF001 - faster than a transaction a trial
            connection.execute(insert(TRIALS), [trial_row(one) for one in some])
            connection.execute(insert(OUTPUTS), [output_row(one) for one in some])
        store.end_study(name, "complete")
        document = {"kind": "tune", "name": f"waits-{place}", "space": "quick"}
        store.queue.add(CampaignOrder(f"waits-{place}", "tune", document, ("another machine",), f"user-{place % 7}"))


async def delays_ms(store: Store, port: int) -> list[float]:
    """How late the ends of trials are told, one at a time."""
    coming, found = events(port, f"{API}/{LIVE}/events"), []
    await anext(coming)
    for record in trials(LIVE, DELAYS):
        number = await asyncio.to_thread(store.begin, record)
        while await anext(coming) != "trial-begun":
            pass
        await asyncio.to_thread(store.finish, replace(record, number=number))
        began = time.perf_counter()
        while await anext(coming) != "trial-ended":
            pass
        found.append(1e3 * (time.perf_counter() - began))
    await coming.aclose()  # type: ignore[attr-defined]  # an async generator
    return found


async def told(store: Store, server: Server, number: int) -> tuple[float, float, float]:
    """Watch so many events; give the server's memory after a tenth of them and at the end, and the seconds."""
    coming, seen, early = events(server.port, f"{API}/{LIVE}/events"), 0, 0.0
    began = time.perf_counter()
    filling = asyncio.create_task(asyncio.to_thread(_add, store, number))
    async for name in coming:
        seen += name.startswith("trial-")
        if seen == number // 10:
            early = server.mebibytes
        if seen >= number:
            break
    await filling
    return early, server.mebibytes, time.perf_counter() - began


def _add(store: Store, number: int) -> None:
    """Add trials to the running campaign, each of which makes two events."""
    last = store.lists.extent(LIVE).last
    coming = trials(LIVE, number // 2 + 1)
    while some := [replace(one, number=one.number + last) for one in islice(coming, AT_A_TIME)]:
        with store._database.writing() as connection:  # noqa: SLF001 - faster than a transaction a trial
            connection.execute(insert(TRIALS), [trial_row(one) for one in some])
            connection.execute(insert(OUTPUTS), [output_row(one) for one in some])
            for one in some:
                tell_begun(connection, LIVE, one.number)
                tell_ended(connection, one)


def row(answered: Answered) -> str:
    """A line of the table."""
    reached = "" if answered.p99_ms < GOAL_MS else " (missed)"
    figures = f"{answered.first_ms:.0f} | {answered.p50_ms:.1f} | {answered.p99_ms:.1f}{reached} | {answered.bytes:,}"
    return f"| {answered.address} | {figures} |"


def main(arguments: Sequence[str]) -> int:
    """Make the database where it is not there yet, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=count, default=100_000)
    parser.add_argument("--campaigns", type=count, default=1_000, help="Small ones, and as many that wait.")
    parser.add_argument("--clients", type=count, default=20)
    parser.add_argument("--requests", type=count, default=400, help="Of each address.")
    parser.add_argument("--events", type=count, default=200_000)
    parser.add_argument("--db", help="An empty database, or one that this script has made; a temporary file without.")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        db = options.db or str(Path(folder) / "service.db")
        with Store.open(db) as store:
            if not store.studies():
                fill(store, options.trials, options.campaigns)
            starts = []
            for _ in range(3):
                with served(db) as server:
                    starts.append(server.start_s)
            with served(db) as server:
                load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f} before"
                print(f"{load}, {options.clients} clients, {options.requests} requests of each address")
                print("\n| address | first ms | p50 ms | p99 ms, goal 100 | bytes |\n|---|---|---|---|---|")
                for label, addresses in ADDRESSES.items():
                    asked = measured(server.port, label, addresses, options.clients, options.requests)
                    print(row(asyncio.run(asked)), flush=True)
                if LIVE in {one.name for one in store.studies()}:
                    store.delete_study(LIVE)
                store.create_study(study(LIVE, options.campaigns))
                late_ms = asyncio.run(delays_ms(store, server.port))
                running = measured(server.port, "campaigns, while one runs", [API], options.clients, options.requests)
                print(row(asyncio.run(running)), flush=True)
                early, whole, seconds = asyncio.run(told(store, server, options.events))
                store.end_study(LIVE, "interrupted")
    print("\n| what | goal | measured |\n|---|---|---|")
    print(f"| start until it answers, s | {GOAL_START_S} | {at(starts, 0.5):.2f} (median of {len(starts)}) |")
    print(f"| event delay, ms | {GOAL_EVENT_MS} | p50 {at(late_ms, 0.5):.0f}, p99 {at(late_ms, 0.99):.0f} |")
    events_told = f"after {options.events // 10:,} and {options.events:,} events, {seconds:.0f} s apart"
    print(f"| memory, MiB | flat | {early:.0f} and {whole:.0f} {events_told} |")
    return 0


if __name__ == "__main__":
    as_script(main)
