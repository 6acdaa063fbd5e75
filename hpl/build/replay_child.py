"""A program that behaves as xhpl does and computes nothing: it prints HPL's output of runs that a table tells.

It reads HPL.dat in the folder where it is started. The ranks of an MPI launcher may start it, and then rank 0 prints;
or one process alone stands for all ranks. It needs only Python's standard library, and no MPI. Its only argument is a
JSON file:

    {"runs": [run, …], "reports": [report, …], "stop": true}

The first run whose `when` fits is what HPL says of a configuration. All keys of a run are optional:

    when              {"NB": 64, "grid": ["1x2", "2x1"]}: values of N, NB, grid, PMAP, BCAST, …; others fit all
    gflops, time_s    the rate, and HPL's time; one follows from the other; 1 GFLOPS where neither is given
    spread            part by which the rate differs at most from one run to the next: 0
    residual, passed  0.001 and true; a residual of null is not checked
    panels            [[column, time_s], …]: progress lines; without it one for each panel of the factorisation
    pace              real seconds that pass for each of HPL's: 0
    computes          seconds of CPU time that it uses for each billion operations, that of its start included: 0
    first             so many runs, told by files beside the table, behave so; later ones take the next that fits
    conditions        {"rank": {"cpu_s": 9.5}, "node": {"busy_s": 12.0, "programs": {"cc1": 2.5}}}: what the ranks
                      together and their node tell of the solve, as `native/conditions.c` does; without it nothing
    ends              what happens in place of a result, where `after`, a part of the columns, is done: "signal" kills
                      rank 0 with `number` (11), "exit" ends it with `code` (1), "hang" never ends, and "deaf" does not
                      heed SIGTERM either, "memory" is HPL's message, "silence" prints nothing and ends well
    says              a line on standard error before it ends so

`reports` are objects that each rank prints as `native/witness.c` does; `stop` tells whether HPLTUNE_STOP_AT is heeded.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from itertools import product

TYPE_CHECKING = False
"""Without `typing` and `pathlib` the program starts in half of the time."""
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeAlias

    Run: TypeAlias = Mapping[str, Any]
    """A configuration, or what the table says of one."""

LINE = "-" * 80
DOUBLE = "=" * 80
HEAD = f"""{DOUBLE}
HPLinpack 2.3  --  replayed from a table by hpltune: nothing is computed
{DOUBLE}

- The matrix A is randomly generated for each test.
- Computational tests pass if scaled residuals are less than                16.0
"""
COLUMNS = f"""
{DOUBLE}
T/V                N    NB     P     Q               Time                 Gflops
{LINE}"""
RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
FACTS = ("left", "crout", "right")
BROADCASTS = ("1rg", "1rM", "2rg", "2rM", "Lng", "LnM")
SWAPS = ("bin", "long", "mix")
LISTS = (("N", 4), ("NB", 6), ("PFACT", 13), ("NBMIN", 15), ("NDIV", 17), ("RFACT", 19), ("BCAST", 21), ("DEPTH", 23))
"""The parameters with lists, and the lines, from 0, that say how many values the next line has."""
LOOPS = ("N", "NB", "DEPTH", "BCAST", "RFACT", "PFACT", "NBMIN", "NDIV")
"""HPL's loops, below the one over grids, outermost first (`HPL_pddriver.c`)."""


def read(path: str) -> str:
    """Return the text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def configurations(text: str) -> Iterator[Run]:
    """Yield what an HPL.dat asks for, in HPL's order, in the words of a search space."""
    lines = [line.split() for line in text.splitlines()]
    values: dict[str, list[Any]] = {
        name: [int(word) for word in lines[at + 1][: int(lines[at][0])]] for name, at in LISTS
    }
    values["PFACT"] = [FACTS[one] for one in values["PFACT"]]
    values["RFACT"] = [FACTS[one] for one in values["RFACT"]]
    values["BCAST"] = [BROADCASTS[one] for one in values["BCAST"]]
    count = int(lines[9][0])
    once = {"PMAP": ("row", "column")[int(lines[8][0])], "SWAP": SWAPS[int(lines[25][0])]}
    for P, Q in zip(lines[10][:count], lines[11][:count], strict=True):
        for chosen in product(*(values[name] for name in LOOPS)):
            yield {**once, **dict(zip(LOOPS, chosen, strict=True)), "grid": f"{P}x{Q}", "P": int(P), "Q": int(Q)}


def code_of(run: Run) -> str:
    """Return the T/V code of a configuration (`HPL_pdtest.c`)."""
    order, broadcast = run["PMAP"][0].upper(), BROADCASTS.index(run["BCAST"])
    facts = f"{run['RFACT'][0]}{run['NDIV']}{run['PFACT'][0]}".upper()
    return f"W{order}{run['DEPTH']}{broadcast}{facts}{run['NBMIN']}"


def operations(N: int) -> float:
    """Return the operations of a solve of order N (`HPL_pdtest.c`)."""
    return 2.0 / 3.0 * N**3 + 1.5 * N**2


def fits(run: Run, when: Run) -> bool:
    """Return whether a configuration has the values that a run of the table is for."""
    return all(run.get(name) in (value if isinstance(value, list) else [value]) for name, value in when.items())


