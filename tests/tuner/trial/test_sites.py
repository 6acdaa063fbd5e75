"""The sites of the product keep their one contract: a machine, a virtual cluster, a table."""

from dataclasses import replace
from pathlib import Path

import pytest
from replayed import replaying
from site_contract import Params, SiteContract

from runners.virtual.load import load_cluster
from tuner.engines.outcomes import Fidelity, Rung
from tuner.machine.problem_size import textbook
from tuner.options import TuneOptions
from tuner.replay.player import Player
from tuner.replay.table import ReplayTable
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.simulator import Simulator
from tuner.trial.evaluate import Evaluator
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

TABLE = """N,NB,grid,gflops,cost_s
20000,128,2x8,212.4,29.0
20000,192,2x8,219.7,28.3
"""


@pytest.mark.usefixtures("mpirun")
class TestMachine(SiteContract):
    @pytest.fixture
    def site(self, home: Path) -> Evaluator:
        options = TuneOptions(xhpl=replaying(home, {"when": {"NB": 64}, "ends": "hang"}))
        return Workbench.open(options, UserDirs.of_user(), lambda _: None, probing=False).evaluator

    @pytest.fixture
    def wish(self) -> Params:
        return textbook(N=600, NB=32, blas="xhpl", kernel="auto", ranks=1, threads=1)

    @pytest.fixture
    def slow(self, site: Evaluator, wish: Params) -> tuple[Evaluator, Params]:
        return site, {**wish, "NB": 64}

    rung = pytest.fixture(lambda _: Rung(Fidelity.PREFIX, 0.5))


@pytest.mark.real
@pytest.mark.usefixtures("simgrid", "home")
class TestVirtualCluster(SiteContract):
    @pytest.fixture
    def site(self) -> Simulator:
        return Simulator(SimulatedCluster.open(load_cluster("kronos"), UserDirs.of_user(), None, None), 2)

    @pytest.fixture
    def wish(self) -> Params:
        return textbook(N=600, NB=32, blas="atlas", kernel="auto", ranks=4, threads=1)

    @pytest.fixture
    def slow(self, site: Simulator, wish: Params) -> tuple[Simulator, Params]:
        return site, {**wish, "N": 8000, "NB": 8}

    rung = pytest.fixture(lambda _: Rung(Fidelity.SMALL, 0.35))


class TestTable(SiteContract):
    @pytest.fixture
    def site(self, home: Path) -> Player:
        table = home / "table.csv"
        table.write_text(TABLE)
        return Player(ReplayTable.read(table))

    @pytest.fixture
    def wish(self, site: Player) -> Params:
        return site.table.space("own").first

    @pytest.fixture
    def slow(self, site: Player, wish: Params) -> tuple[Player, Params]:
        return replace(site, speed=10.0), wish

    rung = pytest.fixture(lambda _: Rung(Fidelity.PREFIX, 0.5))
