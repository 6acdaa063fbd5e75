"""What real ranks tell of each solve: of themselves, and of their node."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from needs import needs, skip_without
from waiting import PATIENCE_S

from hpl.blas.registry import discover
from hpl.build.programs import Recipe, build, witness_library
from hpl.build.toolchain import Mpi, find_mpis
from hpl.dat import HplDat, render
from hpl.output import parse
from hpl.params import HplParams
from hpl.programs.registry import obtain
from hpl.search_paths import SearchPaths
from hpl.witness import WHOLE, SolveConditions, parse_conditions, parse_panels

pytestmark = pytest.mark.real

TICKS_S = 0.02
"""What the kernel's count of CPU time of a node may be wrong by, of each CPU."""


@pytest.fixture(scope="module")
def mpis(built: SearchPaths) -> list[Mpi]:
    return list(find_mpis(built))


@pytest.fixture(scope="module")
def recipe(built: SearchPaths, mpis: list[Mpi]) -> Recipe:
    libraries = [library for blas in discover(built, {}) for library in blas.libraries]
    if not libraries:
        skip_without("a BLAS library")
    return Recipe(obtain(built), mpis[0], libraries[0])


@contextmanager
def burning(cpu: int) -> Iterator[None]:
    """Keep a CPU busy with a process of ours while the block runs."""
    code = f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-IS", "-c", code]) as burner:
        try:
            yield
        finally:
            burner.kill()


