"""Why a study cannot begin on nodes that a batch system gives, by what the system knows."""

import pytest

from runners.batch.base import BatchFacts, BatchNode, BatchQueue
from runners.batch.dialect import Pbs
from tuner.machine.batch_nodes import allocation_faults

PBS = Pbs(nodes=2, queue="regular")
DIFFERENT = (
    "nodes of PBS have 8 to 48 cores, and PBS does not tell which of them a job gets: write how many those have as "
    "cores under [node] of the cluster file"
)


def facts(*cores: int, limit_s: float | None = None) -> BatchFacts:
    queue = BatchQueue("regular", default=False, up=True, limit_s=limit_s, nodes=len(cores), nodes_per_job=None)
    return BatchFacts((queue,), (queue,), tuple(BatchNode(f"n{at}", own, 1024, "up") for at, own in enumerate(cores)))


@pytest.mark.parametrize(
    ("told", "cores", "sentences"),
    [
        (facts(48, 48), None, []),
        (
            facts(8, 48, 48),
            None,
            [DIFFERENT],
        ),
        (facts(8, 48, 48), 48, []),
        (facts(8, 48, 48, limit_s=3600.0), None, []),
    ],
    ids=["alike", "different", "cores are told", "a queue whose nodes are known"],
)
def test_cores_are_told_where_nodes_differ_and_nobody_knows_which_a_job_gets(
    told: BatchFacts, cores: int | None, sentences: list[str]
) -> None:
    assert list(allocation_faults(PBS, told, cores)) == sentences
