"""Settings of the system reach the ranks of real HPL: what /proc tells of them while they run."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from as_user import Run
from needs import skip_without

from runners.hosts.system_facts import this_system
from runners.process_tree import MARK

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
SPACE = """[parameters]
N = 2500
NB = 128
grid = "auto"
layout = ["2x1", "1x2"]
BCAST = "1rM"
"""


@dataclass
class Seen:
    """What /proc told of the ranks of a study.

    Attributes:
        environments: of each rank.
        cpus: the CPUs that it may use, by its process id.
        huge_kib: the most transparent huge pages that it had, in KiB.
    """

    environments: dict[int, dict[str, str]] = field(default_factory=dict)
    cpus: dict[int, str] = field(default_factory=dict)
    huge_kib: dict[int, int] = field(default_factory=dict)

    def look(self, home: Path) -> None:
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                pid = int(place.name)
                if (
                    place.joinpath("comm").read_text() != "xhpl\n"
                    or home not in place.joinpath("cwd").readlink().parents
                ):
                    continue
                words = place.joinpath("environ").read_bytes().decode().split("\0")
                told = dict(word.split("=", 1) for word in words if "=" in word)
                if MARK in told:
                    self.environments[pid] = told
                    self.cpus[pid] = _field(place / "status", "Cpus_allowed_list:")
                    pages = int(_field(place / "smaps_rollup", "AnonHugePages:").split()[0])
                    self.huge_kib[pid] = max(pages, self.huge_kib.get(pid, 0))


def tunables(variables: dict[str, str]) -> list[str]:
    """The tunables of a rank; the C library ends each with a zero byte once it has read it, like a variable."""
    split = [f"{name}={value}" for name, value in variables.items() if name.startswith("glibc.")]
    return [*variables["GLIBC_TUNABLES"].split(":"), *split]


def _field(file: Path, name: str) -> str:
    return next(line.removeprefix(name).strip() for line in file.read_text().splitlines() if line.startswith(name))


@contextmanager
def watching(home: Path) -> Iterator[Seen]:
    """Look at the ranks of runs below a folder all the time."""
    seen, over = Seen(), threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            seen.look(home)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def study(hpltune: Run, home: Path, text: str, *more: str) -> Seen:
    (home / "mine.toml").write_text(SPACE + text)
    asked = ("tune", "--space", "mine.toml", "--engine", "grid", "--trials", "8", "--confirm", "0", "--study", "mine")
    with watching(home) as seen:
        done = hpltune(*asked, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return seen


def params(hpltune: Run) -> list[dict[str, object]]:
    trials = hpltune.told("show", "mine")
    return [trial["params"] for trial in trials if trial["kind"] == "search" and trial["state"] == "complete"]


@pytest.fixture
def two_cores() -> None:
    """Skips where ranks cannot use CPUs 0 and 1."""
    if {0, 1} - os.sched_getaffinity(0) or "taskset" not in this_system().programs:
        skip_without("two CPUs")


def test_huge_pages_of_malloc_hold_the_matrix(hpltune: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = this_system()
    if system.glibc < (2, 35) or system.transparent_huge_pages != "madvise":
        skip_without("huge pages for those who ask")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=1000000")
    seen = study(hpltune, home, 'sys.malloc_huge_pages = "auto"\n', "--set", "layout=2x1", "--set", "blas=openblas")
    told = {pid: tunables(variables) for pid, variables in seen.environments.items()}
    ranks = {value: [pid for pid, each in told.items() if f"glibc.malloc.hugetlb={value}" in each] for value in (0, 1)}
    assert all("glibc.malloc.trim_threshold=1000000" in each for each in told.values())
    assert max(seen.huge_kib[pid] for pid in ranks[1]) > 10_000
    assert max(seen.huge_kib[pid] for pid in ranks[0]) < 10_000
    assert {one["sys.malloc_huge_pages"] for one in params(hpltune)} == {0, 1}


@pytest.mark.usefixtures("two_cores")
def test_cores_waiting_partition_and_variables_reach_the_ranks(hpltune: Run, home: Path) -> None:
    text = """sys.cores = "0-1"
sys.omp_wait = ["active", "passive"]
sys.blis_partition = ["own", "1x2x1x1"]
env.MALLOC_ARENA_MAX = 3
"""
    seen = study(hpltune, home, text, "--set", "blas=blis")
    search = {pid: told for pid, told in seen.environments.items() if told.get("MALLOC_ARENA_MAX") == "3"}
    assert {seen.cpus[pid] for pid, told in search.items() if told["OMP_NUM_THREADS"] == "1"} == {"0", "1"}
    assert {seen.cpus[pid] for pid, told in search.items() if told["OMP_NUM_THREADS"] == "2"} == {"0-1"}
    assert {told["OMP_WAIT_POLICY"] for told in search.values()} == {"active", "passive"}
    parted = [told for told in search.values() if "BLIS_IC_NT" in told]
    assert {(told["BLIS_JC_NT"], told["BLIS_IC_NT"], told["OMP_NUM_THREADS"]) for told in parted} == {("1", "2", "2")}
    assert len(params(hpltune)) >= 5
