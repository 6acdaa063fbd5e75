"""Runs that cannot have been as HPL says: programs that lie, and clocks that are wrong, are real executables here."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import Run, program
from replayed import replaying

from hpl.flops import flop_count
from hpl.output import HplResult
from hpl.witness import RankEnd, parse_ends
from tuner.trial.plausible import MachineLimits, implausible

N = 4000
LIMITS = MachineLimits(ceiling_gflops=80.0, core_gflops=40.0, dgemm=True)


def result(gflops: float) -> HplResult:
    time_s = flop_count(N) / gflops / 1e9
    return HplResult("WR11C2R4", N, 128, 1, 2, time_s, gflops, 0.003, passed=True)


def ends(cpu_s: float, wall_s: float = 1.0) -> list[RankEnd]:
    return [RankEnd(rank, wall_s, cpu_s, wall_s, wall_s) for rank in (0, 1)]


def said(gflops: float, of_ranks: list[RankEnd], launch_s: float = 10.0, limits: MachineLimits = LIMITS) -> str:
    (sentence,) = implausible([result(gflops)], of_ranks, launch_s, limits)
    return sentence


def test_a_run_within_what_the_cores_can_do_counts() -> None:
    assert said(60.0, ends(0.8)) == ""
    assert said(100.0, ends(0.5)) == "", "a clock may rise after dgemm was timed"


def test_a_rate_above_what_dgemm_does_on_all_cores_is_named_with_how_far() -> None:
    told = "5000 GFLOPS are 62.5 times what dgemm does on all cores (80 GFLOPS): this program did not compute"
    assert said(5000.0, ends(0.8)).startswith(told)
    assert "times Rpeak (80 GFLOPS)" in said(5000.0, [], limits=replace(LIMITS, dgemm=False))
    assert said(5000.0, [], limits=replace(LIMITS, ceiling_gflops=0.0)) == "", "nothing is known of the machine"


def test_a_time_must_fit_into_the_launch() -> None:
    assert said(0.5, [], launch_s=0.7) == "HPL says that it took 85.38 s, but its whole launch was over after 0.70 s"


def test_a_clock_that_goes_slower_than_the_kernels_is_told() -> None:
    slow = [replace(end, mpi_s=0.5, real_s=10.0) for end in ends(10.0, wall_s=10.0)]
    assert said(60.0, slow).startswith("MPI's clock went 0.50 s on rank 0 while 10.00 s passed")
    short = [replace(end, mpi_s=0.01, real_s=0.1) for end in ends(1.0)]
    assert said(60.0, short) == ""


def test_operations_must_fit_into_the_cpu_time_of_all_ranks() -> None:
    assert "its ranks used 0.20 s of CPU time" in said(60.0, ends(0.1))
    assert said(60.0, ends(0.1), limits=replace(LIMITS, core_gflops=0.0)) == ""


def test_what_ranks_say_at_their_end_is_read_and_damage_is_skipped() -> None:
    line = 'hpltune-end {"rank": 1, "wall_s": 2.5, "cpu_s": 2.25, "mpi_s": 2.0, "real_s": 2.0}\n'
    assert parse_ends(f'noise\n{line}hpltune-end {{"rank": 2, "wall\n') == (RankEnd(1, 2.5, 2.25, 2.0, 2.0),)


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"gflops": 50_000.0, "pace": 0.0}, "times what dgemm does on all cores"),
        ({"gflops": 0.05, "pace": 0.0}, "but its whole launch was over after"),
    ],
)
def test_a_program_that_lies_gives_no_result(hpltune: Run, home: Path, run: dict[str, float], told: str) -> None:
    hpltune("dat", "HPL.dat", "--N", "2000")
    replaying(home, run)
    done = hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)["runs"]
    assert not trial["counts"]
    assert told in done.stderr + trial["reason"]
    (stored,) = json.loads(hpltune("show", "run-HPL-1", "--json").stdout)
    assert stored["cost_s"] < 60, "seconds are counted by our own clock"


RESIDUALS = {
    "nan": "its residual is nan, which is no number above 0",
    "-nan": "its residual is",
    "inf": "its residual is inf, which is no number above 0",
    "0.0": "its residual is 0.0, which is no number above 0",
    "17.5": "its residual is 17.5, not below 16, although HPL says PASSED",
}


@pytest.mark.parametrize("residual", RESIDUALS)
def test_the_number_of_the_residual_decides_and_not_the_word(hpltune: Run, home: Path, residual: str) -> None:
    hpltune("dat", "HPL.dat", "--N", "2000")
    honest = replaying(home, name="honest")
    program(
        home / "xhpl",
        f"#!/bin/sh\n{honest} \"$@\" | sed 's/[0-9.]* \\.\\.\\.\\.\\.\\. PASSED/{residual} ...... PASSED/'\n",
    )
    done = hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)["runs"]
    assert not trial["counts"]
    assert RESIDUALS[residual] in trial["reason"]


SLOW_CLOCK = """#define _GNU_SOURCE
#include <dlfcn.h>
double MPI_Wtime(void)
{
    double (*real)(void) = (double (*)(void))dlsym(RTLD_NEXT, "MPI_Wtime");
    return real() / 20;
}
"""


@pytest.mark.real
@pytest.mark.usefixtures("real_hpl")
def test_a_clock_of_mpi_that_runs_at_a_twentieth_is_found_out(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shutil.which("cc") or "gcc"
    (home / "slow.c").write_text(SLOW_CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", home / "slow.so", home / "slow.c", "-ldl"], check=True)
    hpltune("dat", "HPL.dat", "--N", "5000", "--NB", "128")
    honest = hpltune("run", "HPL.dat", "--blas", "openblas", "--json")
    assert honest.returncode == 0, honest.stderr
    monkeypatch.setenv("LD_PRELOAD", str(home / "slow.so"))
    done = hpltune("run", "HPL.dat", "--blas", "openblas", "--json")
    monkeypatch.delenv("LD_PRELOAD")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)["runs"]
    assert not trial["counts"]
    assert any(words in trial["reason"] for words in ("MPI's clock went", "times what dgemm does", "its ranks used"))
