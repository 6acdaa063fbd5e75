"""What each setting of the best configuration is worth."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from results.store.store import Store
from runners.virtual.load import load_cluster
from tuner.budget import Budget
from tuner.options import TuneOptions
from tuner.simulation.cluster import SimulatedCluster, cluster_dict
from tuner.simulation.reproduction import neighbours, published, search, setting_losses
from tuner.simulation.session import virtual_session
from tuner.stopping import StopRequest
from tuner.study.session import StudyContext
from tuner.study.sized_study import SizedStudy
from tuner.user_dirs import UserDirs

KRONOS = published("kronos")

FEW = {
    "N": ["600"], "NB": ["16", "64"], "grid": ["1x8", "2x4"], "BCAST": ["1rg", "Lng"], "SWAP": ["bin", "mix"],
    "NBMIN": ["2", "8"], "net.mtu": ["1500", "9000"],
}  # fmt: skip


@pytest.fixture
def study(home: Path, simgrid: object) -> Iterator[SizedStudy]:
    """A search of one trial in a small space; seed 2 begins five settings away from the best."""
    assert simgrid
    places = UserDirs.of_user()
    site = SimulatedCluster.open(load_cluster("kronos"), places, None, None)
    options = TuneOptions(
        space="kronos-free",
        engine="random",
        seed=2,
        budget=Budget(trials=1),
        overrides=FEW,
        cluster=cluster_dict(site.cluster),
    )
    with Store.open(home / "own.db") as store:
        bench = StudyContext(store, lambda _: None, StopRequest(), home / "runs")
        with virtual_session("small", options, site, bench) as study:
            yield study


def test_every_setting_of_the_best_is_weighed_wherever_the_search_began(study: SizedStudy) -> None:
    best = search(study)
    assert best is not None
    found = setting_losses(study, best, KRONOS, 8)
    assert {row.name for row in found} == set(study.session.space.varying)
    assert {row.name for row in found if row.assumed is not None} == {"BCAST", "DEPTH", "SWAP", "NBMIN"}
    simulated = {entry.key for entry in study.session.ranking()}
    assert all(study.session.space.key(point) in simulated for _, point in neighbours(study, best.params))
    assert all(row.worst_loss >= 0 for row in found)
