"""A front of two objectives is searched for: GFLOPS against what they cost, where layouts leave nodes idle."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from as_user import Run
from broken_fitting import BrokenFitting
from landscape import Landscape
from present import present
from record_builders import a_study, begun, finished
from typer.testing import CliRunner

from results.stats.ranking import Ranked
from results.store.store import Store
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.parameters.dimension import Point, ranks_and_threads
from search_spaces.space import SearchSpace
from tuner.cli import app
from tuner.engines.base import EngineContext, Worth, in_gflops
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.model.belief import best_of_each, knowledge_gradient, to_surpass
from tuner.engines.outcomes import FULL, Fidelity, Outcome, Question, Rung
from tuner.engines.probes import Probes
from tuner.errors import TunerError
from tuner.study.objective import Objective, check_inputs, of_study

CORES = 32
SPACE = """
[parameters]
layout = ["32x1", "16x1", "8x1", "4x1"]
blas = "openblas"
grid = "auto"
"""
VALUES = """
NB = [64, 96, 128, 192, 256]
BCAST = ["1rg", "1rM", "LnM"]
DEPTH = [0, 1]
"""
SMALL = Rung(Fidelity.SMALL, 0.35)
FLAT = {32: 160.0, 16: 112.0, 8: 72.0, 4: 40.0}
"""GFLOPS by ranks: fewer nodes give less, and more by the node, so that each number of them is on the front."""
CLUSTER = {"nodes": 8, "physical_cores": CORES}
SIMULATED = {"simulator": "SimGrid 3.32"}


def ranks(point: Point) -> int:
    return ranks_and_threads(point["layout"])[0]


def worth(point: Point) -> float:
    """Of a GFLOPS, where only the nodes in use are counted."""
    return CORES / ranks(point)


class Made:
    """A made-up cluster whose configurations are the better by the node the fewer of them are used."""

    def __init__(self, seed: int, rates: Mapping[int, float] = FLAT, values: str = VALUES) -> None:
        machine = Machine(cores=CORES, memory_bytes=2**40, blas={"openblas": BlasFacts(threaded=False)}, N=8000)
        self.space: SearchSpace = load("layouts", machine, text=SPACE + values)
        self._landscape, self._rates = Landscape(self.space, seed), rates
        self.best = {one: max(self.rate(point) for point in self.space if ranks(point) == one) for one in rates}

    def rate(self, point: Point) -> float:
        return self._landscape.rate(point) * self._rates[ranks(point)] / 100

    def engine(self, worth: Worth = in_gflops, against: Worth = in_gflops) -> HplEngine:
        probes = Probes(nodes=8, node_cores=4, exact=True)
        return HplEngine(self.space, 0, EngineContext(probes=probes, worth=worth, against=against))

    def searched(self, engine: HplEngine, runs: int, told: Callable[[Point], float] = in_gflops) -> dict[int, float]:
        """By ranks the best rate that so many runs found; the engine is told as much for each GFLOPS."""
        found: dict[int, float] = {}
        for _ in range(runs):
            question = present(engine.choose((FULL,)))
            point, rate = question.params, self.rate(question.params)
            found[ranks(point)] = max(rate, found.get(ranks(point), 0.0))
            engine.tell(point, Outcome(rate * told(point)))
        return found

    def missed(self, found: Mapping[int, float]) -> float:
        """How far the worst part of a front is below what can be had there, as a part of it."""
        return max(1 - found.get(one, 0.0) / best for one, best in self.best.items())


@cache
def made(seed: int) -> Made:
    return Made(seed)


@pytest.mark.heavy
def test_one_search_finds_more_of_every_number_of_nodes_than_two_of_one_objective() -> None:
    missed = []
    for cluster in map(made, range(3)):
        front = cluster.searched(cluster.engine(against=worth), 28)
        fastest = cluster.searched(cluster.engine(), 14)
        thriftiest = cluster.searched(cluster.engine(worth=worth), 14, told=worth)
        apart = {one: max(fastest.get(one, 0.0), thriftiest.get(one, 0.0)) for one in FLAT}
        missed.append((cluster.missed(front), cluster.missed(apart)))
    of_front, of_two = np.mean(missed, axis=0)
    assert of_front < 0.07
    assert of_front < of_two


def test_what_is_beaten_in_both_objectives_is_left_alone() -> None:
    cluster = Made(0, {**FLAT, 4: 10.0})
    engine = cluster.engine(against=worth)
    asked = []
    for _ in range(30):
        question = present(engine.choose((FULL,)))
        asked.append(ranks(question.params))
        engine.tell(question.params, Outcome(cluster.rate(question.params)))
    assert asked.count(4) <= 4 < min(asked.count(one) for one in (32, 16, 8))


def climbed(
    cluster: Made, worth: Worth = in_gflops, against: Worth = in_gflops
) -> tuple[list[Question], dict[int, float]]:
    """All that an engine asks on a ladder until it ends, and by ranks the best rate of the full runs."""
    timed = Probes({"openblas": {"Haswell": 40.0}}, nodes=8, node_cores=4, exact=True)
    engine = HplEngine(cluster.space, 0, EngineContext(probes=timed, worth=worth, against=against))
    asked, found = list[Question](), dict[int, float]()
    while (question := engine.choose((SMALL, FULL))) is not None:
        asked.append(question)
        point, rate = question.params, cluster.rate(question.params)
        if question.rung == FULL:
            found[ranks(point)] = max(rate, found.get(ranks(point), 0.0))
        rate *= 1.0 if question.rung == FULL else 0.7
        engine.tell(point, Outcome(rate * worth(point), rung=question.rung))
    return asked, found


@pytest.mark.heavy
def test_the_search_of_a_front_begins_with_what_should_be_the_fastest_and_ends_sooner_than_two_searches() -> None:
    cluster = Made(1, values='NB = [64, 128, 192]\nBCAST = "1rg"\nDEPTH = [0, 1]\n')
    front, found = climbed(cluster, against=worth)
    fastest, of_the_fastest = climbed(cluster)
    thriftiest, of_the_thriftiest = climbed(cluster, worth=worth)
    assert front[0] == fastest[0]
    assert len(front) < len(fastest) + len(thriftiest)
    assert cluster.missed(found) < 0.01
    assert min(cluster.missed(of_the_fastest), cluster.missed(of_the_thriftiest)) > 0.01


def test_tpe_that_takes_over_says_that_it_knows_one_objective_only() -> None:
    context = EngineContext(probes=Probes(nodes=8, node_cores=4, exact=True), against=worth)
    engine = HplEngine(made(0).space, 0, context, BrokenFitting)
    made(0).searched(engine, 5)
    assert engine.take_remarks()[0].text.endswith("Optuna's TPE goes on instead, for GFLOPS alone.")


def test_what_is_worth_as_much_has_to_be_surpassed_in_gflops_and_what_is_worth_less_by_the_other_objective() -> None:
    rates, theirs = np.log([100.0, 60.0]), np.log([1.0, 2.0])
    rivals, bars = to_surpass(rates, theirs, np.log([1.0, 2.0, 4.0, 0.5]))
    assert rivals.tolist() == [0, 1, 1, 0]
    assert np.exp(bars) == pytest.approx([100.0, 60.0, 30.0, 100.0])


def test_a_run_is_worth_something_that_may_raise_the_best_of_any_worth() -> None:
    mean, worths = np.log([100.0, 60.0, 59.0]), np.log([1.0, 2.0, 2.0])
    swayed = np.diag([0.1, 0.1, 0.1])
    alone, against = knowledge_gradient(mean, swayed), knowledge_gradient(mean, swayed, worths)
    assert against[2] > 1000 * alone[2]


def test_each_worth_has_as_many_of_the_best() -> None:
    figures, worths = np.array([9.0, 8.0, 7.0, 3.0, 2.0, 1.0]), np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert best_of_each(figures, worths, 4).tolist() == [0, 1, 3, 4]
    assert best_of_each(figures, np.zeros(6), 4).tolist() == [0, 1, 2, 3]


def entry(layout: str, *gflops: float) -> Ranked:
    return Ranked(layout, {"layout": layout}, gflops, 1)


def test_the_front_is_confirmed_before_what_is_only_fast() -> None:
    options = {"objective": "gflops", "pareto": "usd-per-gflops"}
    objective = of_study(a_study(host=CLUSTER, versions=SIMULATED, options=options))
    ranking = [entry("32x1", 200.0), entry("31x1", 190.0), entry("16x1", 130.0), entry("15x1", 9.0), entry("8x1", 80.0)]
    assert [one.key for one in objective.front(ranking)] == ["32x1", "16x1", "8x1"]
    assert [one.key for one in objective.finalists(ranking, 2)] == ["32x1", "16x1", "8x1"]
    assert [one.key for one in objective.finalists(ranking, 4)] == ["32x1", "16x1", "8x1", "31x1"]


def test_what_a_front_lacks_is_told_in_the_words_of_its_option() -> None:
    with pytest.raises(TunerError, match="⟦pareto⟧ usd-per-gflops needs price_usd of the machine"):
        Objective.of("gflops", a_study(price_usd=None), "usd-per-gflops")
    with pytest.raises(TunerError, match="⟦pareto⟧ mflops-per-watt needs power_w of the machine: give it with ⟦power⟧"):
        check_inputs("gflops", "mflops-per-watt", price_usd=1.0, power_w=None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--pareto", "gflops"), "⟦pareto⟧ gflops: choose one of percent-of-peak, usd-per-gflops, mflops-per-watt"),
        (("--pareto", "speed"), "⟦pareto⟧ speed: choose one of percent-of-peak"),
        (("--pareto", "usd-per-gflops", "--objective", "mflops-per-watt"), "leave ⟦objective⟧ mflops-per-watt out"),
        (("--pareto", "usd-per-gflops", "--engine", "grid"), "⟦pareto⟧ needs ⟦engine⟧ hpl: the engine grid knows one"),
        (("--pareto", "usd-per-gflops", "--resume"), "--pareto cannot be given with --resume"),
        (("--pareto", "usd-per-gflops"), "usd-per-gflops needs price_usd of the machine: give it with ⟦price⟧"),
    ],
)
def test_a_front_that_cannot_be_searched_is_refused_in_one_sentence(
    home: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    assert home
    done = CliRunner().invoke(app, ["tune", *arguments])
    assert done.exit_code != 0
    assert sentence in f"{done.output} {done.exception}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hpltune.db") as opened:
        yield opened


def test_best_tells_what_a_front_lacks_in_the_words_of_its_own_option(store: Store, tmp_path: Path) -> None:
    store.create_study(a_study(price_usd=None))
    store.finish(finished(store.begin(begun())))
    done = CliRunner().invoke(app, ["best", "--pareto", "usd-per-gflops", "--db", str(tmp_path / "hpltune.db")])
    assert "⟦pareto⟧ usd-per-gflops needs price_usd" in str(done.exception)


LAYOUTS = ("layout=8x1,4x1,2x1,1x1", "N=2000", "NB=64,128", "DEPTH=0", "blas=atlas")
FRONT = ("--cluster", "kronos", "--space", "quick", *(word for wish in LAYOUTS for word in ("--set", wish)))


@pytest.mark.usefixtures("simgrid")
def test_a_study_searches_the_front_of_a_virtual_cluster_and_tells_it(hpltune: Run, home: Path) -> None:
    done = hpltune.well("tune", *FRONT, "--pareto", "usd-per-gflops", "--trials", "9", "--study", "front")
    assert "Study front: space quick, engine hpl, GFLOPS against usd-per-gflops, 9 trials" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert all(re.search(r" best \d+\.\d\d GFLOPS, \d+\.\d+ \$/GFLOPS( |$)", line) for line in lines)
    assert "Front of study front (simulated): GFLOPS against $/GFLOPS" in done.stdout
    assert "none is both faster and cheaper per GFLOPS than one of these." in done.stdout
    told = hpltune("best", "front").stdout
    assert told[told.index("Front of study") : told.index("\nIn short")] in done.stdout
    front = hpltune.told("best", "front")
    assert (front["pareto"], front["confidence"]) == ("usd-per-gflops", None)
    assert [one["params"]["layout"] for one in front["ranking"]] == ["8x1", "4x1", "2x1", "1x1"]
    prices = [one["usd_per_gflops"] for one in front["ranking"]]
    assert prices == sorted(prices, reverse=True)
    written = [*(home / "data/best/front").glob("HPL-*.dat"), home / "data/best/front/HPL.dat"]
    grids = [[line.split()[0] for line in file.read_text().splitlines()[10:12]] for file in written]
    assert sorted(int(P) * int(Q) for P, Q in grids) == [1, 2, 4, 8]
    stale = home / "data/best/front/HPL-999.dat"
    stale.write_text("of a trial that is not on the front any more")
    more = hpltune.well("tune", "--resume", "--study", "front", "--trials", "11")
    assert not stale.exists()
    assert "GFLOPS against usd-per-gflops" in more.stdout
    assert "Front of study front" in more.stdout
    assert json.loads(hpltune("tune", "--resume", "--study", "front", "--json").stdout)["pareto"] == "usd-per-gflops"


@pytest.mark.usefixtures("simgrid")
def test_the_whole_front_is_confirmed_where_runs_differ(hpltune: Run, home: Path) -> None:
    from runners.virtual.load import cluster_text

    (home / "mine.toml").write_text(cluster_text("kronos")[1] + "[noise]\nruns = 0.01\n")
    noisy = ("--cluster", "mine.toml", *FRONT[2:], "--pareto", "usd-per-gflops", "--trials", "9", "--confirm", "1")
    hpltune.well("tune", *noisy, "--study", "noisy", "--jobs", "1")
    trials = hpltune.told("show", "noisy")
    confirmed = {trial["params"]["layout"] for trial in trials if trial["kind"] == "confirmation"}
    assert confirmed == {"8x1", "4x1", "2x1", "1x1"}


@pytest.mark.usefixtures("prints_hpl")
def test_where_all_use_the_same_nodes_the_fastest_is_searched_and_it_is_said(hpltune: Run) -> None:
    one = ("--xhpl", "xhpl", "--space", "quick", "--set", "N=600", "--set", "NB=64,128")
    small = (*one, "--trials", "3", "--confirm", "1")
    done = hpltune.well("tune", *small, "--pareto", "usd-per-gflops", "--price", "2490", "--study", "one")
    said = " ".join(done.stdout.split())
    assert "so the fastest one is also the best by $/GFLOPS: the study searches for the fastest." in said
    assert "Best of study one" in said
    assert "none is both faster and cheaper per GFLOPS than no. 1." in said
