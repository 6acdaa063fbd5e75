"""Recorded landscapes: what is refused, what is said, and games where a third of the configurations fail."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import search_quality
from games import GamesError, Kept
from make_clusters import FAT, SLOW, TREE, made_up
from record_landscape import Recording, record_real
from replay import Board, Played, play
from script import opened

from hpl.output import HplResult
from hpl.programs.registry import TO_BUILD
from results.record import Invalidity
from runners.errors import SubmitError
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import parse_cluster
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.node_order import rank_speeds
from tuner.engines.outcomes import FULL, Question
from tuner.engines.points import ADVICE
from tuner.replay.landscape import LandscapeError, RecordedLandscape
from tuner.trial.judge import Failure, Verdict
from tuner.trial.launch import LaunchResult
from tuner.trial.plan import TrialPlan
from tuner.trial.workbench import Workbench

SPACE = """
[parameters]
layout = "4x1"
blas = "openblas"
NB = [64, 96, 128, 192, 256, 320]
grid = ["1x4", "2x2"]
DEPTH = [0, 1]
"""
MACHINE = Machine(4, 2**34, {"openblas": BlasFacts()}, 4000)
COUNT = 24
TIMED_OUT = {"reason": "timed out", "cost_s": 40.0}

Json = dict[str, Any]


def run(gflops: float, cost_s: float = 3.0) -> Json:
    return {"gflops": gflops, "time_s": cost_s / 2, "cost_s": cost_s}


def points() -> list[Json]:
    """The points of the space, faster the later."""
    space = load("small", MACHINE, text=SPACE)
    return [
        {"params": point, "full": [run(50.0 + number)], "small": [run(30.0 + number, 1.0)]}
        for number, point in enumerate(space)
    ]


def written(folder: Path, listed: list[Json], **changes: object) -> Path:
    """A landscape file of these points."""
    facts = {
        "cores": 4,
        "memory_bytes": 2**34,
        "N": 4000,
        "blas": {"openblas": {"kernels": ["auto"], "threaded": True}},
    }
    head = {"name": "small", "description": "Made up", "space": SPACE, "machine": facts, "N": 4000, "small_N": 1400}
    path = folder / "small.json"
    path.write_text(json.dumps({**head, "probes": {"openblas": {"auto": 20.0}}, "points": listed, **changes}))
    return path


def changed(change: Callable[[list[Json]], object]) -> list[Json]:
    found = points()
    change(found)
    return found


@pytest.mark.parametrize(
    ("listed", "sentence"),
    [
        (changed(lambda found: found[2].update(full=[run(50.0), run(float("nan"))])),
         "point 3 (NB=64 grid=2x2 DEPTH=0): full run 2 has gflops = nan, which is no rate"),
        (changed(lambda found: found[0].update(small=[run(float("inf"))])),
         "point 1 (NB=64 grid=1x4 DEPTH=0): small run 1 has gflops = inf, which is no rate"),
        (changed(lambda found: found[0].update(full=[run(-5.0)])), "full run 1 has gflops = -5.0, which is no rate"),
        (changed(lambda found: found[0].update(full=[run(0.0)])), "full run 1 has gflops = 0.0, which is no rate"),
        (changed(lambda found: found[0].update(full=[run(5.0, float("nan"))])), "has time_s = nan, which is no time"),
        (changed(lambda found: found[0].update(full=[{"cost_s": 3.0}])),
         "full run 1 has to have either gflops or a reason why it failed"),
        (changed(lambda found: found[5].update(small=[])), "point 6 (NB=96 grid=1x4 DEPTH=1): it has no small run"),
        (changed(lambda found: found.append(found[1])),
         "point 25 (NB=64 grid=1x4 DEPTH=1): this configuration is point 2 already"),
        (changed(lambda found: found[3]["params"].update(NB=77)),
         "point 4 (NB=77 grid=2x2 DEPTH=1): NB: 77 is not among 64, 96, 128, 192, 256, 320"),
        (points()[:-2], "2 points of its space are missing, the first of them NB=320 grid=2x2 DEPTH=0"),
        ([{**point, "full": [TIMED_OUT]} for point in points()], "no full run gave a rate, so there is no best"),
    ],
)  # fmt: skip
def test_a_landscape_that_is_not_whole_is_refused_with_file_and_place(
    tmp_path: Path, listed: list[Json], sentence: str
) -> None:
    path = written(tmp_path, listed)
    with pytest.raises(LandscapeError) as refused:
        RecordedLandscape.read(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert str(refused.value).endswith(sentence)


def test_a_small_n_that_is_not_smaller_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LandscapeError, match="small_N = 4000 has to be below N = 4000"):
        RecordedLandscape.read(written(tmp_path, points(), small_N=4000))


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("N", " is no landscape: it lacks 'N'"),
        ("small_N", ": point 1 (NB=64 grid=1x4 DEPTH=0): it has a small run, but the file does not say their small_N"),
    ],
)
def test_a_key_that_is_missing_is_named(tmp_path: Path, key: str, sentence: str) -> None:
    path = written(tmp_path, points())
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != key}))
    with pytest.raises(LandscapeError) as refused:
        RecordedLandscape.read(path)
    assert str(refused.value) == f"{path}{sentence}"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"machine": 8}, "machine: write a table of names and their values"),
        ({"space": 3}, "space: write a text"),
        ({"N": "4000"}, "N: write a whole number"),
        ({"N": 10**400}, "N: write 2147483647 or less"),
        ({"nodes": 0}, "nodes: write 1 or more"),
        ({"half_nb": -1.0}, "half_nb: write more than 0"),
        ({"probes": {"openblas": {"auto": "fast"}}}, "probes.openblas.auto: write a number"),
        ({"messages": {"latency_s": 1e-6}}, "it lacks 'messages.bytes_s'"),
        ({"points": 3}, "points: write a list"),
        ({"points": [[]]}, "points[0]: write a table of names and their values"),
        ({"points": [{"params": {}, "full": [{}], "small": []}]}, "it lacks 'points[0].full[0].cost_s'"),
        ({"points": [{"params": {}, "full": [{"cost_s": "3"}], "small": []}]},
         "points[0].full[0].cost_s: write a number"),
    ],
)  # fmt: skip
def test_a_key_of_the_wrong_kind_is_named(tmp_path: Path, changes: Json, sentence: str) -> None:
    path = written(tmp_path, points(), **changes)
    with pytest.raises(LandscapeError) as refused:
        RecordedLandscape.read(path)
    assert str(refused.value) == f"{path} is no landscape: {sentence}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "end of file while parsing"),
        ("hello", "invalid JSON: expected value at line 1"),
        ("[]", "write a table of names and their values"),
        ("\0\1", "invalid JSON"),
        ("[" * 10000, "recursion limit exceeded"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "small.json").write_text(text)
    with pytest.raises(LandscapeError, match=words):
        RecordedLandscape.read(tmp_path / "small.json")


def test_a_folder_is_no_landscape(tmp_path: Path) -> None:
    with pytest.raises(LandscapeError, match="cannot be read: Is a directory"):
        RecordedLandscape.read(tmp_path)


def test_runs_that_contradict_each_other_are_told_once_and_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = points()
    listed[4]["full"] = [run(20.0), run(70.0)]
    listed[9]["small"] = [run(5.0), run(50.0)]
    path = written(tmp_path, listed)
    assert Board(opened(path)).best == 73.0
    assert capsys.readouterr().err == (
        f"Caution: {path}, point 5 (NB=96 grid=1x4 DEPTH=0): its runs (full) gave 20 to 70 GFLOPS, more than a factor "
        "of 3 apart (the first of 2 such).\n"
    )


def a_third_fails() -> list[Json]:
    """Among those that fail is what would be the fastest."""
    listed = points()
    for place in [*random.Random(1).sample(range(COUNT - 1), COUNT // 3 - 1), COUNT - 1]:  # noqa: S311 - no secret
        listed[place] |= {"full": [TIMED_OUT], "small": [{"reason": "it crashed", "cost_s": 0.5}]}
    return listed


def test_a_failure_is_a_failed_trial_at_its_cost_and_is_kept_when_the_landscape_is_saved(tmp_path: Path) -> None:
    landscape = RecordedLandscape.read(written(tmp_path, a_third_fails()))
    landscape.save(tmp_path / "again.json")
    assert RecordedLandscape.read(tmp_path / "again.json") == landscape
    board = Board(landscape)
    last = board.space.point(COUNT - 1)
    (outcome,), cost_s = board.launch([Question(last, FULL)], random.Random(1))  # noqa: S311 - no secret
    assert (outcome.gflops, outcome.state, outcome.time_s, outcome.cost_s, cost_s) == (None, "failed", None, 40.0, 40.0)


def test_nodes_that_differ_are_kept_so_that_engines_know_the_slow_one(tmp_path: Path) -> None:
    path = written(tmp_path, points())
    whole = json.loads(path.read_text())
    whole["machine"]["node_list"] = [{"name": "n0", "cores": 2, "speed": 1.0}, {"name": "n1", "cores": 2, "speed": 0.5}]
    path.write_text(json.dumps(whole))
    landscape = RecordedLandscape.read(path)
    landscape.save(tmp_path / "again.json")
    assert RecordedLandscape.read(tmp_path / "again.json") == landscape
    assert rank_speeds({"layout": "4x1"}, landscape.machine) == (1, 1, 0.5, 0.5)


def test_a_twin_of_a_made_up_cluster_differs_from_it_by_its_nodes_alone() -> None:
    usual, slow = made_up(23), made_up(23, SLOW)
    assert usual
    assert slow
    speeds = [[node.speed for node in cluster_of(one.cluster).node_list] for one in (usual, slow)]
    assert speeds == [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.75]]
    assert cluster_of(slow.cluster).networks == cluster_of(usual.cluster).networks
    fat, tree = made_up(23, FAT), made_up(23, TREE)
    assert fat
    assert tree
    assert [node.cores for node in cluster_of(fat.cluster).node_list] == [4, 4, 8]
    assert cluster_of(tree.cluster).networks["net"].switch.leaf_nodes == 2
    assert made_up(12, TREE) is None


def cluster_of(text: str) -> VirtualCluster:
    return parse_cluster("made up", text)


@pytest.mark.parametrize(
    "engine", ["hpl", "hpl --one-a-launch", "bayes", "grid", "random", "one-at-a-time", "optuna-tpe"]
)
def test_an_engine_finds_the_best_of_those_that_do_not_fail(tmp_path: Path, engine: str) -> None:
    board = Board(RecordedLandscape.read(written(tmp_path, a_third_fails())))
    assert len(board.rates) == COUNT * 2 // 3
    played = play(board, engine, 0, most_s=2 * board.grid_s, most_trials=4 * COUNT)
    assert played.steps[-1].regret < 0.2


def test_the_table_of_a_landscape_says_how_many_configurations_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, a_third_fails())
    assert search_quality.main([str(path), "--engines", "random", "--seeds", "1", "--parts", "1", "--jobs", "1"]) == 0
    assert "24 configurations, 8 of which fail, N=4000" in capsys.readouterr().out


def test_parts_in_which_every_run_fails_are_not_played(tmp_path: Path) -> None:
    landscape = RecordedLandscape.read(
        written(tmp_path, [{**point, "full": [TIMED_OUT]} for point in points()[:-1]] + points()[-1:])
    )
    assert [search_quality.part_of(landscape, number).best for number in range(10)] == [73.0] * 10


@pytest.mark.parametrize("text", ["[]", '{"name": "small"}', '{"engine": "hpl"}', '{\n "name": "small"\n}\n', "\0\1"])
def test_games_are_not_kept_in_a_file_of_something_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "kept").write_text(text)
    with pytest.raises(GamesError, match="this is no game"):
        Kept(tmp_path / "kept")


def _never(engine: str, seed: int) -> Played:
    raise AssertionError(engine, seed)


def test_a_game_that_was_cut_off_is_played_again_and_the_others_are_kept(tmp_path: Path) -> None:
    board, file = Board(RecordedLandscape.read(written(tmp_path, points()))), tmp_path / "kept"
    arguments = [str(tmp_path / "small.json"), "--engines", "random", "--seeds", "2", "--parts", "1", "--jobs", "1"]
    assert search_quality.main([*arguments, "--kept", str(file)]) == 0
    file.write_text(file.read_text()[:-20])
    wanted = [("random", 0), ("random", 1)]
    last = search_quality.named(board.landscape, f"{search_quality.WITHOUT}{len(ADVICE)}", 0.0)
    assert [game.seed for game in Kept(file).with_missing(last, wanted, _never, None)] == [0]


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "many"])
@pytest.mark.parametrize(
    ("main", "option"),
    [(search_quality.main, "--seeds"), (search_quality.main, "--jobs"), (search_quality.main, "--parts")],
)
def test_a_number_of_games_that_nobody_can_mean_is_a_usage_error(
    main: Callable[[list[str]], int], option: str, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([f"{option}={number}"])
    assert f"{number}: expected a whole number from 1" in capsys.readouterr().err


def evaluated(plan: TrialPlan, *_: object) -> LaunchResult:
    """A launch that cannot be started with NB=64, times out with NB=96, and else gives a result."""
    asked, now = plan.runs[0], datetime.now(UTC)
    if asked.NB == 64:
        raise SubmitError("there is no mpirun", transient=False)
    result = HplResult("WR01C2R4", asked.N, asked.NB, asked.P, asked.Q, 1.0, float(asked.NB))
    fault = Failure(Invalidity.TIMEOUT, "ended after 600 s") if asked.NB == 96 else None
    verdict = Verdict(() if fault else (result,), (fault,), None, cancelled=False)
    return LaunchResult(verdict, "", "", "", now, now, 600.0 if fault else 2.0, "")


def test_a_recording_keeps_what_failed_with_its_reason_and_goes_on(tmp_path: Path) -> None:
    site = SimpleNamespace(
        library=lambda *_: None,
        mpi_named=lambda *_: None,
        environment=lambda *_: {},
        nodes=None,
        node_names=(),
        program=TO_BUILD,
        node_count=1,
        host=SimpleNamespace(physical_cores=2, sockets=1, numa_nodes=1, l3_caches=1),
        gpus=(),
        wrap=(),
        container=None,
    )
    workshop = cast("Workbench", SimpleNamespace(site=site, evaluator=SimpleNamespace(run=evaluated)))
    space = load("small", MACHINE, text=SPACE)
    out = tmp_path / "out.json"
    record_real(Recording("small", "Made up", SPACE, MACHINE, space, 1400), workshop, 1, out)
    full = {place.params["NB"]: place.full for place in RecordedLandscape.read(out).places}
    assert [(run.gflops, run.cost_s, run.reason) for NB in (64, 96, 128) for run in full[NB]] == [
        (None, 0.0, "there is no mpirun"),
        (None, 600.0, "ended after 600 s"),
        (128.0, 2.0, ""),
    ]
