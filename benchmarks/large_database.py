"""What `show`, `best` and `export` cost in time and memory where the database is large.

The trials are made up: one study has nearly all of them, most of a configuration of their own, and twenty small studies
the rest. Each command runs in a process of its own, as a user starts it; the least of its times is told, and the most
memory that it had.

Usage: python benchmarks/large_database.py [--trials 100000] [--repeats 3] [--db FILE|URL]
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from script import as_script, count
from sqlalchemy import insert

from hpl.dat import HplDat, render
from hpl.params import Bcast, HplParams
from results.record import BlasObservation, Invalidity, Kind, Study, TrialRecord, TrialState
from results.store.rows import output_row, trial_row
from results.store.schema import OUTPUTS, TRIALS
from results.store.store import Store
from tuner.options import TuneOptions

LARGE = "large-1"
SMALL = 20
"""Studies beside the large one."""
OF_SMALL = 0.1
"""The part of the trials that these have together."""
START = datetime(2026, 3, 1, tzinfo=UTC)
OUTPUT = "T/V                N    NB     P     Q               Time                 Gflops\n" * 40
"""As much text as HPL prints for one result."""
GRIDS = ((1, 16), (2, 8), (4, 4), (8, 2))
COMMANDS = (
    ("show",),
    ("show", LARGE),
    ("show", LARGE, "--failed"),
    ("show", LARGE, "777"),
    ("best", LARGE),
    ("export", "md", LARGE),
    ("export", "dat", LARGE),
    ("export", "csv", LARGE),
    ("export", "jsonl", LARGE),
    ("report", LARGE, "--out", os.devnull),
)


SPACE = f"""
[parameters]
blas = "auto"
kernel = "auto"
layout = "16x1"
grid = {list(dict.fromkeys(f"{P}x{Q}" for P, Q in GRIDS))}
N = {list(range(20_000, 20_101))}
NB = {list(range(32, 432, 8))}
BCAST = {[member.word for member in Bcast]}
"mpi.btl" = "self,vader"
"""


@dataclass(frozen=True)
class Cost:
    """Of one command: its shortest time, the processor's part of it, and the most memory it had at a time."""

    command: str
    seconds: float
    cpu_seconds: float
    mebibytes: float
    output_bytes: int


def trials(study: str, number: int, seed: int = 1) -> Iterator[TrialRecord]:
    """So many trials of a study: nine of ten have a configuration of their own, one of twenty failed."""
    chance = random.Random(seed)
    for place in range(1, number + 1):
        which = place if chance.random() < 0.9 else chance.randint(1, place)
        yield _trial(study, place, which, chance)


def _trial(study: str, number: int, which: int, chance: random.Random) -> TrialRecord:
    P, Q = GRIDS[which % 4]
    hpl = HplParams(20_000 + which // 1_000, 32 + 8 * (which % 50), P, Q, BCAST=list(Bcast)[which % 6])
    failed = chance.random() < 0.05
    rate = (600 + 3 * (which % 50) - 40 * abs(which % 4 - 1) - which % 97) * chance.gauss(1, 0.005)
    params = {"blas": "openblas", "kernel": "SkylakeX", "layout": "16x1", **hpl.words(), "mpi.btl": "self,vader"}
    started = START + timedelta(seconds=12 * number)
    return TrialRecord(
        study=study,
        number=number,
        kind=Kind.SEARCH,
        state=TrialState.FAILED if failed else TrialState.COMPLETE,
        invalidity=Invalidity.RUNTIME if failed else None,
        reason="xhpl ended with code 1: no result" if failed else "",
        params=params,
        key="|".join(map(str, params.values())) + f"|{which}",
        started_at=started,
        ended_at=started + timedelta(seconds=10),
        hpl=hpl,
        blas="openblas",
        kernel="SkylakeX",
        ranks=16,
        threads=1,
        time_s=None if failed else 2 / 3 * hpl.N**3 / rate / 1e9,
        gflops=None if failed else rate,
        residual=None if failed else 2.5e-3,
        passed=None if failed else True,
        observed=BlasObservation("/lib/libopenblas.so.0", "0.3.21", "SkylakeX", 1, ("node-1",)),
        command="mpirun --bind-to core --mca btl self,vader -np 16 ./xhpl",
        directory=f"/home/user/.local/share/hpltune/runs/{study}/{number:05d}",
        hpl_dat=render(HplDat.of(hpl)),
        output=OUTPUT,
        cost_s=10.0,
        xhpl_key="3f2a5c",
    )


def make(store: Store, number: int) -> None:
    """Fill a database, in larger transactions than a tuner would."""
    of_small = max(1, int(number * OF_SMALL / SMALL))
    for place in range(SMALL + 1):
        name = LARGE if place == SMALL else f"default-{place + 1}"
        made = number - SMALL * of_small if name == LARGE else of_small
        study = Study(
            name,
            START + timedelta(days=place),
            "default",
            SPACE,
            "hpl",
            TuneOptions().to_json(),
            {"cpu_model": "made up", "physical_cores": 16, "memory_available_bytes": 64 * 2**30},
            rpeak_gflops=1_000.0,
        )
        store.create_study(replace(study, versions={"hpl": "2.3"}))
        coming = trials(name, made, seed=place)
        while some := list(islice(coming, 5_000)):
            with store._database.writing() as connection:  # noqa: SLF001 - faster than a transaction a trial
                connection.execute(insert(TRIALS), [trial_row(one) for one in some])
                connection.execute(insert(OUTPUTS), [output_row(one) for one in some])
        store.end_study(name, "complete")


def cost(command: Sequence[str], db: str, repeats: int) -> Cost:
    """Run a command as a user would; what it writes goes into a file."""
    program = [str(Path(sys.executable).with_name("hpltune")), *command, "--db", db]
    seconds, cpu_seconds, mebibytes, written = [], [], 0.0, 0
    for _ in range(repeats):
        with tempfile.TemporaryFile() as output:
            began = time.monotonic()
            running = subprocess.Popen(program, stdout=output)
            _, status, used = os.wait4(running.pid, 0)
            seconds.append(time.monotonic() - began)
            cpu_seconds.append(used.ru_utime + used.ru_stime)
            if status:
                sys.exit(f"{' '.join(command)} failed")
            mebibytes, written = max(mebibytes, used.ru_maxrss / 1024), output.seek(0, os.SEEK_END)
    return Cost(" ".join(command), min(seconds), min(cpu_seconds), mebibytes, written)


def main(arguments: Sequence[str]) -> int:
    """Make the database where it is not there yet, and print what each command costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=count, default=100_000)
    parser.add_argument("--repeats", type=count, default=3, help="Runs of each command; the shortest counts.")
    parser.add_argument("--db", help="An empty database, or one that this script has made; a temporary file without.")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        db = options.db or str(Path(folder) / "large.db")
        with Store.open(db) as store:
            if not store.studies():
                make(store, options.trials)
        print("| command | seconds | CPU seconds | MiB | bytes written |\n|---|---|---|---|---|")
        for command in COMMANDS:
            one = cost(command, db, options.repeats)
            figures = f"{one.seconds:.2f} | {one.cpu_seconds:.2f} | {one.mebibytes:.0f} | {one.output_bytes:,}"
            print(f"| `{one.command}` | {figures} |", flush=True)
    return 0


if __name__ == "__main__":
    as_script(main)
