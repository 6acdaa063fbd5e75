"""A slow node of a virtual cluster: the search drops it where that pays, and only there."""

import json
import re
from pathlib import Path

import pytest
from as_user import Run

from hpl.params import Scalar
from runners.virtual.load import cluster_text, parse_cluster
from tuner.simulation.plan import virtual_plan

EIGHT = "count = 8                       # published"
ONE_KIND = """
[[nodes]]
count = {count}
cores = 1
clock_ghz = 1.756
flops_per_cycle = 2
memory_gib = 0.18
speed = {speed}
"""
NODES = ("--set", "layout=8x1,7x1", "--set", "nodes_dropped=0,1", "--set", "rank_order=listed,fastest-first")
FEW = (
    "--set",
    "N=4000",
    "--set",
    "NB=128",
    "--set",
    "DEPTH=1",
    "--set",
    "blas=atlas",
    "--trials",
    "8",
    "--confirm",
    "0",
)


def with_a_slow_node(speed: float) -> str:
    """Kronos whose third node is slow."""
    text = cluster_text("kronos")[1]
    assert EIGHT in text
    more = ONE_KIND.format(count=1, speed=speed) + ONE_KIND.format(count=5, speed=1.0)
    return text.replace(EIGHT, "count = 2").replace("\n[core]", f"{more}\n[core]")


def test_ranks_fill_the_nodes_that_are_left_in_the_order_that_was_asked() -> None:
    cluster = parse_cluster("mine", with_a_slow_node(0.6))
    point: dict[str, Scalar] = {"N": 1000, "NB": 64, "blas": "atlas", "grid": "1x7", "layout": "7x1"}
    kept = virtual_plan({**point, "nodes_dropped": 1}, cluster)
    assert kept.setup.hosts(7) == ["n0", "n1", "n3", "n4", "n5", "n6", "n7"]
    last = virtual_plan({**point, "grid": "2x4", "layout": "8x1", "rank_order": "fastest-first"}, cluster)
    assert last.setup.hosts(8)[-1] == "n2"
    column = virtual_plan({**point, "grid": "2x4", "layout": "8x1", "rank_order": "slow-share-column"}, cluster)
    assert column.setup.hosts(8)[7] == "n2"
    assert virtual_plan(point, cluster).setup.hosts(7) == [f"n{number}" for number in range(7)]


@pytest.mark.usefixtures("simgrid")
@pytest.mark.parametrize(("speed", "dropped"), [(0.6, 1), (0.95, 0)])
def test_the_slow_node_is_dropped_only_where_the_others_alone_are_faster(
    hpltune: Run, home: Path, speed: float, dropped: int
) -> None:
    (home / "mine.toml").write_text(with_a_slow_node(speed))
    done = hpltune.well("tune", "--cluster", "mine.toml", "--space", "quick", *NODES, *FEW, "--study", "slow", "--json")
    found = hpltune.told("show", "slow")
    tried = [re.findall(r"nodes_dropped=(\d)", trial["key"]) for trial in found]
    assert sorted({*map(tuple, tried)}) == [("0",), ("1",)]
    assert tried[0] == [str(dropped)], "HPL's own time tells before anything ran"
    best = json.loads(done.stdout)["ranking"][0]
    assert best["params"]["nodes_dropped"] == dropped


@pytest.mark.usefixtures("simgrid")
def test_equal_nodes_are_simulated_in_one_order_only(hpltune: Run) -> None:
    done = hpltune.well(
        "tune", "--cluster", "kronos", "--space", "quick", *NODES, *FEW, "--study", "equal", "--engine", "grid"
    )
    found = hpltune.told("show", "equal")
    assert len({trial["key"] for trial in found}) == len(found)
    assert all("rank_order=listed" in trial["key"] for trial in found)
    assert "rank_order=listed" in done.stdout
    assert "rank_order=fastest-first" not in done.stdout
