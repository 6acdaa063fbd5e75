"""Sixteen searches of tables, trial by trial: `--update` writes what they ask for, in which order, and what comes."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
from as_user import Run
from golden import hold

from results.record import TrialRecord
from results.store.store import Store

ROOT = Path(__file__).parents[3]
TABLES = {
    "own.csv": """N,NB,grid,BCAST,gflops,cost_s,state,invalidity,reason
20000,128,2x8,1rM,212.4,29.0,,,
20000,128,2x8,1rM,213.0,29.1,,,
20000,128,4x4,1rM,205.9,29.9,,,
20000,160,2x8,1rM,,8.0,failed,runtime,rank 3 ended with code 139
20000,160,4x4,1rM,208.8,29.5,,,
20000,192,2x8,1rM,219.7,28.3,,,
20000,192,2x8,1rM,221.1,28.2,,,
20000,192,4x4,1rM,214.2,29.0,,,
20000,192,4x4,2rM,,60.0,failed,timeout,stopped at its time limit of 60 s
20000,256,2x8,2rM,216.0,28.6,,,
""",
    **{
        name: (ROOT / f"benchmarks/landscapes/{name}").read_text("utf-8")
        for name in ("two-cores.json", "two-cores-short.json", "four-hosts.json")
    },
}
SEARCHES = (
    "own.csv --engine grid",
    "own.csv --engine random --trials 5 --seed 3",
    "own.csv --trials 6 --confirm 1",
    "own.csv --engine bayes --budget 4m",
    "two-cores.json --trials 14",
    "two-cores.json --trials 10 --seed 7 --objective usd-per-gflops --price 2490",
    "two-cores.json --engine random --trials 6 --repeats 2 --seed 5",
    "two-cores.json --engine bayes --trials 7",
    "two-cores.json --engine one-at-a-time --run-time 2m",
    "two-cores.json --engine grid --points 6 --set blas=blis",
    "two-cores-short.json --trials 8 --confirm 3",
    "two-cores-short.json --engine random --trials 10 --confirm 0",
    "four-hosts.json --trials 12 --seed 1",
    "four-hosts.json --trials 6 --pareto mflops-per-watt --power 100",
    "four-hosts.json --engine one-at-a-time --trials 9 --set NB=64,128,256",
    "four-hosts.json --engine random --budget 1m --confirm 1",
)


def asked(record: TrialRecord, always: Sequence[tuple[str, object]]) -> str:
    params = " ".join(f"{name}={value}" for name, value in record.params.items() if (name, value) not in always)
    came = record.gflops or record.invalidity or record.state
    return f"{record.number:3} {record.kind} {record.part:.3f} {params}: {came}"


@pytest.mark.heavy
def test_searches_of_tables_ask_what_they_always_asked(
    hpltune: Run, home: Path, request: pytest.FixtureRequest
) -> None:
    """Few trials each, so that no digit in which processors differ decides."""
    for name, text in TABLES.items():
        (home / name).write_text(text)
    said = []
    for number, words in enumerate(SEARCHES, 1):
        done = hpltune.well(
            "tune", "--replay", *shlex.split(words), "--study", f"search-{number}", "--db", "searches.db"
        )
        with Store.open(home / "searches.db") as store:
            records = store.records(f"search-{number}")
        always = [one for one in records[0].params.items() if all(one in each.params.items() for each in records)]
        stopped = [line for line in done.stdout.splitlines() if line.startswith(("Search stopped", "Confirmation:"))]
        said += [
            f"$ hpltune tune --replay {words}",
            " ".join(f"{name}={value}" for name, value in always),
            *(asked(record, always) for record in records),
            *stopped,
            "",
        ]
    hold(request, "searches", "\n".join(said))
