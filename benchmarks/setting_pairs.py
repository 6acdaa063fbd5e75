"""What a setting of the ranks is worth: pairs of real runs of HPL, one with each of two values, in alternate order.

    python benchmarks/setting_pairs.py XHPL --set sys.malloc_huge_pages=0,1 --pairs 20
    python benchmarks/setting_pairs.py XHPL --set env.MALLOC_ARENA_MAX=1,8 --N 8000 --NB 256

XHPL is a program that `tune` has built, below ~/.cache/hpltune/builds. It runs as one rank with one thread, without a
launcher. Beside HPL's own rate stand CPU seconds in user mode: they hardly change when other programs take the core
meanwhile, so they tell a part of a percent on a machine that is not quiet. The time of the kernel, which makes pages
ready before HPL's clock starts, is shown and not compared.
"""

import argparse
import os
import resource
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from script import as_script, count

from hpl.blas.family import thread_variables
from hpl.dat import HplDat, render
from hpl.output import parse
from hpl.params import HplParams
from runners.errors import RefusedError
from runners.hosts.system_facts import this_system
from runners.settings.registry import HostsOffer, setting
from runners.settings.setting import LaunchSetting
from runners.settings.sys import with_tunables


@dataclass(frozen=True)
class Ran:
    """One run: HPL's rate, and CPU seconds of the whole process."""

    gflops: float
    user_s: float
    kernel_s: float


def ran(program: Path, dat: str, one: LaunchSetting, value: str) -> Ran:
    """Run the program in a folder of its own.

    Raises:
        RefusedError: it did not end with a result that passed.
    """
    own = with_tunables(os.environ, {**thread_variables(1), **one.environment(value)})
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "HPL.dat").write_text(dat, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        line = [*one.command(value, this_system()), str(program)]
        told = subprocess.run(line, cwd=folder, env=own, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    results = parse(told.stdout).results
    if len(results) != 1 or not results[0].passed:
        raise RefusedError(f"{program} gave no result that passed: {(told.stderr or told.stdout)[-200:].strip()}")
    return Ran(results[0].gflops, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)


def gains(runs: Sequence[Mapping[str, Ran]], first: str, second: str) -> tuple[list[float], list[float]]:
    """By how many percent the second value is better in each pair: in rate, and in user time."""
    rates = [100 * (pair[second].gflops / pair[first].gflops - 1) for pair in runs]
    return rates, [100 * (pair[first].user_s / pair[second].user_s - 1) for pair in runs]


def sentence(name: str, each: Sequence[float]) -> str:
    """The middle of the pairs, and how many agree."""
    better = sum(gain > 0 for gain in each)
    return f"{name}: median {median(each):+.2f} %, better in {better} of {len(each)} pairs"


def main(arguments: Sequence[str]) -> int:
    """Run the pairs and print each of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--set", required=True, metavar="NAME=A,B", help="a setting with two values")
    parser.add_argument("--pairs", type=count, default=10)
    parser.add_argument("--N", type=count, default=5000)
    parser.add_argument("--NB", type=count, default=192)
    asked = parser.parse_args(arguments)
    name, _, listed = asked.set.partition("=")
    values = listed.split(",")
    one = setting(name)
    if not isinstance(one, LaunchSetting) or len(values) != 2:
        raise RefusedError(f"--set {asked.set}: name a setting of ranks, as sys.malloc_huge_pages, and two values")
    for value in values:
        why = HostsOffer({"": this_system()}).why_not(name, value)
        if why:
            raise RefusedError(why)
    dat = render(HplDat.of(HplParams(N=asked.N, NB=asked.NB, P=1, Q=1)))
    runs = []
    for number in range(asked.pairs):
        order = values if number % 2 == 0 else values[::-1]
        pair = {value: ran(asked.program.absolute(), dat, one, value) for value in order}
        runs.append(pair)
        shown = (f"{value}: {pair[value].gflops:.2f} GFLOPS, {pair[value].user_s:.3f} s user, "
                 f"{pair[value].kernel_s:.3f} s kernel" for value in values)  # fmt: skip
        print("   ".join(shown), flush=True)
    rates, users = gains(runs, *values)
    print(sentence(f"{name} = {values[1]} against {values[0]}, rate", rates))
    print(sentence("User time", users))
    return 0


if __name__ == "__main__":
    as_script(main)
