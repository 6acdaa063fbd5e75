"""A run that died with a node, where Slurm chooses the nodes: a runner that says so once, and a program that fails."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import program
from made_study import MadeStudy

from results.record import Kind
from results.store.store import Store
from runners.base import JobId, JobStatus
from runners.batch.slurm.system import Slurm
from runners.errors import Mishap
from runners.hosts.cluster import Cluster
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from search_spaces.load import load
from tuner.budget import Budget, Meter
from tuner.clock import RealClock
from tuner.engines.outcomes import FULL
from tuner.events import Event, Notice
from tuner.machine.inventory import Nodes
from tuner.machine.problem_size import textbook
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.study.lifecycle import MachineFacts, begin
from tuner.study.objective import of_study
from tuner.study.session import StudyContext, StudySession
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

pytestmark = pytest.mark.usefixtures("mpirun")
FAKE = Path(__file__).parents[3] / "fake_bin/mpirun"
CLUSTER = Cluster(name="lab", backend="slurm", batch=Slurm(nodes=2))


class LosesANode(LocalRunner):
    """Its first job dies with a node."""

    def __init__(self) -> None:
        super().__init__(OpenMpi.installed(FAKE, "4.1.4"))

    def poll(self, ids: Collection[JobId]) -> Mapping[JobId, JobStatus]:
        first = next(iter(self._jobs))
        found = super().poll(ids)
        gone = {"event": Mishap.NODE_LOST, "lost_nodes": ("n2",)}
        return {job: replace(status, **gone) if job == first else status for job, status in found.items()}  # type: ignore[arg-type]


def test_nobody_waits_for_a_node_that_slurm_replaces_but_the_run_is_repeated(home: Path) -> None:
    options = TuneOptions(xhpl=program(home / "xhpl", "#!/bin/sh\nexit 3\n"))
    workbench = Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False)
    site = replace(workbench.site, nodes=Nodes((), 2, 1, 2**30, CLUSTER))
    events = list[Event]()
    with Store.open(home / "study.db") as store, LosesANode() as runner:
        begin(store, "study", options, MachineFacts(host={}, versions={}))
        session = StudySession(
            context=StudyContext(store, events.append, StopRequest(), home / "runs"),
            study="study",
            space=load("quick", site.machine(all_blas=True, N=1000)),
            objective=of_study(store.study("study")),
            meter=Meter(Budget(), RealClock()),
        )
        study = MadeStudy.of(session, (replace(workbench.evaluator, machine=site, runner=runner),))
        point = textbook(N=1000, NB=32, blas="xhpl", kernel="auto", ranks=2, threads=1)
        (record,) = study.launch([point], Kind.SEARCH, FULL)
    said = [event.text for event in events if isinstance(event, Notice)]
    assert said == ["Node n2 failed: the run is repeated on what Slurm gives."]
    assert record.number == 2
