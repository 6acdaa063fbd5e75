import os
from pathlib import Path

import pytest
from as_user import tree
from hypothesis import given
from hypothesis import strategies as st
from needs import needs

from runners.hosts.host_facts import busy_sentence, confined, host_facts, memory_available_bytes
from runners.paths import RunPaths, Tail

MIB = 2**20


def test_free_memory_is_what_the_kernel_can_give_without_swapping(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/meminfo": "MemTotal: 4096 kB\nMemFree: 10 kB\nMemAvailable: 2048 kB\n"})
    assert memory_available_bytes(root) == 2048 * 1024


@pytest.mark.parametrize("limit", ["own", "parent"])
def test_the_tightest_control_group_limits_the_memory(tmp_path: Path, limit: str) -> None:
    group = "sys/fs/cgroup/job" if limit == "parent" else "sys/fs/cgroup/job/step"
    files = {
        "proc/meminfo": "MemAvailable: 999999 kB\n",
        "proc/self/cgroup": "0::/job/step\n",
        f"{group}/memory.max": str(100 * MIB),
        f"{group}/memory.current": str(30 * MIB),
        "sys/fs/cgroup/memory.max": "max",
    }
    assert memory_available_bytes(tree(tmp_path, files)) == 70 * MIB


def test_control_groups_of_version_1_limit_too(tmp_path: Path) -> None:
    files = {
        "proc/meminfo": "MemAvailable: 999999 kB\n",
        "proc/self/cgroup": "5:cpu,memory:/box\n1:name=systemd:/\n",
        "sys/fs/cgroup/memory/box/memory.limit_in_bytes": str(64 * MIB),
        "sys/fs/cgroup/memory/box/memory.usage_in_bytes": str(4 * MIB),
    }
    assert memory_available_bytes(tree(tmp_path, files)) == 60 * MIB


def test_the_facts_of_this_host_make_sense_and_can_be_stored() -> None:
    facts = host_facts(physical_cores=1)
    assert facts.physical_cores == 1 <= facts.logical_cpus
    assert 0 < facts.memory_available_bytes <= facts.memory_total_bytes


def test_a_busy_machine_is_told_and_an_idle_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (3.0, 0.0, 0.0))
    assert "load 3.0 on 4 cores" in str(busy_sentence(4))
    assert "load 3.0 on 1 core)" in str(busy_sentence(1))
    monkeypatch.setattr("os.getloadavg", lambda: (0.2, 9.0, 9.0))
    assert busy_sentence(4) is None


@given(st.lists(st.text(alphabet="abc\n", max_size=8)))
def test_every_complete_line_of_a_growing_file_is_given_once(pieces: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        tail, seen = Tail(path), []
        for piece in pieces:
            with path.open("a") as file:
                file.write(piece)
            seen += tail.lines()
        assert seen == "".join(pieces).split("\n")[:-1]


def test_a_file_that_is_not_there_yet_has_no_lines(tmp_path: Path) -> None:
    assert Tail(tmp_path / "none").lines() == []


def test_the_command_of_a_run_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    paths.write_command(["mpirun", "-x", "A=x y", "/opt/my xhpl"], ())
    assert paths.read_command() == "mpirun -x 'A=x y' '/opt/my xhpl'"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason=needs("two CPUs"))
def test_who_may_use_every_cpu_is_not_confined_though_their_numbers_have_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda _name: len(os.sched_getaffinity(0)) - 1)
    assert not confined()
