from dataclasses import replace
from pathlib import Path

import pytest

from runners.batch.slurm.srun import Srun
from runners.errors import InvalidJobError
from runners.job import Job

JOB = Job(program=("/opt/xhpl",), ranks=4, directory=Path("/run"), threads_per_rank=2)


def test_ranks_are_spread_over_the_nodes_and_bound_to_as_many_cores_as_they_have_threads() -> None:
    assert Srun(2).command(JOB) == [
        "srun", "--mpi=pmix", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--distribution=block",
        "--cpus-per-task=2", "--cpu-bind=cores", "--kill-on-bad-exit=1", "--export=ALL", "--chdir=/run", "/opt/xhpl",
    ]  # fmt: skip


def test_variables_and_parameters_reach_the_ranks_whole_and_srun_not_at_all() -> None:
    job = replace(JOB, environment={"LD_PRELOAD": "/w.so", "B": "x, y"}, mpi_parameters={"btl": "tcp,self"})
    found = Srun(2).command(job)
    assert found[found.index("/usr/bin/env") :] == [
        "/usr/bin/env", "B=x, y", "LD_PRELOAD=/w.so", "OMPI_MCA_btl=tcp,self", "/opt/xhpl",
    ]  # fmt: skip


def test_ranks_use_the_interfaces_that_the_cluster_names() -> None:
    job = replace(JOB, interfaces=("ib0", "eth1"))
    assert "OMPI_MCA_btl_tcp_if_include=ib0,eth1" in Srun(2).command(job)
    own = replace(job, mpi_parameters={"btl_tcp_if_include": "lo"})
    assert "OMPI_MCA_btl_tcp_if_include=lo" in Srun(2).command(own)
    assert {"UCX_NET_DEVICES=ib0,eth1", "FI_TCP_IFACE=ib0"} <= set(Srun(2, "pmi2", "").command(job))


@pytest.mark.parametrize(
    ("binding", "option"), [("core", "cores"), ("numa", "ldoms"), ("socket", "sockets"), ("none", "none")]
)
def test_each_binding_has_slurms_own_word(binding: str, option: str) -> None:
    assert f"--cpu-bind={option}" in Srun(2).command(replace(JOB, binding=binding))


def test_oversubscribed_ranks_are_not_bound() -> None:
    found = Srun(2).command(replace(JOB, oversubscribe=True))
    assert {"--overcommit", "--cpu-bind=none"} <= set(found)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ranks": 5}, "5 ranks cannot be spread evenly over 2 nodes"),
        ({"binding": "l3cache"}, "cannot bind ranks to l3cache"),
    ],
)
def test_what_srun_cannot_do_is_said(changed: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidJobError, match=words):
        Srun(2).command(replace(JOB, **changed))  # type: ignore[arg-type]


CAPTURED = {
    "exit": "a rank on n2 ended with code 3",
    "ill": "an instruction its CPU lacks",
    "kill": "a rank on n1 was killed (signal 9)",
    "launch": "could not be started on node n2: Communication connection failure",
    "missing": "/there/is/none is missing on a node",
    "node": "node n2 failed",
    "over": "fewer cores than ranks",
    "plugin": "no such way to start MPI",
    "pmi": "another --mpi",
    "segv": "a rank on n2 was ended: Segmentation fault",
}


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[2] / "data").glob("srun*.txt")), ids=lambda file: file.stem
)
def test_what_srun_really_printed_is_explained(file: Path) -> None:
    _, case, code = file.stem.split("-")
    assert CAPTURED[case] in Srun(2).explain(JOB, int(code), file.read_text())


@pytest.mark.parametrize(
    ("code", "stderr", "words"),
    [
        (139, "", "a rank exited on signal 11"),
        (1, "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0", "want of memory"),
        (1, "something nobody has seen\n", "srun ended with code 1: something nobody has seen"),
    ],
)
def test_the_rest_is_explained_by_its_code_or_its_last_words(code: int, stderr: str, words: str) -> None:
    assert words in Srun(2).explain(JOB, code, stderr)