class ReplayedRuns:
    """What the JSON file tells."""

    def __init__(self, path: str) -> None:
        self.path = path
        told = json.loads(read(path))
        self.runs: list[Run] = told["runs"]
        self.reports: list[Run] = told.get("reports", [])
        self.stops: bool = told.get("stop", True)

    def told_of(self, run: Run) -> Run | None:
        """Return what the table says of a configuration, or None."""
        for number, one in enumerate(self.runs):
            if fits(run, one.get("when", {})) and ("first" not in one or self._left(number, one["first"])):
                return one
        return None

    def _left(self, number: int, most: int) -> bool:
        """Take one of the first runs, where one is left."""
        for turn in range(most):
            try:
                os.close(os.open(f"{self.path}.{number}.{turn}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            return True
        return False


def panels_of(run: Run, told: Run, time_s: float) -> list[tuple[int, float]]:
    """Return the progress of a run as pairs of a column and HPL's seconds."""
    if "panels" in told:
        return [(column, panel_s) for column, panel_s in told["panels"]]
    N = int(run["N"])
    return [(column, time_s * (1 - (1 - column / N) ** 3)) for column in range(0, N, run["NB"])]


def say_panel(run: Run, column: int, time_s: float, more: str = "") -> None:
    """Print a progress line as `native/progress.c` does."""
    line = f'hpltune-panel {{"N": {run["N"]}, "column": {column}, "time_s": {time_s:.4f}{more}}}\n'
    sys.stderr.write(line)
    sys.stderr.flush()


def end_badly(told: Run) -> None:
    """End as the table wants it; return where HPL goes on with the next run."""
    ends = told["ends"]
    sys.stdout.flush()
    if "says" in told:
        print(told["says"], file=sys.stderr, flush=True)
    if ends == "signal":
        os.kill(os.getpid(), told.get("number", signal.SIGSEGV))
    if ends == "exit":
        sys.exit(told.get("code", 1))
    if ends == "silence":
        sys.exit(0)
    if ends == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while ends in ("hang", "deaf"):
        time.sleep(3600)
    print("HPL ERROR from process # 0, on line 177 of function HPL_pdtest:")
    print(">>> [0,0] Memory allocation failed for A, x and b. Skip. <<<", flush=True)


def say_conditions(told: Run, solve: int, time_s: float) -> None:
    """Print what one rank, which stands for all, and its node did during a solve."""
    end_s = time.monotonic()
    when = {"host": os.uname().nodename, "solve": solve, "begin_s": end_s - time_s, "end_s": end_s}
    rank = {"rank": 0, **when, "of": 1, **told.get("rank", {})}
    node = {**when, "cores": os.cpu_count(), **told.get("node", {})}
    sys.stderr.write(f"hpltune-solve {json.dumps(rank)}\nhpltune-node {json.dumps(node)}\n")
    sys.stderr.flush()


def play(run: Run, told: Run, stop_at: float | None, solve: int) -> None:
    """Print one run of HPL, the solve of this number of a launch, as the table tells it."""
    N = run["N"]
    luck = 1.0 + told.get("spread", 0.0) * (time.time_ns() // 1000 % 2001 - 1000) / 1000
    given = told.get("time_s", operations(N) / told.get("gflops", 1.0) / 1e9) / luck
    time_s = max(given, 1e-9)
    gflops = told["gflops"] * luck if "gflops" in told else operations(N) / time_s / 1e9
    pace, began = told.get("pace", 0.0), time.monotonic()
    print(COLUMNS, flush=True)
    for column, panel_s in panels_of(run, told, time_s):
        time.sleep(max(0.0, pace * panel_s - (time.monotonic() - began)))
        if "ends" in told and column >= told.get("after", 0.0) * N:
            end_badly(told)
            return
        if stop_at is not None and column > 0 and column >= int(stop_at * N):
            say_panel(run, column, panel_s, ', "stopped": true')
            sys.exit(0)
        say_panel(run, column, panel_s)
    if "ends" in told:
        end_badly(told)
        return
    while time.process_time() < told.get("computes", 0.0) * operations(N) / 1e9:
        pass
    time.sleep(max(0.0, pace * time_s - (time.monotonic() - began)))
    if "conditions" in told:
        say_conditions(told["conditions"], solve, time_s)
    sizes = f"{N:>8} {run['NB']:>5} {run['P']:>5} {run['Q']:>5}"
    print(f"{code_of(run):<12}{sizes} {given:>18.2f} {gflops:>22.4e}")
    residual, passed = told.get("residual", 0.001), told.get("passed", True)
    if residual is not None:
        print(LINE)
        print(
            f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {residual:>16.7f} "
            f"...... {'PASSED' if passed else 'FAILED'}"
        )
    sys.stdout.flush()


def report(reports: list[Run], rank: int) -> None:
    """Say what the ranks use, as `native/witness.c` does."""
    for one in reports:
        threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
        line = {"rank": rank, "host": os.uname().nodename, "pid": os.getpid(), "threads": threads, **one}
        sys.stderr.write(f"hpltune-rank {json.dumps(line)}\n")
        sys.stderr.flush()


def main() -> int:
    """Print the output of all runs of HPL.dat; return the exit code."""
    rank = next((int(os.environ[name]) for name in RANKS if name in os.environ), 0)
    table = ReplayedRuns(sys.argv[1])
    report(table.reports, rank)
    if rank:
        return 0
    stop_at = os.environ.get("HPLTUNE_STOP_AT") if table.stops else None
    print(HEAD, flush=True)
    for solve, run in enumerate(configurations(read("HPL.dat"))):
        told = table.told_of(run)
        if told is None:
            print(f"the table {table.path} tells nothing of {run}", file=sys.stderr)
            return 1
        play(run, told, None if stop_at is None else float(stop_at), solve)
    print(f"{DOUBLE}\n\nEnd of Tests.\n{DOUBLE}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
