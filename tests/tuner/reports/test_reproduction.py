"""A published tuning as `reproduce` reports it."""

from dataclasses import replace

import pytest
from golden import hold_scene, told
from report_reading import printed

from results.stats.ranking import Ranked
from runners.virtual.load import load_cluster
from tuner.commands.reproduce import ReproduceResult
from tuner.simulation.reproduction import BestFound, ComparedTest, SettingLoss, published
from tuner.simulation.simulator import Simulated

KRONOS = published("kronos")

FAILED = Simulated(None, None, "the simulation was stopped at its time limit of 1 s")


def rows(*failed: int) -> list[ComparedTest]:
    """All tests as published, but for those that failed."""
    return [
        ComparedTest(test, FAILED if test.number in failed else Simulated(test.gflops, 1.0)) for test in KRONOS.tests
    ]


def reproduced(*failed: int, found: BestFound | None = None) -> ReproduceResult:
    return ReproduceResult(load_cluster("kronos"), KRONOS, tuple(rows(*failed)), found, "study")


def shown(result: ReproduceResult, width: int = 160) -> str:
    return printed(result.report(), width)


@pytest.mark.parametrize("width", [45, 80, 100, 200])
def test_nothing_of_the_published_tests_is_cut_off(width: int) -> None:
    said = " ".join(shown(reproduced(4), width).split())
    assert "…" not in said
    for figure in (
        "MTU 6000, N and NB adjusted",
        "12300",
        "180",
        "2x4",
        "14.53",
        "0.0084",
        "+0.0%",
        "failed",
        "fitted",
    ):
        assert figure in said, said


ASSUMED = SettingLoss("DEPTH", 1, None, 0, 0.072, 0, 0.072)
STATED = SettingLoss("net.mtu", 9000, 6000, None, 0.009, 1500, 0.038)
STUCK = SettingLoss("NB", 208, 180, None, None, 64, 0.113)
FAST = tuple(ComparedTest(test, Simulated(3 * test.gflops, 1.0)) for test in KRONOS.tests)
SCENES = {
    "all tests beside the published ones": reproduced(),
    "two tests failed": reproduced(4, 7),
    "no error is told where the predicted tests failed": reproduced(2, 4, 7, 8),
    "no test has a result": reproduced(*range(1, 9)),
    "an assumed setting is never shown as published": reproduced(
        found=BestFound(Ranked("best", {}, (15.32,), 1), (ASSUMED, STATED, STUCK), None)
    ),
    "a rate above peak has its reason": ReproduceResult(load_cluster("kronos"), KRONOS, FAST),
}


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_told_of_a_published_tuning_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    result = replace(SCENES[scene], simulator="SimGrid 3.36", command="hpltune reproduce kronos")
    hold_scene(request, "reproduction", SCENES, scene, told(result.page() if result.found else result.report()))
    assert replace(result, unfinished="Stopped.").page().parts == ()
