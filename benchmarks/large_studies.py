"""What large stored studies cost the engine `hpl` and `explain`: processor time, memory, and how soon a signal ends it.

    python benchmarks/large_studies.py                                 # 100, 1,000 and 10,000 trials of `default`
    python benchmarks/large_studies.py --trials 200 --space full --cores 96

The rates are made up, everything around them is the real thing: a study of full runs, small runs and prefixes in a
store, read by a process of its own that tells them an engine, asks it, and tells it what it asked, as `tune --resume`
does; and `hpltune explain`. Then SIGTERM is sent to either in the middle of its work.
"""

import argparse
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from script import as_script, count

from hpl.params import HplParams
from hpl.sizing import flop_count, fraction_done
from results.record import Kind, Study, TrialRecord, TrialState
from results.store.store import Store
from search_spaces.load import load, space_text
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import Point, ranks_and_threads
from search_spaces.space import SearchSpace
from tuner.cli.signals import stop_on_signals
from tuner.engines.outcomes import FULL, Outcome, Rung
from tuner.engines.registry import make_engine
from tuner.explain.stored_space import searched, stored_space
from tuner.options import TuneOptions
from tuner.stopping import Interrupted, StopRequest
from tuner.study.names import SEARCHED
from tuner.study.objective import of_study
from tuner.study.search.loop import replay_records
from tuner.trial.ladder import PREFIX_PARTS, SMALL_PART, ladder

N = 20_000
STARTING_S = 4.0
NOISE, EFFECT = 0.01, 0.04
"""Standard deviations in the logarithm of the rate: of a repeated run, and from one value to the next."""
REPEATED = 0.05
"""Part of the trials that run an earlier configuration again."""
PARTS = {Kind.SMALL: SMALL_PART, Kind.PREFIX: PREFIX_PARTS[0], Kind.SEARCH: 1.0}
KERNELS = {"openblas": ("SkylakeX", "Haswell", "Zen"), "blis": ("skx", "haswell", "zen")}
ASKS = 30
HPLTUNE = Path(sys.executable).with_name("hpltune")


@dataclass(frozen=True)
class Cost:
    """Of a process: processor seconds, its largest memory, and the seconds from SIGTERM to its end, None without."""

    processor_s: float
    peak_bytes: int
    ended_s: float | None


def gflops(point: Point) -> float:
    """The rate of a full run without noise: an effect of each value."""
    drawn = (random.Random(f"{name} {value}").gauss(0, EFFECT) for name, value in point.items())
    return 1_000 * math.exp(sum(drawn))


def trial(space: SearchSpace, study: str, point: Point, kind: Kind, chance: random.Random) -> TrialRecord:
    """What is stored of a run."""
    full, part = space.complete(point), PARTS[kind]
    size = round(part * N) if kind is Kind.SMALL else N
    rate = gflops(point) * math.exp(chance.gauss(0, NOISE)) * (1.0 if kind is Kind.SEARCH else 0.8)
    done = fraction_done(size, round(part * N)) if kind is Kind.PREFIX else 1.0
    time_s = done * flop_count(size) / rate / 1e9
    began, ranks_threads = datetime.now(UTC), ranks_and_threads(full["layout"])
    return TrialRecord(
        study=study, number=0, kind=kind, state=TrialState.COMPLETE, params=full, key=space.key(point),
        started_at=began, ended_at=began + timedelta(seconds=time_s + STARTING_S), cost_s=time_s + STARTING_S,
        hpl=replace(HplParams.from_words(full), N=size), blas=str(full["blas"]), kernel=str(full["kernel"]),
        ranks=ranks_threads[0], threads=ranks_threads[1], time_s=time_s, gflops=rate, residual=1e-3, passed=True,
        part=part,
    )  # fmt: skip


def keep_study(store: Store, name: str, space: SearchSpace, trials: int) -> None:
    """Put a study of so many trials into a store."""
    chance, points = random.Random(trials), list[Point]()
    store.create_study(
        Study(
            name=name, created_at=datetime.now(UTC), space_name=space.name, space_text=space_text(space.name),
            engine="hpl", options=TuneOptions().to_json(), host={"memory_bytes": 2**40}, versions={},
        )
    )  # fmt: skip
    for _ in range(trials):
        again = points and chance.random() < REPEATED
        points.append(chance.choice(points) if again else space.point(chance.randrange(len(space))))
        record = trial(space, name, points[-1], chance.choice(list(PARTS)), chance)
        store.finish(replace(record, number=store.begin(record)))
    store.end_study(name, "interrupted")


