"""What is simulated before the first full run of a study on a cluster."""

import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from as_user import program
from net_lab import HostsLab
from on_head import OnHead, on_head
from record_builders import a_study
from waiting import until

from hpl.build.simgrid import SimGrid
from hpl.params import Scalar
from results.store.store import Store
from runners.hosts.cluster import Cluster
from runners.virtual.cluster import VirtualNoise
from search_spaces.load import load
from tuner.budget import Budget, Meter
from tuner.clock import RealClock
from tuner.engines.probes import Messages, Probes
from tuner.events import Event, Notice
from tuner.machine.inventory import Nodes
from tuner.options import TuneOptions
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.opening import SimulatedOpening, virtual_copy
from tuner.simulation.simulator import Wish, simulate
from tuner.stopping import StopRequest
from tuner.study.objective import of_study
from tuner.study.session import StudyContext, StudySession
from tuner.study.warm_start import Advice
from tuner.trial.workbench import Workbench
from tuner.user_dirs import UserDirs

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_hpl")]
MEASURED = Probes({"openblas": {"auto": 40.0}}, 4, messages=Messages(5e-5, 1.2e7), half_nb=12.0)
NONE = "No simulated opening, so HPL's model alone chooses the first full run"
SIMULATED = re.compile(
    r"Simulated opening: (\d+) configurations on a virtual copy of the 4 nodes took [\d.]+ s"
    r"(, its share of 5% of the budget)?; it advises "
    r"NB=(\d+) grid=(\dx\d)(?: BCAST=\w+)? DEPTH=(\d), which runs first\."
)


