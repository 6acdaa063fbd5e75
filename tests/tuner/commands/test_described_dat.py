"""An HPL.dat for a machine of which only a few figures are known."""

from dataclasses import replace
from typing import Any

import pytest
from golden import hold_scene, told
from report_reading import as_json

from hpl.sizing import memory_bytes, process_grids
from tuner.asks.dat import DatAsk
from tuner.commands.described_dat import described_dat
from tuner.errors import UsageError
from tuner.units import parse_bytes

LARGE = DatAsk(nodes=16, cores=64, memory="256GiB", network="100g")


def test_n_fills_most_of_the_memory_in_whole_blocks_and_fits_it() -> None:
    result = described_dat(LARGE)
    params = result.params
    assert params.N % params.NB == 0
    assert 0.78 < 8 * params.N**2 / (16 * 256 * 2**30) <= 0.8
    assert params.ranks * memory_bytes(params) < 16 * 256 * 2**30
    assert any("80% of 16 nodes with 256.0 GiB each" in reason for reason in result.reasons)


MACHINES = [
    (nodes, cores, memory, network)
    for nodes, cores, memory in [
        (1, 4, "1GiB"), (1, 7, "16GiB"), (1, 52, "128GiB"), (1, 97, "256GiB"), (2, 31, "8GiB"), (4, 4, "8GiB"),
        (4, 31, "8GiB"), (4, 97, "64GiB"), (4, 127, "8GiB"), (5, 12, "2GiB"), (8, 46, "192GiB"), (13, 64, "256GiB"),
        (16, 58, "1TiB"), (64, 127, "512GiB"), (64, 256, "1.5TiB"), (100, 96, "384GiB"), (256, 23, "64GiB"),
        (512, 104, "512GiB"), (1021, 56, "192GiB"), (1024, 128, "1024GiB"),
    ]
    for network in ("100m", "10g", "200g")
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "cores", "memory", "network"), MACHINES)
def test_each_plausible_machine_gets_a_file_that_fits_it(nodes: int, cores: int, memory: str, network: str) -> None:
    result = described_dat(DatAsk(nodes=nodes, cores=cores, memory=memory, network=network))
    params, facts = result.params, dict(result.facts)
    here, threads = facts["ranks_per_node"] or 0, facts["threads_per_rank"] or 0
    assert params.P <= params.Q
    assert nodes * here == params.P * params.Q
    assert params.N % params.NB == 0
    assert here * memory_bytes(params) <= 0.9 * parse_bytes(memory, "memory")
    assert 15 / 16 * cores <= here * threads <= cores
    squarest = process_grids(params.ranks)[0]
    assert (squarest[1] > 4 * squarest[0]) == any("no grid near a square" in reason for reason in result.reasons)
    assert not any("Caution" in reason for reason in result.reasons)


def test_the_least_memory_that_is_told_is_enough() -> None:
    with pytest.raises(UsageError, match="write 26MiB or more"):
        described_dat(DatAsk(nodes=4, cores=8, memory="10KiB", network="200g", ranks=32))
    assert described_dat(DatAsk(nodes=4, cores=8, memory="26MiB", network="200g", ranks=32)).params.N > 0


def four(cores: int, memory: str = "64GiB", network: str = "200g", **more: Any) -> DatAsk:
    return DatAsk(nodes=4, cores=cores, memory=memory, network=network, **more)


ZEN4 = DatAsk(cores=4, memory="16GiB", cpu="zen4", ghz=3.0)
SMALLER_CORES = (("i9-13900K", 24), ("Apple M1", 8), ("Core Ultra 9 285K", 24))
SCENES = {
    "a large cluster": LARGE,
    "a large cluster on a slow network": replace(LARGE, network="10g"),
    "one node": DatAsk(cores=64, memory="256GiB"),
    **{
        f"a rank has the cores of a NUMA node of {cpu}": four(cores, "480GiB", "400g", cpu=cpu)
        for cpu, cores in (("A64FX", 48), ("a64fx", 48), ("Grace", 144), ("GH200", 72), (None, 48))
    },
    **{
        f"NB follows from {cpu}": DatAsk(cores=8, memory="16GiB", cpu=cpu)
        for cpu in ("zen2", "sapphirerapids", "Cortex-A72", "power9")
    },
    "the time of a rate that is asked": DatAsk(cores=1, memory="1GiB", N=10_000, gflops=2 / 3 * 1e3),
    "a range of times from published results": four(16, "64GiB", "25g", cpu="zen4", ghz=4.5),
    "one core needs no network": DatAsk(cores=1, memory="1GiB"),
    "panels take much of the memory": four(127, "8GiB", ranks=508),
    **{
        f"a prime number of cores: {cores}, {network}": four(cores, network=network)
        for cores, network in ((97, "25g"), (97, "200g"), (127, "200g"))
    },
    "fewer ranks send less only where there are fewer": DatAsk(nodes=16, cores=1, memory="1GiB", network="100m"),
    "ranks that have only a long grid": four(127, ranks=508),
    "a block that is larger than the matrix": DatAsk(cores=1, memory="1GiB", N=100, NB=192),
    "a prime number of ranks": DatAsk(nodes=13, cores=1, memory="1GiB", network="10g"),
    **{
        f"Rpeak of {cpu} with smaller cores is at most": DatAsk(cores=cores, memory="64GiB", cpu=cpu, ghz=3.0)
        for cpu, cores in SMALLER_CORES
    },
    "Rpeak that was told": DatAsk(cores=24, memory="64GiB", cpu="i9-13900K", ghz=3.0, flops_per_cycle=11),
    "a rate above Rpeak": replace(ZEN4, gflops=100_000.0),
    "a small rate": replace(ZEN4, gflops=0.001),
    "bits are no bytes": DatAsk(cores=4, memory="8gb", network="10GbE"),
}


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_told_of_a_described_machine_is_what_it_was(request: pytest.FixtureRequest, scene: str) -> None:
    report = described_dat(SCENES[scene]).report()
    facts = {name: value for name, value in as_json(report).items() if scene == "a large cluster" or name != "HPL.dat"}
    hold_scene(request, "described", SCENES, scene, told(replace(report, facts={**facts, "reasons": "as above"})))
