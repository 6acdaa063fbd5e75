"""What hpltune itself costs: ask + plan + store + tell per trial, and the start-up of `hpltune --help`.

No HPL runs: the rates are made up, everything around them is the real thing. The databases are temporary files in
--dir, so that a commit costs what it costs on the disk of interest.

Usage: python benchmarks/overhead.py [--stored 10 1000 10000] [--repeats 20] [--json]
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median

from hpl.blas.catalogue import Blas, BlasLibrary, Threading
from hpl.build.toolchain import Mpi
from hpl.rpeak import Rpeak
from results.record import Kind, Study, TrialRecord, TrialState
from results.store.store import Store
from runners.hosts.host_facts import host_facts
from search_spaces.load import load, space_text
from search_spaces.machine import BlasFacts, Machine
from tuner.engines.base import Engine
from tuner.engines.registry import ENGINES, make_engine
from tuner.machine.inventory import Inventory
from tuner.study.objective import of_study
from tuner.study.search.scheduler import replay_records
from tuner.trial.ladder import outcome_of
from tuner.trial.plan import TrialPlan, plan
from tuner.trial.records import started

STUDY = "overhead"
SPACE = "default"
CORES = 16
KERNELS = {"openblas": ("SkylakeX", "Cooperlake", "Haswell"), "blis": ("skx", "zen3")}
WARM_UP = 8
"""Trials before the measured ones, so that start points, which cost nothing, are behind."""
OUTPUT = "T/V                N    NB     P     Q               Time                 Gflops\n" * 40
"""As much text as HPL prints for one result."""


@dataclass(frozen=True)
class Cost:
    """Medians of one engine with so many stored trials: milliseconds per trial, and seconds to be rebuilt."""

    engine: str
    stored: int
    rebuild_s: float
    ask_ms: float
    plan_ms: float
    store_ms: float
    tell_ms: float
    total_ms: float
    worst_ms: float


@dataclass(frozen=True)
class StartUp:
    """Medians of start-ups that alternated."""

    help_s: float
    python_s: float


class Session:
    """One made-up machine with its space."""

    def __init__(self) -> None:
        blas = {name: BlasFacts(kernels) for name, kernels in KERNELS.items()}
        self.space = load(SPACE, Machine(cores=CORES, memory_bytes=64 * 2**30, blas=blas, N=20_000))
        self._site = _site()
        self._rates = random.Random(0)

    def trial(self, engine: Engine, store: Store) -> tuple[float, float, float, float]:
        """One trial as the loop makes it, without the run; seconds of ask, plan, store and tell."""
        times = [time.perf_counter()]
        asked = engine.ask()
        if asked is None:
            raise SystemExit(f"{type(engine).__name__} has nothing left to ask: take fewer --stored or --repeats")
        times.append(time.perf_counter())
        params = self.space.complete(asked)
        planned = plan(params, self._site)
        times.append(time.perf_counter())
        begun = started(STUDY, params, Kind.SEARCH, self.space.key(params))
        record = self._finished(replace(begun, number=store.begin(begun)), planned)
        store.finish(record)
        times.append(time.perf_counter())
        engine.tell(asked, outcome_of(record))
        times.append(time.perf_counter())
        ask_s, plan_s, store_s, tell_s = (end - begin for begin, end in pairwise(times))
        return ask_s, plan_s, store_s, tell_s

    def _finished(self, begun: TrialRecord, planned: TrialPlan) -> TrialRecord:
        return replace(
            begun,
            state=TrialState.COMPLETE,
            hpl=planned.runs[0],
            blas=planned.blas,
            kernel=planned.kernel,
            ranks=planned.ranks,
            threads=planned.threads,
            time_s=50.0,
            gflops=self._rates.uniform(50.0, 100.0),
            residual=2e-3,
            passed=True,
            hpl_dat=planned.hpl_dat,
            output=OUTPUT,
            ended_at=datetime.now(UTC),
            cost_s=51.0,
        )


def main() -> None:
    options = _options()
    session = Session()
    costs = []
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        database = Path(folder) / "stored.db"
        for stored in sorted(options.stored):
            _fill(database, session, stored)
            for name in options.engines:
                copy = Path(folder) / f"{name}.db"
                shutil.copy(database, copy)
                costs.append(_measure(copy, session, name, stored, options.repeats))
    start_up = _start_up(options.repeats)
    if options.json:
        print(json.dumps({"trials": [asdict(cost) for cost in costs], "start_up": asdict(start_up)}, indent=2))
        return
    print(f"Space {SPACE}, {CORES} cores, {len(session.space):,} points. Medians of {options.repeats} trials in ms.\n")
    print(_table(costs))
    extra_s = start_up.help_s - start_up.python_s
    print(
        f"\n`hpltune --help`: {start_up.help_s:.3f} s, {extra_s:.3f} s on top of Python's own {start_up.python_s:.3f} s"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stored", type=int, nargs="+", default=[10, 1_000, 10_000], help="stored trials")
    parser.add_argument("--repeats", type=int, default=20, help="measured trials, and start-ups")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--dir", type=Path, default=None, help="where the temporary databases lie")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def _site() -> Inventory:
    libraries = (
        BlasLibrary(name, name, "1", Path(f"/lib{name}.so"), Threading.PTHREADS, "", "made up") for name in KERNELS
    )
    return Inventory(
        host=host_facts(CORES),
        rpeak=Rpeak(1000.0, CORES, 2.0, 32, "", ()),
        mpis=(Mpi("openmpi", "4.1", Path("/mpicc"), Path("/mpirun"), (), "made up"),),
        blas=tuple(Blas(library.blas, library.family, (library,)) for library in libraries),
        probes={},
    )


def _study() -> Study:
    return Study(STUDY, datetime.now(UTC), SPACE, space_text(SPACE), "random", options={}, host={})


def _fill(database: Path, session: Session, stored: int) -> None:
    """Bring a database to so many finished trials, asked by random search."""
    engine = make_engine("random", session.space, 1)
    with Store.open(database) as store:
        if not store.studies():
            store.create_study(_study())
        records = store.records(STUDY)
        replay_records(engine, records, of_study(_study()))
        for _ in range(stored - len(records)):
            session.trial(engine, store)
        store.end_study(STUDY, "interrupted")


def _measure(database: Path, session: Session, name: str, stored: int, repeats: int) -> Cost:
    with Store.open(database) as store:
        store.take(STUDY)
        began = time.perf_counter()
        engine = make_engine(name, session.space, 0)
        replay_records(engine, store.records(STUDY), of_study(_study()))
        rebuild_s = time.perf_counter() - began
        trials = [session.trial(engine, store) for _ in range(WARM_UP + repeats)][WARM_UP:]
    ask_ms, plan_ms, store_ms, tell_ms = (median(part) * 1e3 for part in zip(*trials, strict=True))
    totals = [sum(trial) * 1e3 for trial in trials]
    return Cost(name, stored, rebuild_s, ask_ms, plan_ms, store_ms, tell_ms, median(totals), max(totals))


def _start_up(repeats: int) -> StartUp:
    """Start both programs in turn, so that whatever else the machine does hits them alike."""
    hpltune = [str(Path(sys.executable).with_name("hpltune")), "--help"]
    python = [sys.executable, "-c", "pass"]
    times = [(_seconds(hpltune), _seconds(python)) for _ in range(repeats + 1)][1:]
    return StartUp(*(median(column) for column in zip(*times, strict=True)))


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _table(costs: Iterable[Cost]) -> str:
    rows = ["| engine | stored | ask | plan | store | tell | total | worst | rebuilt in s |", "|---" * 9 + "|"]
    for cost in costs:
        times = (cost.ask_ms, cost.plan_ms, cost.store_ms, cost.tell_ms, cost.total_ms, cost.worst_ms, cost.rebuild_s)
        rows.append(f"| {cost.engine} | {cost.stored:,} | " + " | ".join(f"{time_:.2f}" for time_ in times) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