class Begun:
    """A study that was just begun on nodes that only its inventory knows: nothing runs on them."""

    def __init__(self, home: Path) -> None:
        self.store = Store.open(home / "study.db")
        self.store.create_study(a_study())
        self.stop, self.home = StopRequest(), home
        self.site = Workbench.open(
            TuneOptions(blas_only=("openblas",)), UserDirs.of_user(), lambda _: None, probing=False
        ).site
        self.said: list[str] = []

    def opened(
        self, *, nodes: int = 4, cores: int = 1, wall_s: float | None = None, known: Probes = MEASURED
    ) -> Advice | None:
        """What is advised on so many nodes, as each session of the study asks it."""
        inner = Nodes(
            tuple(f"n{one}" for one in range(nodes)),
            nodes,
            cores,
            2**34,
            Cluster(name="lab", backend="ssh", hosts=("n0",)),
        )
        host = replace(self.site.host, physical_cores=nodes * cores)
        site = replace(self.site, nodes=inner, host=host)
        session = StudySession(
            context=StudyContext(self.store, self._hear, self.stop, self.home / "runs"),
            study=a_study().name,
            space=load("quick", site.machine(all_blas=True, N=2000), {"blas": ["openblas"], "BCAST": ["1rM", "Lng"]}),
            objective=of_study(a_study()),
            meter=Meter(Budget(wall_s=wall_s), RealClock()),
        )
        return SimulatedOpening(UserDirs.of_user(), None, 0, jobs=1)(session, site, replace(known, nodes=nodes))

    def _hear(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.said.append(event.text)


@pytest.fixture
def begun(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begun]:
    """A new study; what simulations leave behind is in a folder of its own."""
    (home / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(home / "tmp"))
    study = Begun(home)
    yield study
    study.store.close()


@pytest.mark.usefixtures("simgrid")
def test_ranks_of_the_copy_wait_for_each_other_because_no_two_compute_alike() -> None:
    copy = virtual_copy(replace(MEASURED, messages=Messages(5e-6, 1e9)), 4, 40.0)
    site = SimulatedCluster.open(copy, UserDirs.of_user(), None, None)
    point: dict[str, Scalar] = {"N": 4000, "NB": 64, "grid": "2x2", "layout": "4x1", "blas": "blas", "SWAP": "long"}
    wishes = [Wish(point, copy.model_copy(update={"noise": noise})) for noise in (VirtualNoise(), copy.noise)]
    even, uneven = simulate(site, wishes, jobs=1, limit_s=60, stop=StopRequest())
    assert even.gflops
    assert uneven.gflops
    assert uneven.gflops < 0.995 * even.gflops


@pytest.mark.usefixtures("simgrid")
def test_the_fastest_in_the_simulation_runs_first_and_all_of_it_is_taught(begun: Begun) -> None:
    advised = begun.opened()
    assert advised is not None
    told = SIMULATED.fullmatch(advised.sentence)
    assert told is not None, advised.sentence
    assert int(told[1]) == len(advised.points) > 8
    best, gflops = advised.points[0]
    assert [str(best[name]) for name in ("NB", "grid", "DEPTH")] == [*told.groups()[2:]]
    assert gflops == max(rate or 0.0 for _, rate in advised.points)
    assert advised.tried == 1
    assert not list((begun.home / "tmp").iterdir())


@pytest.mark.usefixtures("simgrid")
def test_a_study_that_is_gone_on_with_does_not_simulate_again(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    first = begun.opened()
    monkeypatch.setattr("hpl.build.simgrid.simgrid_here", lambda _: None)
    again = begun.opened()
    assert first is not None
    assert again is not None
    assert again.points == first.points
    assert again.sentence == f"{len(first.points)} configurations, simulated when the study began, still count."


def test_without_simgrid_one_sentence_says_what_serves_instead(begun: Begun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpl.build.simgrid.simgrid_here", lambda _: None)
    assert begun.opened() is None
    (sentence,) = begun.said
    assert sentence.startswith(
        f"{NONE}: virtual clusters need SimGrid, which is not here: `hpltune setup ⟦with⟧ simgrid`"
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"nodes": 1, "cores": 4},
        {"nodes": 2, "cores": 1},
        {"nodes": 2, "cores": 64},
        {"wall_s": 30.0},
        {"known": replace(MEASURED, messages=None)},
    ],
    ids=["one node", "two ranks", "128 ranks", "little time", "messages unknown"],
)
def test_nothing_is_simulated_and_nothing_said_where_it_does_not_pay(begun: Begun, asked: dict[str, object]) -> None:
    assert begun.opened(**asked) is None  # type: ignore[arg-type]
    assert begun.said == []


Hanging = Callable[[int], Path]


@pytest.fixture
def hanging(simgrid: SimGrid, begun: Begun, monkeypatch: pytest.MonkeyPatch) -> Hanging:
    """Makes a SimGrid whose simulations hang after so many, and names the file that tells so."""

    def make(count: int) -> Path:
        tools, hangs = begun.home / "tools", begun.home / "hangs"
        tools.mkdir()
        main = program(
            tools / "smpimain",
            f"#!/bin/sh\necho x >>{begun.home}/calls\n"
            f'[ $(wc -l <{begun.home}/calls) -le {count} ] && exec {simgrid.smpimain} "$@"\n'
            f"touch {hangs}\nexec sleep 1000\n",
        )
        (tools / "smpicc").symlink_to(simgrid.smpicc)
        program(tools / "smpirun", f"#!/bin/sh\nexec {main}\n")
        monkeypatch.setenv("PATH", f"{tools}:/usr/local/bin:/usr/bin:/bin")
        return hangs

    return make


def left_running() -> list[str]:
    """What this process started and did not end."""
    return [one.name() for one in psutil.Process().children(recursive=True) if one.name() in {"sleep", "smpimain"}]


def test_what_was_simulated_in_its_share_of_the_time_is_used(begun: Begun, hanging: Hanging) -> None:
    hanging(3)
    advised = begun.opened(wall_s=60.0)
    assert advised is not None
    assert len(advised.points) == 3
    assert ", its share of 5% of the budget; it advises " in advised.sentence
    assert not left_running()
    assert not list((begun.home / "tmp").iterdir())


def test_where_not_one_simulation_ended_in_time_a_sentence_says_so(begun: Begun, hanging: Hanging) -> None:
    hanging(0)
    assert begun.opened(wall_s=60.0) is None
    (sentence,) = begun.said
    assert sentence.startswith(f"{NONE}: the simulation was ")


@pytest.mark.parametrize("done", [0, 2])
def test_a_request_to_stop_ends_it_and_leaves_nothing_behind(begun: Begun, hanging: Hanging, done: int) -> None:
    hangs = hanging(done)

    def ask() -> None:
        until(hangs.exists)
        begun.stop.ask()

    asking = threading.Thread(target=ask)
    asking.start()
    advised = begun.opened()
    asking.join()
    assert (advised is None) is (done == 0)
    assert advised is None or len(advised.points) == done
    assert not left_running()
    assert not list((begun.home / "tmp").iterdir())
    assert begun.said == []


@pytest.fixture
def hpltune(hosts: HostsLab, home: Path) -> OnHead:
    lab = hosts.wired(4)
    (home / "lab.toml").write_text(lab.cluster(hosts=list(lab.names)) + "[node]\nmemory_gib = 1\ncores = 1\n")
    return on_head(lab, home)


@pytest.mark.usefixtures("simgrid")
def test_a_study_on_a_cluster_begins_with_what_its_virtual_copy_advises(hpltune: OnHead, home: Path) -> None:
    small = ("--space", "quick", "--blas", "openblas", "--set", "N=800", "--set", "NB=32,64", "--set", "binding=none")
    budget = ("--budget", "4m", "--confirm", "0", "--trials", "2", "--wait-for-quiet", "0")
    done = hpltune.well("tune", "--cluster", str(home / "lab.toml"), *small, *budget, "--study", "opened")
    told = SIMULATED.search(" ".join(done.stdout.split()))
    assert told is not None, done.stdout
    records = hpltune.told("show", "opened")
    first, *_ = [record["params"] for record in records if record["kind"] == "search"]
    assert [str(first[name]) for name in ("NB", "grid", "DEPTH")] == [*told.groups()[2:]]
    again = hpltune.well("tune", "--resume", "--study", "opened", "--trials", "3", "--budget", "5m")
    assert f"{told[1]} configurations, simulated when the study began, still count." in " ".join(again.stdout.split())
