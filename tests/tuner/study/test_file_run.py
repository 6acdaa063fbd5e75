"""A file is measured as it is: a record of each of its configurations, and one more launch after a lost node."""

import shlex
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from as_user import program
from record_builders import a_study

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.record import TrialState
from results.store.store import Store
from runners.base import JobId, JobStatus
from runners.batch.slurm.system import Slurm
from runners.errors import Mishap
from runners.hosts.cluster import Cluster
from runners.launchers.openmpi import OpenMpi
from runners.local import LocalRunner
from tuner.events import Event, Notice
from tuner.machine.inventory import Nodes
from tuner.options import TuneOptions
from tuner.stopping import StopRequest
from tuner.study.file_run import FileBook, FileRun
from tuner.trial.plan import Launch, Placement, placed
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

pytestmark = pytest.mark.usefixtures("mpirun")
FAKE = Path(__file__).parents[2] / "fake_bin/mpirun"
CLUSTER = Cluster(name="lab", backend="slurm", batch=Slurm(nodes=2))
PRINTS = """#!{python}
import os, sys
from pathlib import Path
if os.environ.get("OMPI_COMM_WORLD_RANK", "0") != "0":
    sys.exit()
calls = Path({calls!r})
calls.write_text(calls.read_text() + "x" if calls.exists() else "x")
if len(calls.read_text()) <= {losses}:
    sys.exit(3)
for NB in (32, 64):
    print(f"WR11C2R4 600 {{NB}} 1 2 0.15 9.6000e-01")
    print("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= 0.0039 ...... PASSED")
print("End of Tests.")
"""
"""An HPL of two runs, which fails as often as nodes are lost."""


class LosesNodes(LocalRunner):
    """Its first jobs die with a node."""

    def __init__(self, mpirun: Path, losses: int) -> None:
        super().__init__(OpenMpi.installed(mpirun, "4.1.4"))
        self.losses = losses

    def poll(self, ids: Collection[JobId]) -> Mapping[JobId, JobStatus]:
        lost = list(self._jobs)[: self.losses]
        found = super().poll(ids)
        gone = {"event": Mishap.NODE_LOST, "lost_nodes": ("n2",)}
        return {job: replace(status, **gone) if job in lost else status for job, status in found.items()}  # type: ignore[arg-type]


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "study.db") as opened:
        opened.create_study(a_study("run-HPL-1"))
        yield opened


def file_run(home: Path, store: Store, events: list[Event], losses: int) -> FileRun:
    text = PRINTS.format(python=shlex.quote(sys.executable), calls=str(home / "calls"), losses=losses)
    prints = program(home / "xhpl", text)
    options = TuneOptions(xhpl=prints)
    workbench = Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False)
    machine = replace(workbench.site, nodes=Nodes((), 2, 1, 2**30, CLUSTER))
    dat = HplDat.together([HplParams(600, NB, 1, 2) for NB in (32, 64)])
    assert dat is not None
    placement = Placement(blas="xhpl", kernel="auto", ranks=2, threads=1, launch=Launch())
    plan = placed(machine, tuple(dat.runs()), render(dat), placement)
    evaluator = replace(workbench.evaluator, machine=machine, runner=LosesNodes(FAKE, losses))
    book = FileBook(store, "run-HPL-1", home / "runs")
    return FileRun(plan, book, evaluator, 60.0, events.append, StopRequest())


def test_each_configuration_has_a_record_that_is_begun_before_the_launch(home: Path, store: Store) -> None:
    done = file_run(home, store, [], losses=0).measure()
    assert [record.params["NB"] for record in done.in_order] == [32, 64]
    assert [record.number for record in done.in_order] == [1, 2]
    assert {record.directory for record in done.in_order} == {str(home / "runs/run-HPL-1/00001")}
    assert [store.get("run-HPL-1", number).key.split()[1] for number in (1, 2)] == ["NB=32", "NB=64"]


def test_a_file_is_run_once_more_after_a_node_was_lost(home: Path, store: Store) -> None:
    events = list[Event]()
    done = file_run(home, store, events, losses=1).measure()
    said = [event.text for event in events if isinstance(event, Notice)]
    assert said == ["Node n2 failed: the run is repeated on what Slurm gives."]
    assert [record.number for record in done.in_order] == [3, 4]
    assert done.lost_nodes == ()
    assert [record.state for record in store.records("run-HPL-1")][:2] == [TrialState.CANCELLED] * 2


def test_a_file_whose_nodes_are_lost_twice_keeps_the_records_of_its_last_launch(home: Path, store: Store) -> None:
    done = file_run(home, store, [], losses=2).measure()
    assert done.lost_nodes == ("n2",)
    assert [record.number for record in done.in_order] == [3, 4]
    assert {record.state for record in done.in_order} == {TrialState.CANCELLED}
