"""What hpltune makes of load beside HPL: are disturbed runs marked, is the rest right, and are quiet runs left alone?

Real HPL, and bursts of load by child processes of this script that burn CPU. Each part makes studies of its own in
--dir, through the command line.

- run: `hpltune run --repeats 6` with a burst from the fourth run on, after the same without load. Printed are the runs
  that were marked, how many more ran, and whether the median of what counts lies within the range of the quiet runs:
  null where all runs of one of both were disturbed.
- tune: `hpltune tune` with a burst in its confirmation, against the same without. Printed are the configurations, their
  rates, how many runs of the confirmation were disturbed, and whether the rate with the burst lies in the interval of
  the study without: null where that has no interval, as where others disturbed all runs of its winner.
- quiet: `hpltune run` again and again with no load of ours; printed is how many runs were marked, and by what. These
  are false marks only where the machine was quiet before and after; else `false_marks` is null, and the reasons say who
  took what.

Usage: python benchmarks/disturbed.py run|tune|quiet [--N 3000] [--tries 3] [--budget 60s] [--burners 4] [--dir DIR]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from results.disturbance import MOST_TAKEN, Conditions
from results.record import Kind, TrialRecord
from results.stats.disturbed_runs import DisturbedRuns, undisturbed
from results.store.store import Store
from runners.hosts.others import HERE, others_on

HPLTUNE = Path(sys.executable).with_name("hpltune")
BURN = "while True: pass"
LOOK_S = 1.0
"""Seconds between two looks at a study: twenty a second took an eighth of a core from HPL."""


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Burn CPU in so many processes of ours while the block runs."""
    burners = [subprocess.Popen([sys.executable, "-IS", "-c", BURN]) for _ in range(count)]
    try:
        yield
    finally:
        for one in burners:
            one.kill()
            one.wait()