def ask(database: Path, name: str, asks: int) -> None:
    """Go on with a study as `tune --resume` does, and print what its asks took; for a process of its own."""

    def told(_stop: StopRequest) -> None:
        """The parent knows that it asked to stop."""

    with stop_on_signals(told) as stop, Store.open(database, create=False) as store:
        study, records = searched(store, name)
        space = stored_space(study, records)
        engine = make_engine("hpl", space, 0)
        replay_records(engine, [record for record in records if record.kind in SEARCHED], of_study(study))
        resumed_s, rungs, chance = time.process_time(), ladder(N, 100.0, STARTING_S, prefixes=True), random.Random(0)
        print("asking", flush=True)
        asks_s = []
        for _ in range(asks):
            began = time.process_time()
            try:
                with stop.thinking():
                    question = engine.choose(rungs) or engine.choose((FULL,))
            except Interrupted:
                return
            asks_s.append(time.process_time() - began)
            if question is None:
                break
            engine.tell(question.params, answer(question.params, question.rung, chance))
    print(json.dumps({"resumed_s": resumed_s, "asks_s": asks_s}), flush=True)


def answer(point: Point, rung: Rung, chance: random.Random) -> Outcome:
    """What came of a question."""
    rate = gflops(point) * math.exp(chance.gauss(0, NOISE)) * (1.0 if rung == FULL else 0.8)
    time_s = rung.operations * flop_count(N) / rate / 1e9
    return Outcome(rate, time_s, rung=rung, cost_s=time_s + STARTING_S)


def run(command: Sequence[str | Path], end_after_s: float | None = None) -> tuple[Cost, str]:
    """Run a process to its end, or send it SIGTERM so long after it began to ask, or else after it began.

    Returns:
        What it cost, and the last line it printed.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    told = None
    lines = [process.stdout.readline()] if command[0] == sys.executable else []
    if end_after_s is not None:
        time.sleep(end_after_s)
        process.send_signal(signal.SIGTERM)
        told = time.monotonic()
    lines += process.stdout.read().splitlines()
    _, _, used = os.wait4(process.pid, 0)
    ended_s = None if told is None else time.monotonic() - told
    return Cost(used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, ended_s), lines[-1] if lines else ""


def row(database: Path, name: str, trials: int) -> str:
    """What a study costs, as a row of the table."""
    asking = [sys.executable, str(Path(__file__)), "--ask", name, "--database", str(database), "--asks", str(ASKS)]
    explaining = [str(HPLTUNE), "explain", name, "--db", str(database), "--json"]
    resumed, printed = run(asking)
    found = json.loads(printed)
    explained, _ = run(explaining)
    asks_ended = run(asking, 0.5)[0].ended_s
    explain_ended = run(explaining, explained.processor_s / 2)[0].ended_s
    times, mebibytes = found["asks_s"], 2**20
    cells = [
        f"{trials:,}", f"{found['resumed_s']:.1f} s", f"{1e3 * statistics.median(times):.0f} ms",
        f"{1e3 * max(times):.0f} ms", f"{resumed.peak_bytes / mebibytes:.0f} MiB", f"{asks_ended or 0:.1f} s",
        f"{explained.processor_s:.1f} s", f"{explained.peak_bytes / mebibytes:.0f} MiB", f"{explain_ended or 0:.1f} s",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=count, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--space", default="default")
    parser.add_argument("--cores", type=count, default=4)
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    parser.add_argument("--database", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--asks", type=count, default=ASKS, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.ask:
        ask(asked.database, asked.ask, asked.asks)
        return 0
    blas = {library: BlasFacts(kernels, threaded=True) for library, kernels in KERNELS.items()}
    space = load(
        asked.space,
        Machine(cores=asked.cores, memory_bytes=2**40, blas=blas, N=N),
        text=space_text(asked.space),
    )
    print(f"{asked.space} on {asked.cores} cores, {len(space):,} configurations\n")
    heads = ["trials", "until the first ask", "an ask, median", "worst", "its memory", "SIGTERM"]
    heads += ["explain", "its memory", "SIGTERM"]
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "studies.db"
        for trials in asked.trials:
            with Store.open(database) as store:
                keep_study(store, f"large-{trials}", space, trials)
            print(row(database, f"large-{trials}", trials), flush=True)
    return 0


if __name__ == "__main__":
    as_script(main)
