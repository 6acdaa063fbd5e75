"""What the engine `hpl` says and asks where the first full runs are not what the probes promise."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from engine_contract import space_of

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from tuner.engines.base import EngineContext, EngineRemark
from tuner.engines.hpl.engine import HplEngine
from tuner.engines.model.pool import Pool
from tuner.engines.outcomes import FULL, Outcome, Question
from tuner.engines.probes import Messages, Probes

ONE_NODE = Probes({"openblas": {"Haswell": 40.0}})
FOUR_NODES = replace(ONE_NODE, nodes=4, messages=Messages(20e-6, 1e9))
SPACE = """
[parameters]
layout = "4x1"
blas = "openblas"
kernel = "Haswell"
N = [12000, 18000, 24000]
NB = [96, 128, 160, 192]
grid = ["1x4", "2x2", "4x1"]
"""
ONE_N = SPACE.replace("[12000, 18000, 24000]", "24000")
Slower = Callable[[Mapping[str, Scalar]], float]


class Machine:
    """A machine that HPL's model knows, but for how many times slower each configuration is."""

    def __init__(self, slower: Slower, probes: Probes = ONE_NODE, lost: float = 0.0, space: str = SPACE) -> None:
        self._slower, self._lost = slower, lost
        searched = space_of(space)
        self.engine = HplEngine(searched, 0, EngineContext(probes=probes))
        self._pool, self._key = Pool(searched, 0, probes), searched.key

    def run(self) -> Question:
        """What the engine asks next, which is told."""
        question = self.engine.choose((FULL,))
        assert question is not None
        rate = self._promised(question.params) / self._slower(question.params)
        self.engine.tell(question.params, Outcome(rate, lost=self._lost))
        return question

    def _promised(self, point: Point) -> float:
        return float(np.exp(self._pool.modelled_at([self._pool.places[self._key(point)]], FULL).mean[0]))

    def said_after(self, runs: int) -> list[EngineRemark]:
        """The engine's remarks after so many full runs."""
        for _ in range(runs):
            self.run()
        return self.engine.take_remarks()


@pytest.mark.parametrize("slower", [0.8, 1.0, 1.4])
def test_a_machine_about_as_fast_as_promised_is_no_matter(slower: float) -> None:
    assert Machine(lambda _: slower).said_after(8) == []


def test_a_machine_that_is_slower_is_told_once_after_its_second_full_run_as_a_caution() -> None:
    machine = Machine(lambda _: 1.7, space=ONE_N)
    assert machine.said_after(1) == []
    (told,) = machine.said_after(1)
    assert told.caution
    assert told.text.startswith("this machine is 1.7 times slower than its probes promise ")
    assert "cores of its own" in told.text
    assert machine.said_after(6) == []


def test_one_bad_configuration_is_not_held_against_the_machine() -> None:
    first: list[Mapping[str, Scalar]] = []

    def slower(point: Mapping[str, Scalar]) -> float:
        first.append(point)
        return 3.0 if point == first[0] else 1.0

    assert Machine(slower).said_after(4) == []


def test_between_nodes_the_network_is_blamed_with_how_slow_it_would_have_to_be() -> None:
    (told,) = Machine(lambda _: 1.7, FOUR_NODES).said_after(4)
    assert "times as long as the ping-pong told would explain it, so check the network" in told.text
    (told,) = Machine(lambda _: 1.7, replace(FOUR_NODES, messages=None)).said_after(4)
    assert "times as long as is assumed, because they were not timed, would explain it" in told.text


def test_messages_are_not_blamed_for_more_than_they_can_take() -> None:
    instant = replace(FOUR_NODES, messages=Messages(1e-9, 1e13))
    (told,) = Machine(lambda _: 1.7, instant).said_after(4)
    assert "messages between nodes cannot explain it alone, so check whether each rank" in told.text


def test_a_machine_that_is_faster_had_disturbed_probes() -> None:
    (told,) = Machine(lambda _: 1 / 1.6).said_after(2)
    assert told.text.startswith("this machine is 1.6 times faster than its probes promise ")


@pytest.mark.parametrize(("probes", "lost"), [(ONE_NODE, 0.7), (Probes(), 0.0)])
def test_neither_disturbed_runs_nor_an_untimed_library_tell_of_the_machine(probes: Probes, lost: float) -> None:
    assert Machine(lambda _: 2.0, probes, lost).said_after(4) == []


def too_large(point: Mapping[str, Scalar]) -> float:
    """Runs at N=24,000 do not fit the memory."""
    return 2.5 if point["N"] == 24000 else 1.0


def test_where_the_largest_n_is_slow_the_same_configuration_runs_at_the_next_smaller_one() -> None:
    machine = Machine(too_large)
    first = [machine.run().params for _ in range(2)]
    third = machine.run().params
    assert {point["N"] for point in first} == {24000}
    assert third["N"] == 18000
    assert {**third, "N": 24000} in first


def test_a_cliff_in_n_is_told_in_place_of_a_slow_machine_and_the_search_stays_below_it() -> None:
    machine = Machine(too_large)
    assert machine.said_after(2) == []
    (cliff,) = machine.said_after(1)
    assert cliff.caution
    assert cliff.text.startswith("runs at N=24,000 are 2.5 times slower than the one at N=18,000 lets expect: ")
    assert 24000 not in {machine.run().params["N"] for _ in range(5)}


def test_where_smaller_n_are_as_slow_it_is_the_machine() -> None:
    machine = Machine(lambda _: 2.0)
    assert machine.said_after(2) == []
    (told,) = machine.said_after(6)
    assert told.text.startswith("this machine is 2.0 times slower than its probes promise ")