class Home:
    """A folder with a database of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "HPLTUNE_DATA": str(folder / "data"), "NO_COLOR": "1"}
        folder.mkdir(parents=True, exist_ok=True)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start hpltune in the folder."""
        return subprocess.Popen(
            [str(HPLTUNE), *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def call(self, *arguments: str) -> str:
        """Run hpltune to its end, and return what it printed.

        Raises:
            SystemExit: it failed.
        """
        started = self.start(*arguments)
        printed = started.communicate()[0]
        if started.returncode != 0:
            raise SystemExit(printed)
        return printed

    def records(self, study: str) -> Sequence[TrialRecord]:
        """The trials of a study."""
        with Store.open(self.folder / "data/hpltune.db") as store:
            return store.records(study)

    def until(self, study: str, started: subprocess.Popen[str], kinds: frozenset[Kind], count: int) -> None:
        """Wait until so many trials of these kinds have begun, or hpltune has ended."""
        while started.poll() is None:
            try:
                begun = sum(one.kind in kinds for one in self.records(study))
            except Exception:  # noqa: BLE001 - the study is not there yet, or its database is made just now
                begun = 0
            if begun >= count:
                return
            time.sleep(LOOK_S)


def one_run(home: Home, N: int, burners: int, number: int) -> dict[str, object]:
    """Six quiet runs, then six of which a burst hits those from the fourth on."""
    for name in ("quiet.dat", "burst.dat"):
        home.call("dat", name, "--N", str(N), "--force")
    home.call("run", "quiet.dat", "--repeats", "6")
    burst = f"run-burst-{number}"
    started = home.start("run", "burst.dat", "--repeats", "6")
    home.until(burst, started, frozenset({Kind.RUN}), 4)
    with burning(burners):
        home.until(burst, started, frozenset({Kind.RUN}), 7)
    printed = started.communicate()[0]
    quiet, disturbed = home.records(f"run-quiet-{number}"), home.records(burst)
    truth = [run.gflops or 0.0 for run in undisturbed(quiet)]
    told = [run.gflops or 0.0 for run in undisturbed(disturbed) if run.ranked]
    known = all(any(run.disturbed is None for run in runs) for runs in (quiet, disturbed))
    return {
        "quiet": [_shown(run) for run in quiet],
        "burst": [_shown(run) for run in disturbed],
        "marked": [run.number for run in disturbed if run.disturbed],
        "more_runs": len(disturbed) - 6,
        "median_of_quiet": median(truth),
        "median_told": median(told),
        "median_of_all": median(run.gflops or 0.0 for run in disturbed),
        "within_the_quiet_runs": min(truth) <= median(told) <= max(truth) if known else None,
        "printed": printed.splitlines()[-4:],
    }


def one_tune(home: Home, N: int, budget: str, burners: int, number: int) -> dict[str, object]:
    """The same search without load, and with a burst in its confirmation."""
    confirming = frozenset({Kind.CONFIRMATION})
    common = ("tune", "--budget", budget, "--set", f"N={N}", "--seed", str(number))
    found: dict[str, dict[str, Any]] = {}
    for name in ("alone", "loaded"):
        study = f"{name}-{number}"
        started = home.start(*common, "--study", study)
        if name == "loaded":
            home.until(study, started, confirming, 1)
            with burning(burners):
                home.until(study, started, confirming, 5)
        printed = started.communicate()[0]
        if started.returncode != 0:
            raise SystemExit(printed)
        best = json.loads(home.call("best", study, "--json"))
        first, records = best["ranking"][0], home.records(study)
        repeats = [run for run in records if run.kind is Kind.CONFIRMATION]
        found[name] = {
            "params": first["params"],
            "expected_gflops": first["expected_gflops"],
            "interval_gflops": first["interval_gflops"],
            "confidence": best["confidence"],
            "not_told": best["confidence_not_told"],
            "all_disturbed_by": first["all_disturbed_by"],
            "confirmations": len(repeats),
            "confirmations_disturbed": sum(run.disturbed is not None for run in repeats),
            "disturbed": DisturbedRuns.of(records).to_json(),
        }
    alone, loaded = found["alone"], found["loaded"]
    changed = loaded["expected_gflops"] / alone["expected_gflops"] - 1
    ends = alone["interval_gflops"]
    return {
        **found,
        "same_configuration": alone["params"] == loaded["params"],
        "changed_percent": 100 * changed,
        "within_the_noise": ends[0] <= loaded["expected_gflops"] <= ends[1] if ends else None,
    }


def false_marks(home: Home, N: int, tries: int) -> dict[str, object]:
    """Runs with no load of ours."""
    home.call("dat", "alone.dat", "--N", str(N), "--force")
    before = others_on(None, [HERE])[HERE]
    home.call("run", "alone.dat", "--repeats", str(tries))
    after = others_on(None, [HERE])[HERE]
    runs = home.records("run-alone-1")
    marked = [run for run in runs if run.disturbed]
    quiet = max(before.part, after.part) <= MOST_TAKEN
    return {
        "others_before": str(before),
        "others_after": str(after),
        "runs": len(runs),
        "watched": sum(run.conditions is not Conditions.UNKNOWN for run in runs),
        "marked": len(marked),
        "false_marks": len(marked) if quiet else None,
        "reasons": [str(run.disturbed) for run in marked],
    }


def _shown(run: TrialRecord) -> str:
    return f"{run.gflops or 0.0:.2f}{f' disturbed: {run.disturbed}' if run.disturbed else ''}"


def main() -> None:
    """Run one part, and print what came of it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("run", "tune", "quiet"))
    parser.add_argument("--N", type=int, default=3000)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--burners", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--dir", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hpltune-disturbed-") as temporary:
        home = Home(asked.dir or Path(temporary))
        if asked.part == "quiet":
            print(json.dumps(false_marks(home, asked.N, asked.tries), indent=1), flush=True)
            return
        for number in range(1, asked.tries + 1):
            if asked.part == "run":
                told = one_run(home, asked.N, asked.burners, number)
            else:
                told = one_tune(home, asked.N, asked.budget, asked.burners, number)
            print(json.dumps(told, indent=1), flush=True)


if __name__ == "__main__":
    main()
