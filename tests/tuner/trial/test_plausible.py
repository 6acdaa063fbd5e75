"""Runs that cannot have been as HPL says: programs that lie, and clocks that are wrong, are real executables here."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from as_user import Run, program
from found_here import shared_library
from hypothesis import given
from hypothesis import strategies as st
from replayed import replaying

from hpl.output import HplResult, Stamps
from hpl.sizing import flop_count
from hpl.witness import WHOLE, RankEnd, RankSolve, SolveConditions, parse_ends
from runners.base import ProcessUse
from tuner.commands.campaigns.run import RunRequest, run
from tuner.events import Event, Notice
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.trial import plausible
from tuner.trial.plausible import MachineLimits, MeasuredLaunch, implausible, unchecked

N = 4000
LIMITS = MachineLimits(ceiling_gflops=80.0, core_gflops=40.0, dgemm=True)


def result(gflops: float) -> HplResult:
    time_s = flop_count(N) / gflops / 1e9
    return HplResult("WR11C2R4", N, 128, 1, 2, time_s, gflops, 0.003, passed=True)


def ends(cpu_s: float, wall_s: float = 1.0) -> list[RankEnd]:
    return [RankEnd(rank, wall_s, cpu_s, wall_s, wall_s) for rank in (0, 1)]


def said(
    gflops: float,
    of_ranks: Sequence[RankEnd] = (),
    launch_s: float = 10.0,
    limits: MachineLimits = LIMITS,
    **measured: Any,
) -> str:
    launch = MeasuredLaunch(launch_s, 2, tuple(of_ranks), **measured)
    (sentence,) = implausible([result(gflops)], launch, limits)
    return sentence


def test_a_run_within_what_the_cores_can_do_counts() -> None:
    assert said(60.0, ends(0.8)) == ""
    assert said(100.0, ends(0.5)) == "", "a clock may rise after dgemm was timed"


def test_a_rate_above_what_dgemm_does_on_all_cores_is_named_with_how_far() -> None:
    told = "5000 GFLOPS are 62.5 times what dgemm does on all cores (80 GFLOPS): this program did not compute in double"
    assert said(5000.0, ends(0.8)).startswith(told)
    assert "times Rpeak (80 GFLOPS)" in said(5000.0, [], limits=replace(LIMITS, dgemm=False))
    assert said(5000.0, [], limits=replace(LIMITS, ceiling_gflops=0.0)) == "", "nothing is known of the machine"


def test_a_time_must_fit_into_the_launch() -> None:
    assert said(0.5, [], launch_s=0.7) == "HPL says that it took 85.38 s, but its whole launch was over after 0.70 s"


def test_a_clock_that_goes_slower_than_the_kernels_is_told() -> None:
    slow = [replace(end, mpi_s=0.5, real_s=10.0) for end in ends(10.0, wall_s=10.0)]
    assert said(60.0, slow).startswith("MPI's clock went 0.50 s on rank 0 while 10.00 s passed")
    near = [replace(end, mpi_s=9.2, real_s=10.0) for end in ends(10.0, wall_s=10.0)]
    assert said(60.0, near).startswith("MPI's clock went 9.20 s")
    assert said(60.0, [replace(end, mpi_s=9.95) for end in near]) == ""
    short = [replace(end, mpi_s=0.01, real_s=0.1) for end in ends(1.0)]
    assert said(60.0, short) == ""


def test_operations_must_fit_into_the_cpu_time_of_all_ranks() -> None:
    assert "its ranks used 0.20 s of CPU time" in said(60.0, ends(0.1))
    assert said(60.0, ends(0.1), limits=replace(LIMITS, core_gflops=0.0)) == ""


def test_a_launch_that_takes_far_longer_than_hpl_says_is_told_where_nothing_else_shows_its_clock() -> None:
    slow = result(10.0)
    assert slow.time_s < 5.0
    assert unchecked([slow], MeasuredLaunch(41.0))
    assert not unchecked([slow], MeasuredLaunch(36.0)), "its start and its check may take that"
    heard = MeasuredLaunch(41.0, ends=ends(1.0, wall_s=40.0))
    assert not unchecked([slow], heard), "its clock was held against the kernel's"
    noon = datetime(2025, 3, 3, 12)
    stamped = replace(slow, stamps=Stamps(noon, noon + timedelta(seconds=round(slow.time_s))))
    assert not unchecked([stamped], MeasuredLaunch(41.0))


def solved(*ranks: tuple[float, float], solve_s: float = 10.0, number: int = 0) -> dict[int, SolveConditions]:
    """What ranks told of a solve: CPU time, and waiting for a core, of each."""
    told = [
        RankSolve(rank, "node", 0.0, solve_s, {"cpu_s": cpu_s, "waited_s": waited_s, "of": len(ranks)})
        for rank, (cpu_s, waited_s) in enumerate(ranks)
    ]
    return {number: SolveConditions(told)}


TEN_S = flop_count(N) / 10e9
"""The rate of a solve of ten seconds."""


def test_hpls_time_must_be_that_for_which_its_ranks_solved() -> None:
    ten: dict[str, Any] = {"launch_s": 20.0}
    assert said(TEN_S, **ten, solves=solved((10.0, 0.0), (9.9, 0.0))) == ""
    assert said(TEN_S, **ten, solves=solved((5.0, 5.0), (5.0, 5.0))) == "", "they shared their cores with others"
    told = said(TEN_S, **ten, solves=solved((10.0, 0.0), (10.0, 0.0), solve_s=12.5))
    assert told == "HPL says that it took 10.00 s, and its ranks solved for 12.50 s"
    assert said(TEN_S, **ten, solves=solved((10.0, 0.0), (10.0, 0.0), solve_s=10.05)) == ""


def test_each_rank_must_have_computed_its_part_however_it_waited() -> None:
    spun = ProcessUse(10.0, 2**30, {0: 9.5, 1: 0.1})
    told = said(60.0, used=replace(spun, cpu_s=9.6))
    assert "rank 1 used 0.10 s of CPU time, and its part of the operations takes 0.40 s" in told
    assert said(60.0, used=spun) == "", "nobody knows who used the time after it was last looked at"
    assert "rank 1 used 0.00 s" in said(60.0, used=ProcessUse(9.6, 2**30, {0: 9.6}))
    assert said(60.0, used=ProcessUse(0.9, 2**30, {0: 0.45, 1: 0.4})) == "", "they slept for most of the solve"
    stated = replace(LIMITS, alone=False)
    assert said(60.0, used=replace(spun, cpu_s=9.6), limits=stated) == "", "an accelerator may compute meanwhile"
    assert "rank 1 used 0.01 s" in said(TEN_S, launch_s=20.0, solves=solved((9.0, 0.0), (0.01, 0.0)))
    assert "rank 1 used 0.01 s" in said(60.0, [replace(end, cpu_s=5.0 if end.rank == 0 else 0.01) for end in ends(1.0)])


@given(st.integers(1, 3000), st.integers(1, 300), st.integers(1, 6), st.integers(1, 6))
def test_the_share_of_a_rank_is_that_of_the_block_cyclic_distribution(N: int, NB: int, P: int, Q: int) -> None:
    blocks = -(-N // NB)
    owned = {
        (p, q): sum(
            sum(i % P == p for i in range(k + 1, blocks)) * sum(j % Q == q for j in range(k + 1, blocks))
            for k in range(blocks)
        )
        for p in range(P)
        for q in range(Q)
    } if blocks <= 20 else {}  # fmt: skip
    one = replace(result(60.0), N=N, NB=NB, P=P, Q=Q)
    if owned and sum(owned.values()):
        assert plausible._share(one, P * Q) == pytest.approx(flop_count(N) * min(owned.values()) / sum(owned.values()))
    assert plausible._share(one, P * Q) <= flop_count(N) / (P * Q) * (1 + 1e-9)


def test_its_ranks_must_have_solved_for_the_n_that_hpl_says() -> None:
    assert said(60.0, sizes={N}) == ""
    assert said(60.0, sizes={3800}) == "HPL says that it solved for N=4000, and its ranks solved for N=3800"


def test_operations_must_fit_into_the_cpu_time_of_the_process_tree_of_any_program() -> None:
    short = ProcessUse(0.4, 2**30, {0: 0.2, 1: 0.2})
    assert "its ranks used 0.40 s of CPU time, in which they can do 20.8 of the" in said(60.0, used=short)
    assert said(60.0, used=short, limits=replace(LIMITS, core_gflops=0.0)) == "", "an accelerator computed"
    assert said(60.0, used=replace(short, cpu_s=1.4)) == ""
    assert "its ranks used 0.40 s" in said(60.0, ends(1e6), used=short), "what it prints of itself is no proof"
    told = said(TEN_S, launch_s=20.0, solves=solved((0.1, 0.0), (0.1, 9.9)))
    assert told.startswith("its ranks used 0.20 s of CPU time")


def test_the_matrix_must_have_been_in_memory() -> None:
    whole = ProcessUse(1e4, 2**30, {0: 5e3, 1: 5e3})
    large = [replace(result(60.0), N=20_000)]
    (told,) = implausible(large, MeasuredLaunch(1e4, 2, used=whole), LIMITS)
    assert told.startswith("none of its processes had more than 1.0 GiB of memory, and a rank's part of the matrix")
    for enough in (1.5 * 2**30, 0):
        there = replace(whole, largest_bytes=int(enough))
        assert implausible(large, MeasuredLaunch(1e4, 2, used=there), LIMITS) == [""], "0: huge pages may hold it"


def test_hpls_time_must_lie_between_two_readings_of_mpis_clock() -> None:
    whole: dict[str, Any] = {"launch_s": 20.0, "solves": solved((10.0, 0.0), (10.0, 0.0), number=WHOLE)}
    read = [replace(end, mpi_s=10.0, real_s=10.0, calls=3, calls_s=(0.0, 0.3, 10.0)) for end in ends(10.0, 10.0)]
    assert said(TEN_S, read, **whole) == ""
    assert said(TEN_S * 10 / 9.7, read, **whole) == ""
    told = said(TEN_S / 0.6, read, **whole)
    assert told == (
        "HPL says that it took 6.00 s, and no two readings of MPI's clock are so far apart: it was read for 10.00 s"
    )
    often = [replace(end, calls=1000) for end in read]
    assert said(TEN_S / 0.6, often, **whole) == "", "most of them are not known"


@given(
    st.floats(1e-3, 1e6),
    st.none() | st.builds(
        ProcessUse, st.floats(0, 1e6), st.integers(0, 2**40), st.dictionaries(st.integers(0, 5), st.floats(0, 1e6))),
    st.floats(0, 1e6),
)  # fmt: skip
def test_more_cpu_time_and_memory_never_speak_against_a_run(
    gflops: float, used: ProcessUse | None, launch_s: float
) -> None:
    before = said(gflops, launch_s=launch_s, used=used)
    if used is not None and not before:
        more = replace(used, cpu_s=2 * used.cpu_s, largest_bytes=2 * used.largest_bytes)
        assert said(gflops, launch_s=launch_s, used=more) == ""


@pytest.mark.heavy
def test_that_a_time_cannot_be_checked_is_told_and_stays_with_the_study(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plausible, "START_S", 0.0)
    hpltune("dat", "HPL.dat", "--N", "2000")
    honest = replaying(home, name="honest")
    own = program(home / "xhpl", f'#!/bin/sh\n{honest} "$@"\nsleep 1\n')
    events: list[Event] = []
    run(RunRequest(home / "HPL.dat", TuneOptions(xhpl=own)), events.append, StopRequest())
    assert events.count(Notice(f"{plausible.UNCHECKED}.", caution=True)) == 1
    assert plausible.UNCHECKED in " ".join(hpltune("best", "run-HPL-1").stdout.split())


def test_what_ranks_say_at_their_end_is_read_and_damage_is_skipped() -> None:
    line = 'hpltune-end {"rank": 1, "wall_s": 2.5, "cpu_s": 2.25, "mpi_s": 2.0, "real_s": 2.0}\n'
    assert parse_ends(f'noise\n{line}hpltune-end {{"rank": 2, "wall\n') == (RankEnd(1, 2.5, 2.25, 2.0, 2.0),)
    called = line.replace("}", ', "calls": 3, "calls_s": [0.0, 0.5, "x", 2.0]}')
    assert parse_ends(called) == (RankEnd(1, 2.5, 2.25, 2.0, 2.0, 3, (0.0, 0.5, 2.0)),)


def test_a_program_that_lies_gives_no_result(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "2000")
    replaying(home, {"gflops": 0.05, "pace": 0.0})
    done = hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)["runs"]
    assert not trial["counts"]
    assert "but its whole launch was over after" in done.stderr + trial["reason"]
    (stored,) = hpltune.told("show", "run-HPL-1")
    assert stored["cost_s"] < 60, "seconds are counted by our own clock"


def test_a_program_whose_time_stamps_are_of_another_day_gives_no_result(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "2000")
    honest = replaying(home, name="honest")
    stamps = "start time Mon Mar  3 10:00:05 2025\\nHPL_pdgesv() end time   Mon Mar  3 10:00:05 2025"
    program(home / "xhpl", f"#!/bin/sh\n{honest} \"$@\" | sed '/^W[RC]/a HPL_pdgesv() {stamps}'\n")
    done = hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)["runs"]
    assert not trial["counts"]
    assert "is of a day before its launch" in trial["reason"]


def test_that_an_output_ends_before_its_last_lines_is_told(hpltune: Run, home: Path) -> None:
    hpltune("dat", "HPL.dat", "--N", "2000")
    honest = replaying(home, name="honest")
    program(home / "xhpl", f"#!/bin/sh\n{honest} \"$@\" | sed '/End of Tests/d'\n")
    done = hpltune.well("run", "HPL.dat", "--xhpl", "xhpl")
    assert "Caution: what HPL printed ends before its last lines, behind its results." in done.stdout + done.stderr


SLOW_CLOCK = """#define _GNU_SOURCE
#include <dlfcn.h>
double MPI_Wtime(void)
{
    double (*real)(void) = (double (*)(void))dlsym(RTLD_NEXT, "MPI_Wtime");
    return real() / 20;
}
"""


@pytest.mark.usefixtures("real_hpl")
def test_a_clock_of_mpi_that_runs_at_a_twentieth_is_found_out(
    hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_library(home / "slow.so", SLOW_CLOCK, "-ldl")
    hpltune("dat", "HPL.dat", "--N", "5000", "--NB", "128")
    hpltune.well("run", "HPL.dat", "--blas", "openblas", "--json")
    monkeypatch.setenv("LD_PRELOAD", str(home / "slow.so"))
    done = hpltune("run", "HPL.dat", "--blas", "openblas", "--json")
    monkeypatch.delenv("LD_PRELOAD")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)["runs"]
    assert not trial["counts"]
    assert any(words in trial["reason"] for words in ("MPI's clock went", "times what dgemm does", "its ranks used"))


CLOCK_OF_ALL = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, time);
    double half = (time->tv_sec + 1e-9 * time->tv_nsec) / 2;
    time->tv_sec = (time_t)half;
    time->tv_nsec = (long)(1e9 * (half - (double)time->tv_sec));
    return done;
}
int gettimeofday(struct timeval *time, void *zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


@pytest.mark.usefixtures("real_hpl")
def test_a_clock_of_the_whole_process_that_runs_at_half_speed_is_found_out(hpltune: Run, home: Path) -> None:
    shared_library(home / "slow.so", CLOCK_OF_ALL, "-ldl")
    hpltune("dat", "HPL.dat", "--N", "4000", "--NB", "128")
    ran = json.loads(hpltune("run", "HPL.dat", "--blas", "openblas", "--json").stdout)
    (built,) = set(re.findall(r"[^\s'\"]+/builds/[^\s'\"]+/xhpl", hpltune("export", "jsonl", ran["study"]).stdout))
    program(home / "xhpl", f'#!/bin/sh\nLD_PRELOAD="{home}/slow.so $LD_PRELOAD" exec {built}\n')
    done = hpltune("run", "HPL.dat", "--xhpl", "xhpl", "--json")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)["runs"]
    assert not trial["counts"]
    assert "MPI's clock went" in trial["reason"]
