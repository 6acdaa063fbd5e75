"""Limits that a process really has: what is told of them is what happens to ranks that start there."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from needs import skip_without

from runners.readiness.asking import parse_facts, script
from tuner.preflight.contract import RunPlan, Spoiler
from tuner.preflight.looking import HERE, found_in
from tuner.preflight.registry import CHECKS

RANKS = 8
MOST_S = 15
"""Open MPI hangs where it may open too few files; a start takes less than a second."""


def found_where(before: str, check: str, plan: RunPlan) -> Sequence[Spoiler]:
    """What a check finds in a process for which these commands of a shell have set a limit."""
    (one,) = [one for one in CHECKS if one.name == check]
    asking = ("sh", "-c", f'{before}\nexec sh -c "$0" sh "" /tmp', script([*one.facts, "cores", "cpus_allowed"]))
    done = subprocess.run(asking, capture_output=True, text=True, check=True)
    return list(found_in({HERE: parse_facts(done.stdout)}, plan, [one]))


def starts(before: str, mpirun: str) -> bool:
    """Whether MPI starts RANKS ranks there."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    more_ranks = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    env = {**os.environ, **as_root, **more_ranks}
    command = ("timeout", "-k", "2", str(MOST_S), "sh", "-c", f"{before}\nexec {mpirun} -n {RANKS} true")
    return subprocess.run(command, env=env, capture_output=True, check=False).returncode == 0


@pytest.mark.real
@pytest.mark.parametrize(("files", "enough"), [(36, False), (512, True)])
def test_ranks_start_where_no_limit_of_open_files_is_told(mpirun: str, files: int, *, enough: bool) -> None:
    limit = f"ulimit -n {files}"
    assert bool(found_where(limit, "open_files", RunPlan(RANKS))) is not enough
    assert starts(limit, mpirun) is enough


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of this test that allows half of a CPU."""
    version_1 = Path("/sys/fs/cgroup/cpu")
    folder = (version_1 if version_1.is_dir() else Path("/sys/fs/cgroup")) / f"hpltune-test-{os.getpid()}"
    try:
        folder.mkdir()
        if version_1.is_dir():
            (folder / "cpu.cfs_period_us").write_text("100000")
            (folder / "cpu.cfs_quota_us").write_text("50000")
        else:
            (folder / "cpu.max").write_text("50000 100000")
    except OSError:
        with suppress(OSError):
            folder.rmdir()
        skip_without("the right to make a control group")
    yield folder
    folder.rmdir()


def test_a_real_quota_of_a_control_group_is_told(group: Path) -> None:
    """The group is the process's own, as a container has it."""
    (told,) = found_where(f"echo $$ >{group}/cgroup.procs", "processor_quota", RunPlan(1))
    assert told.sentence.startswith("the control group allows 0.5 CPUs, and 1 thread will compute")
