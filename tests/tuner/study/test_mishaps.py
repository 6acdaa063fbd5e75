"""The table of what may befall a launch: each event has one answer, whoever launched."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import program
from made_study import MadeStudy, point
from record_builders import a_study

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.record import Kind, TrialRecord, TrialState
from results.store.store import Store
from runners.base import JobId, JobStatus
from runners.batch.slurm.system import Slurm
from runners.errors import Mishap, RunnerError
from runners.hosts.cluster import Cluster
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from search_spaces.load import load
from tuner.budget import Budget, Meter
from tuner.clock import RealClock
from tuner.engines.outcomes import FULL
from tuner.errors import NodesLostError
from tuner.machine.inventory import Nodes
from tuner.options import TuneOptions
from tuner.scaling.runs import PlannedRun, ScalingSite
from tuner.scaling.statistics import NodeOrder
from tuner.stopping import StopRequest
from tuner.study.file_run import FileBook, FileRun
from tuner.study.lifecycle import MachineFacts, begin
from tuner.study.objective import of_study
from tuner.study.session import StudyContext, StudySession
from tuner.trial.evaluate import Evaluator
from tuner.trial.launching import Launching
from tuner.trial.plan import Launch, Placement, placed
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

pytestmark = pytest.mark.usefixtures("mpirun")
FAKE = Path(__file__).parents[2] / "fake_bin/mpirun"
CLUSTER = Cluster(name="lab", backend="slurm", batch=Slurm(nodes=2))
OF_STATUS = [event for event in Mishap if event is not Mishap.DISTURBED]
"""The settings of hosts tell of a disturbance, not the runner: `tests/tuner/trial/test_launching.py`."""
User = Callable[[Path, Store, Evaluator], list[TrialRecord]]


class Suffers(LocalRunner):
    """Every job of it fails, and always for the same event."""

    def __init__(self, event: Mishap) -> None:
        super().__init__(OpenMpi.installed(FAKE, "4.1.4"))
        self.event = event

    def poll(self, ids: Collection[JobId]) -> Mapping[JobId, JobStatus]:
        nodes = ("n2",) if self.event in {Mishap.NODE_LOST, Mishap.NODE_BACK} else ()
        told = f"node n2: {self.event.words}"
        return {
            job: replace(status, event=self.event, lost_nodes=nodes, message=told)
            for job, status in super().poll(ids).items()
        }


def of_kind(kind: Kind) -> User:
    """A study's pilot, search or confirmation."""

    def run(home: Path, store: Store, evaluator: Evaluator) -> list[TrialRecord]:
        begin(store, "study", TuneOptions(), MachineFacts(host={}, versions={}))
        session = StudySession(
            context=StudyContext(store, lambda _: None, StopRequest(), home / "runs"),
            study="study",
            space=load("quick", evaluator.machine.machine(all_blas=True, N=1000)),
            objective=of_study(store.study("study")),
            meter=Meter(Budget(), RealClock()),
        )
        study = MadeStudy.of(session, (evaluator,))
        study.launch([point(blas="xhpl")], kind, FULL)
        return []

    return run


def file_run(home: Path, store: Store, evaluator: Evaluator) -> list[TrialRecord]:
    """`run`, and the rounds of `compare --interleaved`."""
    store.create_study(a_study("study"))
    dat = HplDat.of(HplParams(600, 32, 1, 2))
    placement = Placement(blas="xhpl", kernel="auto", ranks=2, threads=1, launch=Launch())
    plan = placed(evaluator.machine, tuple(dat.runs()), render(dat), placement)
    book = FileBook(store, "study", home / "runs")
    done = FileRun(plan, book, evaluator, 60.0, lambda _: None, StopRequest()).measure()
    if done.event:
        raise RunnerError(done.why)
    return done.in_order


def scale(home: Path, store: Store, evaluator: Evaluator) -> list[TrialRecord]:
    """A run of a scaling analysis, which goes on without nodes that are lost."""
    store.create_study(a_study("study"))
    site = ScalingSite(evaluator, {"NB": 32, "blas": "xhpl", "kernel": "auto"}, on=lambda _: evaluator)
    book = FileBook(store, "study", home / "runs")
    site.study = "study"
    site.launching = Launching(sites=[evaluator], book=book, listener=lambda _: None, stop=StopRequest())
    site.begin(PlannedRun(1, NodeOrder.SORTED, 0, 600), None)
    ended = site.launching.next()
    if ended.lost_nodes:
        raise NodesLostError(ended.lost_nodes, ended.why)
    if ended.why:
        raise RunnerError(ended.why)
    return ended.in_order


USERS = {
    "pilot": of_kind(Kind.PILOT),
    "search": of_kind(Kind.SEARCH),
    "confirmation": of_kind(Kind.CONFIRMATION),
    "run": file_run,
    "scale": scale,
}


@pytest.mark.parametrize("user", USERS)
def test_each_event_has_one_answer_whoever_launched(home: Path, user: str) -> None:
    options = TuneOptions(xhpl=program(home / "xhpl", "#!/bin/sh\nexit 3\n"))
    workbench = Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False)
    machine = replace(workbench.site, nodes=Nodes((), 2, 1, 2**30, CLUSTER))
    for event in OF_STATUS:
        folder = home / event.name
        with Store.open(folder / "study.db") as store, Suffers(event) as runner:
            evaluator = replace(workbench.evaluator, machine=machine, runner=runner)
            if event.lasting:
                with pytest.raises((NodesLostError, RunnerError), match="n2"):
                    USERS[user](folder, store, evaluator)
            else:
                USERS[user](folder, store, evaluator)
            *spared, last = store.records("study")
        assert len(spared) == event.repeats, event
        assert {record.state for record in spared} <= {TrialState.CANCELLED}, event
        assert last.state is (TrialState.CANCELLED if event.lasting else TrialState.FAILED), event
        assert f"node n2: {event.words}" in last.reason
