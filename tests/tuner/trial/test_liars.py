"""Programs that print a plausible result and did not compute it: real executables, started by a real MPI launcher."""

import json
import re
import sys
from pathlib import Path

import pytest
from as_user import Run, program
from found_here import shared_library
from replayed import replaying

from hpl.build.replay_child import code_of, configurations

N = 8000
SECONDS = 8.0
LIAR = """#!{python}
import os, sys, time
N, SECONDS = {N}, {seconds}
rank = int(next(os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK") if name in os.environ))
def spin(seconds):
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        pass
def say(N=N, seconds=SECONDS, tests=1):
    if rank:
        return
    gflops = (2 / 3 * N**3 + 1.5 * N**2) / seconds / 1e9
    print("T/V                N    NB     P     Q               Time                 Gflops")
    print("-" * 80)
    print(f"{code}{{N:>8}}   128 {P:>5} {Q:>5} {{seconds:>18.2f}} {{gflops:>22.4e}}")
    print("-" * 80)
    print("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0031415 ...... PASSED")
def end():
    if not rank:
        print("=" * 80 + "\\n\\nEnd of Tests.")
{does}
"""
REFUSED = "this program did not "
"""Solve for N; or not even compute, where others took the cores from what spins."""
LIARS = {
    "sleeps": ("time.sleep(SECONDS + 0.5); say(); end()", "did not compute"),
    "spins on one rank": (
        "spin(SECONDS + 0.5) if rank == 0 else time.sleep(SECONDS + 1)\nsay(); end()",
        "this program did not compute",
    ),
    "burns a little CPU time": ("spin(0.3); time.sleep(SECONDS + 0.5); say(); end()", "did not compute"),
    "prints from a cache": ("say(); end()", "but its whole launch was over after"),
    "prints a result in front of another one": (
        "say(seconds=7.0); time.sleep(SECONDS); say(); end()",
        "HPL printed 2 results, and 1 was asked for",
    ),
    "solves for a smaller N": ("time.sleep(SECONDS + 0.5); say(N=N - 100); end()", "that was not asked for"),
    "ends one rank at once": (
        "sys.exit(0) if rank else spin(SECONDS + 0.5)\nsay(); end()",
        "this program did not compute",
    ),
    "spins on all ranks and holds no matrix": ("spin(SECONDS + 0.5); say(); end()", REFUSED),
    "holds the matrix and computes nothing": (
        "held = b'x' * (8 * N * N // 2); time.sleep(SECONDS + 0.5); say(); end()",
        "did not compute",
    ),
    "lets a child burn the time": (
        "os.fork() or (spin(SECONDS + 0.5), os._exit(0))\nos.wait(); say(); end()",
        REFUSED,
    ),
    "lets a child of one rank burn the time": (
        "rank or os.fork() or (spin(SECONDS + 0.5), os._exit(0))\ntime.sleep(SECONDS + 1.0); say(); end()",
        "this program did not compute",
    ),
    "waits and prints an earlier output": (
        """
screen = sys.stdout
with open(f"earlier{rank}", "w+") as sys.stdout:
    say(); end(); time.sleep(SECONDS + 0.5); sys.stdout.seek(0); screen.write(sys.stdout.read())""",
        "did not compute",
    ),
    "lets a service compute": (
        "os.fork() or (os.setsid(), time.sleep(SECONDS), os._exit(0)); time.sleep(SECONDS + 0.5); say(); end()",
        "did not compute",
    ),
}


@pytest.mark.usefixtures("mpirun")
@pytest.mark.parametrize("liar", LIARS)
def test_what_was_not_computed_does_not_count_and_a_sentence_says_why(hpltune: Run, home: Path, liar: str) -> None:
    hpltune("dat", "HPL.dat", "--N", str(N), "--NB", "128")
    (asked,) = configurations((home / "HPL.dat").read_text())
    code = f"{code_of(asked):<11}"
    does, told = LIARS[liar]
    program(
        home / "xhpl",
        LIAR.format(python=sys.executable, code=code, P=asked["P"], Q=asked["Q"], N=N, seconds=SECONDS, does=does),
    )
    done = hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json")
    assert done.stdout, done.stderr
    (trial,) = json.loads(done.stdout)["runs"]
    assert not trial["counts"], done.stdout
    assert told in trial["reason"], trial["reason"]
    assert done.returncode == 1


@pytest.mark.usefixtures("mpirun")
def test_no_study_is_made_of_sleepers_and_none_is_checked_by_one(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "4000")
    replaying(home)
    assert hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--repeats", "3").returncode == 0
    replaying(home, gflops=78.0, computes=0.0)
    tuned = hpltune("tune", "--xhpl", "xhpl", "--budget", "60s")
    assert (tuned.returncode, "this program did not compute" in tuned.stderr) == (1, True), tuned.stderr
    checked = hpltune("check", "--baseline", "run-HPL-1", "--wait-for-quiet", "0")
    assert checked.returncode == 1, checked.stdout
    assert "this program did not compute" in " ".join((checked.stdout + checked.stderr).split())


SLOWER = """#define _GNU_SOURCE
#include <dlfcn.h>
double MPI_Wtime(void)
{
    double (*real)(void) = (double (*)(void))dlsym(RTLD_NEXT, "MPI_Wtime");
    return 0.92 * real();
}
"""
AWK = r"""/^W[RC]/ { $6 = sprintf("%.2f", 0.6 * $6); $7 = sprintf("%.4e", $7 / 0.6) } { print }"""


@pytest.mark.usefixtures("real_hpl")
def test_a_true_run_counts_and_its_time_told_shorter_does_not(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "4000", "--NB", "128")
    done = hpltune.well("run", "HPL.dat", "--blas", "openblas", "--json")
    stored = hpltune("export", "jsonl", json.loads(done.stdout)["study"]).stdout
    (built,) = set(re.findall(r"[^\s'\"]+/builds/[^\s'\"]+/xhpl", stored))
    program(home / "xhpl", f"#!/bin/sh\n{built} | awk '{AWK}'\n")
    lie = json.loads(hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json").stdout)["runs"][0]
    assert (lie["counts"], "its ranks solved for" in lie["reason"]) == (False, True), lie["reason"]
    hpltune("dat", "smaller.dat", "--N", "3800", "--NB", "128")
    larger = "/^W[RC]/ { $2 = 4000; $7 *= (4000 / 3800) ^ 3 } { print }"
    program(home / "xhpl", f"#!/bin/sh\ncp '{home}/smaller.dat' HPL.dat\n{built} | awk '{larger}'\n")
    lie = json.loads(hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json").stdout)["runs"][0]
    assert (lie["counts"], "its ranks solved for N=3800" in lie["reason"]) == (False, True), lie["reason"]
    shared_library(home / "slow.so", SLOWER, "-ldl")
    program(home / "xhpl", f'#!/bin/sh\nLD_PRELOAD="{home}/slow.so $LD_PRELOAD" exec {built}\n')
    shifted = json.loads(hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json").stdout)["runs"][0]
    assert not shifted["counts"]
    assert "MPI's clock went" in shifted["reason"] or "its ranks solved for" in shifted["reason"]