def run(
    program: Path, mpi: Mpi, folder: Path, *, text: str = "", before: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run two ranks, or as many as a file asks for, which sample what `sensors` in their folder names."""
    (folder / "HPL.dat").write_text(text or render(HplDat.of(HplParams(1200, 64, 1, 2))))
    if not (folder / "sensors").exists():
        (folder / "sensors").write_text("/proc/loadavg\n/proc/nothing*\n")
    root = ["--allow-run-as-root", "--oversubscribe"] if mpi.name == "openmpi" else []
    told = {"HPLTUNE_SENSORS": "sensors", "OPENBLAS_NUM_THREADS": "1", **environment}
    return subprocess.run(
        [str(mpi.mpirun), *root, "-np", "1" if before else "2", *before, str(program)],
        cwd=folder,
        env={**os.environ, **mpi.variables(), **told},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def only(conditions: dict[int, SolveConditions], number: int) -> SolveConditions:
    assert list(conditions) == [number]
    return conditions[number]


def test_each_rank_and_the_node_tell_of_each_solve_with_every_mpi(
    built: SearchPaths, recipe: Recipe, mpis: list[Mpi], tmp_path: Path
) -> None:
    text = render(HplDat.of(HplParams(1200, 64, 1, 2)))
    text = text.replace("1            # of NBs", "2            # of NBs").replace(
        "64           NBs", "64 96        NBs"
    )
    for mpi in mpis:
        done = run(build(replace(recipe, mpi=mpi), built).path, mpi, tmp_path, text=text)
        results = parse(done.stdout).results
        told = parse_conditions(done.stderr)
        assert list(told) == [0, 1], done.stderr
        for result, solve in zip(results, told.values(), strict=True):
            assert [rank.rank for rank in solve.ranks] == [0, 1]
            assert max(rank.end_s - rank.begin_s for rank in solve.ranks) == pytest.approx(result.time_s, abs=0.02)
            (node,) = solve.nodes
            own_s = sum(rank.figures["cpu_s"] for rank in solve.ranks)
            assert node.figures["ranks"] == 2
            assert node.figures["ranks_cpu_s"] >= 0.9 * own_s
            assert node.figures["busy_s"] >= own_s - TICKS_S * node.figures["cores"]
            for rank in solve.ranks:
                assert rank.figures["of"] == 2
                assert 0 < rank.figures["cpu_s"] <= rank.end_s - rank.begin_s + 0.1
                assert {"waited_s", "involuntary_switches", "major_faults", "huge_page_bytes"} <= set(rank.figures)
            names = {series.name for series in solve.series}
            assert names == {"busy_s", "steal_s", "ranks_cpu_s", "/proc/loadavg"}


def test_without_sensors_nothing_is_told(built: SearchPaths, recipe: Recipe, tmp_path: Path) -> None:
    plain = {name: value for name, value in os.environ.items() if name != "HPLTUNE_SENSORS"}
    (tmp_path / "HPL.dat").write_text(render(HplDat.of(HplParams(300, 32, 1, 1))))
    root = ["--allow-run-as-root"] if recipe.mpi.name == "openmpi" else []
    done = subprocess.run(
        [str(recipe.mpi.mpirun), *root, "-np", "1", str(build(recipe, built).path)],
        cwd=tmp_path,
        env={**plain, **recipe.mpi.variables()},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert parse_panels(done.stderr)
    assert parse_conditions(done.stderr) == {}


def test_a_run_that_stops_early_tells_of_what_ran(built: SearchPaths, recipe: Recipe, tmp_path: Path) -> None:
    done = run(build(recipe, built).path, recipe.mpi, tmp_path, HPLTUNE_STOP_AT="0.5")
    assert parse_panels(done.stderr)[-1].stopped
    solve = only(dict(parse_conditions(done.stderr)), 0)
    assert [rank.rank for rank in solve.ranks] == [0, 1]
    assert len(solve.nodes) == 1


def test_files_of_another_root_are_read_and_what_is_not_there_is_not_told(
    built: SearchPaths, recipe: Recipe, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    files = {
        "proc/stat": "cpu  100 0 100 900 0 0 0 5 0 0\ncpu0 50 0 50 450 0 0 0 5 0 0\ncpu1 50 0 50 450 0 0 0 0 0 0\n",
        "proc/self/cgroup": "0::/job/step\n",
        "sys/fs/cgroup/job/cpu.stat": "usage_usec 9\nnr_periods 4\nnr_throttled 2\nthrottled_usec 1500000\n",
        "sys/class/powercap/intel-rapl:0/energy_uj": "262143328850\n",
        "sys/class/powercap/intel-rapl:1/energy_uj": "words\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "sensors").write_text("/sys/class/powercap/intel-rapl*/energy_uj\n")
    done = run(build(recipe, built).path, recipe.mpi, tmp_path, HPLTUNE_SYSTEM_ROOT=str(root))
    assert parse(done.stdout).results[0].passed
    solve = only(dict(parse_conditions(done.stderr)), 0)
    (node,) = solve.nodes
    assert {name: node.figures[name] for name in node.figures if name != "ranks_cpu_s"} == {
        "cores": 2,
        "physical_cores": 2,
        "ranks": 2,
        "busy_s": 0,
        "steal_s": 0,
        "throttled_s": 0,
        "throttled_periods": 0,
    }
    assert {(one.name, one.values[0]) for one in solve.series if one.name.startswith("/")} == {
        ("/sys/class/powercap/intel-rapl:0/energy_uj", 262143328850.0)
    }
    for rank in solve.ranks:
        assert not {"waited_s", "huge_page_bytes"} & set(rank.figures)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason=needs("two CPUs"))
def test_only_the_cpus_that_ranks_use_and_others_of_their_cores_count(
    built: SearchPaths, recipe: Recipe, tmp_path: Path
) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    text, bound = render(HplDat.of(HplParams(2000, 64, 1, 1))), ("taskset", "-c", str(first))
    program = build(recipe, built).path
    with burning(second):
        alone = run(program, recipe.mpi, tmp_path, text=text, before=bound)
        siblings = tmp_path / f"root/sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list"
        siblings.parent.mkdir(parents=True)
        siblings.write_text(f"{first},{second}\n")
        (tmp_path / "root/proc").mkdir()
        (tmp_path / "root/proc/stat").symlink_to("/proc/stat")
        shared = run(program, recipe.mpi, tmp_path, text=text, before=bound, HPLTUNE_SYSTEM_ROOT=str(tmp_path / "root"))
    (node,) = only(dict(parse_conditions(alone.stderr)), 0).nodes
    lasted_s = node.end_s - node.begin_s
    assert (node.figures["cores"], node.figures["physical_cores"]) == (1, 1)
    assert node.figures["busy_s"] <= lasted_s + 2 * TICKS_S, "what burns on the other CPU does not count"
    (node,) = only(dict(parse_conditions(shared.stderr)), 0).nodes
    lasted_s = node.end_s - node.begin_s
    assert (node.figures["cores"], node.figures["physical_cores"]) == (2, 1)
    assert node.figures["busy_s"] > 1.5 * lasted_s, "it takes the core that both share"


CLOCKED = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    double began;
    MPI_Init(&argc, &argv);
    began = MPI_Wtime();
    while (MPI_Wtime() < began + 1.5)
        ;
    MPI_Finalize();
    return 0;
}
"""


def test_a_program_that_we_did_not_build_tells_of_its_first_to_its_last_look_at_the_clock(
    built: SearchPaths, mpis: list[Mpi], tmp_path: Path
) -> None:
    (tmp_path / "p.c").write_text(CLOCKED)
    for mpi in mpis:
        program = tmp_path / f"clocked-{mpi.name}"
        subprocess.run([str(mpi.mpicc), str(tmp_path / "p.c"), "-o", str(program)], check=True)
        witness = witness_library(mpi, built)
        done = run(program, mpi, tmp_path, LD_PRELOAD=str(witness))
        solve = only(dict(parse_conditions(done.stderr)), WHOLE)
        assert [rank.rank for rank in solve.ranks] == [0, 1], done.stderr
        assert all(1.4 < rank.end_s - rank.begin_s <= 1.51 for rank in solve.ranks)
        (node,) = solve.nodes
        assert node.figures["ranks"] == 2
        assert len(done.stderr.splitlines()) < 20, "a program that only starts ranks says nothing"


def test_a_rank_that_crashes_leaves_nothing_behind_and_a_later_run_tells_all(
    built: SearchPaths, recipe: Recipe, tmp_path: Path
) -> None:
    (tmp_path / "p.c").write_text(CLOCKED.replace("MPI_Finalize();", "*(volatile int *)0 = 1;"))
    crashing = tmp_path / "crashing"
    subprocess.run([str(recipe.mpi.mpicc), str(tmp_path / "p.c"), "-o", str(crashing)], check=True)
    job = {"HPLTUNE_JOB": "the-same-for-both"}
    failed = run(crashing, recipe.mpi, tmp_path, LD_PRELOAD=str(witness_library(recipe.mpi, built)), **job)
    assert failed.returncode != 0
    assert parse_conditions(failed.stderr) == {}
    done = run(build(recipe, built).path, recipe.mpi, tmp_path, **job)
    solve = only(dict(parse_conditions(done.stderr)), 0)
    assert len(solve.nodes) == 1
    assert solve.nodes[0].figures["ranks"] == 2
