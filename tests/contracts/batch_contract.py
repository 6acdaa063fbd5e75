"""What every batch system promises; its tests inherit the class and give their own `batch`, which asks for one node."""

import subprocess
from pathlib import Path

import pytest
from runner_contract import executable, running
from waiting import until

from runners.base import JobState
from runners.batch.base import BatchJob, BatchSystem, JobPhase
from runners.batch.registry import BATCH_SYSTEMS, batch_system
from runners.errors import RunnerError
from runners.hosts.cluster import Cluster, stored_cluster

LIMIT_S = 600.0


def submitted(batch: BatchSystem, folder: Path, text: str, *words: str) -> str:
    script = executable(folder / "script", text)
    return batch.submit(1, LIMIT_S, folder / "log", (str(script), *words))


def ended(batch: BatchSystem, job: str) -> BatchJob:
    seen: list[BatchJob] = []

    def over() -> bool:
        seen.append(batch.status([job])[job])
        return seen[-1].phase is JobPhase.ENDED

    until(over)
    return seen[-1]


class BatchContract:
    @pytest.fixture
    def batch(self) -> BatchSystem:
        raise NotImplementedError

    def test_it_is_registered_under_its_name(self, batch: BatchSystem) -> None:
        assert batch.name in BATCH_SYSTEMS
        assert isinstance(batch, batch_system(batch.name))

    def test_what_a_cluster_file_asks_of_it_is_stored_and_read_again(self, batch: BatchSystem) -> None:
        cluster = Cluster(name="lab", backend=batch.name, batch=batch)
        table = cluster.table()
        assert table[batch.name]["nodes"] == batch.nodes
        assert stored_cluster(table).batch == batch

    def test_a_script_runs_with_its_words_and_its_output_is_kept(self, batch: BatchSystem, tmp_path: Path) -> None:
        job = ended(batch, submitted(batch, tmp_path, 'echo "says: $2"', "one", "two words"))
        assert (job.by_its_script, job.event) == (True, None)
        assert job.told()
        assert "says: two words" in (tmp_path / "log").read_text()

    def test_a_script_that_fails_is_told_as_one_that_ended_by_itself(self, batch: BatchSystem, tmp_path: Path) -> None:
        job = ended(batch, submitted(batch, tmp_path, "exit 3"))
        assert (job.by_its_script, job.state) == (True, JobState.FAILED)

    def test_a_cancelled_job_ends_and_so_does_its_script(self, batch: BatchSystem, tmp_path: Path) -> None:
        number = submitted(batch, tmp_path, f"exec {executable(tmp_path / 'program', 'sleep 600; exit 0')}")
        until(lambda: running(tmp_path / "program"))
        batch.cancel([number])
        job = ended(batch, number)
        assert (job.state, job.by_its_script) == (JobState.CANCELLED, False)
        until(lambda: not running(tmp_path / "program"))
        batch.cancel([number])

    def test_a_job_that_nobody_submitted_is_not_told_of(self, batch: BatchSystem) -> None:
        assert batch.status(["987654"]) == {}

    def test_more_nodes_than_there_are_are_refused(self, batch: BatchSystem, tmp_path: Path) -> None:
        many = batch.model_copy(update={"nodes": 900})
        with pytest.raises(RunnerError, match=batch.words.title):
            submitted(many, tmp_path, "echo never")

    def test_what_ends_steps_is_a_function_for_the_shell(self, batch: BatchSystem) -> None:
        told = ("sh", "-c", f"{batch.end_steps}\ncommand -v end_steps")
        assert subprocess.run(told, capture_output=True, text=True, check=True).stdout == "end_steps\n"


class HoldingContract(BatchContract):
    """What a batch system promises besides that can hold nodes, name those of a job, and leave some out."""

    def test_a_running_job_has_nodes(self, batch: BatchSystem, tmp_path: Path) -> None:
        number = submitted(batch, tmp_path, "sleep 600")
        until(lambda: batch.status([number])[number].phase is JobPhase.RUNNING)
        assert len(batch.hosts(number)) == batch.nodes
        assert set(batch.hosts(number)) <= {node.name for node in batch.facts().nodes}
        batch.cancel([number])

    def test_a_job_without_nodes_waits_with_its_reason(self, batch: BatchSystem, tmp_path: Path) -> None:
        every = batch.on([node.name for node in batch.facts().nodes])
        with every.hold(1, LIMIT_S, lambda _: None, lambda: False):
            number = submitted(every, tmp_path, "echo never")
            until(lambda: "waits: " in batch.status([number])[number].sentence)
            assert batch.status([number])[number].phase is JobPhase.WAITING
            batch.cancel([number])
        assert ended(batch, number).state is JobState.CANCELLED

    def test_nodes_are_held_reached_and_given_back(self, batch: BatchSystem, tmp_path: Path) -> None:
        with batch.hold(1, LIMIT_S, lambda _: None, lambda: False) as job:
            assert job is not None
            (node,) = batch.hosts(job)
            assert batch.shortened([node]) == node
            for argv in (
                batch.steps(job).argv(node, ("echo", "by a step")),
                [*batch.as_ssh(job, tmp_path / "as-ssh"), "-o", "BatchMode=yes", node, "--", "echo 'by a step'"],
            ):
                assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "by a step\n"
        assert ended(batch, job)

    def test_a_wait_for_nodes_that_somebody_stops_leaves_no_job(self, batch: BatchSystem) -> None:
        every = batch.on([node.name for node in batch.facts().nodes])
        with batch.hold(1, LIMIT_S, lambda _: None, lambda: True) as job:
            assert job is None
        with every.hold(1, LIMIT_S, lambda _: None, lambda: False) as job:
            assert job is not None, "all nodes are free again"

    def test_nodes_are_known_and_can_be_left_out_or_named(self, batch: BatchSystem) -> None:
        facts = batch.facts()
        assert [queue.default or queue.name == batch.asked_queue for queue in facts.asked] == [True]
        first, *others = facts.usable()
        assert first.cores >= 1
        assert first.memory_bytes > 0
        without = batch.without([first.name])
        assert first.name in without.excluded
        assert {node.name for node in without.facts().nodes} == {node.name for node in others}
        named = batch.on([first.name])
        assert (named.nodes, bool(named.nodes_named_by), batch.nodes_named_by) == (1, True, "")
        assert [node.name for node in named.facts().nodes] == [first.name]
