"""A site that somebody else wrote, here a command that prints HPL's output, is tuned as machines and tables are."""

import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from made_study import SPACE
from replayed import replaying

from hpl import output
from hpl.dat import HplDat, render
from hpl.params import HplParams, Scalar
from results.record import SIMULATOR, Kind
from results.store.store import Store
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from tuner.budget import Budget
from tuner.engines.outcomes import Rung
from tuner.events import Event, Notice
from tuner.options import TuneOptions
from tuner.stopping import Stopping, StopRequest
from tuner.study.campaign import tuned
from tuner.study.lifecycle import MachineFacts, begin, closing_study
from tuner.study.session import StudyContext
from tuner.study.sized_study import SiteFacts, sized_study
from tuner.trial.judge import Verdict
from tuner.trial.launch import LaunchResult, LaunchWatch, run_folder
from tuner.trial.observers.contract import LaunchObserver, WatchedLaunch
from tuner.trial.plan import TrialPlan
from tuner.trial.plausible import unknown_limits


@dataclass
class CommandSite:
    """Runs a command in the folder of a run, which has an HPL.dat."""

    command: Sequence[str]
    machine: None = None
    simulator: str = "a command"
    left_s: Callable[[], None] = lambda: None
    shares_launches: bool = False
    limits = staticmethod(unknown_limits)

    def plan(self, params: Mapping[str, Scalar], rung: Rung, key: str, repeat: int) -> TrialPlan:
        del rung, key, repeat
        hpl = HplParams.from_words(params)
        return TrialPlan((hpl,), render(HplDat.of(hpl)), "own", None, "auto", hpl.P * hpl.Q, 1, {})

    def observers(self, launch: WatchedLaunch) -> Sequence[LaunchObserver]:
        del launch
        return ()

    def run(self, plan: TrialPlan, directory: Path, limit_s: float, stop: Stopping, watch: LaunchWatch) -> LaunchResult:
        del stop, watch
        began = datetime.now(UTC)
        with run_folder(directory) as paths:
            paths.hpl_dat.write_text(plan.hpl_dat)
        said = subprocess.run(self.command, cwd=directory, timeout=limit_s, capture_output=True, text=True, check=True)
        found, ended = output.parse(said.stdout).results, datetime.now(UTC)
        verdict, cost_s = Verdict(found, (None,), None, cancelled=False), (ended - began).total_seconds()
        return LaunchResult(verdict, shlex.join(self.command), said.stdout, said.stderr, began, ended, cost_s, "")

    def close(self) -> None:
        pass


def test_a_command_of_the_users_is_searched_and_confirmed_without_a_class_of_study(home: Path) -> None:
    xhpl, said = replaying(home, {"when": {"NB": 64}, "gflops": 80.0}, computes=0), list[Event]()
    machine = Machine(2, 2**30, {"own": BlasFacts(("auto",))}, 1000)
    space = load("own", machine, text=SPACE)
    options = TuneOptions(space="own", engine="random", budget=Budget(wall_s=60.0), confirm=2)
    with Store.open(home / "own.db") as store:
        context = StudyContext(store, said.append, StopRequest(), home / "runs")
        begun = begin(store, "own", options, MachineFacts(host={}, versions={}), SPACE)
        with closing_study("own", store):
            study = sized_study(begun, options, space, [CommandSite([str(xhpl)])], SiteFacts(), context)
            found = tuned(study, options)
        runs = store.records("own")
        assert store.study("own").state == "complete"
    assert found.ended == "all 4 configurations were tried"
    assert Notice(f"Search stopped: {found.ended}.") in said
    assert found.ranking[0].params["NB"] == 64
    assert [run.kind for run in runs] == [Kind.SEARCH] * 4 + [Kind.CONFIRMATION] * 6
    assert runs[0].versions == {SIMULATOR: "a command"}
    assert 0.0 < sum(run.cost_s or 0.0 for run in runs) < 60.0
