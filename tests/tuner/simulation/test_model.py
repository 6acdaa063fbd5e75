"""What simulated HPL makes of a virtual cluster, and how long it may take."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from hpl.params import Scalar
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import load_cluster
from search_spaces.errors import SpaceError
from search_spaces.load import load
from tuner.simulation.cluster import SimulatedCluster
from tuner.simulation.known import machine_of, probes_of, simulated_space
from tuner.simulation.plan import virtual_plan
from tuner.simulation.reproduction import gain, published, simulate_tests, typical_error
from tuner.simulation.simulator import Simulated, Simulator, Wish, simulate
from tuner.stopping import StopRequest
from tuner.user_dirs import UserDirs

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("simgrid")]


@pytest.fixture
def site(home: Path) -> SimulatedCluster:
    assert home
    return SimulatedCluster.open(load_cluster("kronos"), UserDirs.of_user(), None, None)


def run(
    site: SimulatedCluster,
    cluster: VirtualCluster | None = None,
    params: Mapping[str, Scalar] | None = None,
    *,
    every: bool | None = None,
) -> Simulated:
    ranks = (cluster or site.cluster).cores
    usual: dict[str, Scalar] = {"N": 2000, "NB": 64, "grid": f"1x{ranks}", "layout": f"{ranks}x1", "blas": "atlas"}
    wishes = [Wish({**usual, **(params or {})}, cluster)]
    return simulate(site, wishes, jobs=1, limit_s=120, stop=StopRequest(), every_message=every)[0]


def rate(simulated: Simulated) -> float:
    assert simulated.gflops is not None, simulated.reason
    return simulated.gflops


def with_nodes(cluster: VirtualCluster, **changes: float) -> VirtualCluster:
    return cluster.model_copy(update={"nodes": (cluster.nodes[0].model_copy(update=changes),)})


def test_the_kronos_tests_are_predicted_as_well_as_promised(site: SimulatedCluster) -> None:
    figures = published("kronos")
    rows = simulate_tests(site, figures, jobs=2, limit_s=120, stop=StopRequest())
    errors = {row.test.number: abs(row.error or 9.0) for row in rows}
    assert sum(row.test.role == "fitted" for row in rows) <= 3
    typical = typical_error(rows)
    assert typical is not None
    assert typical[0] <= 0.03
    assert typical[1] <= 0.06
    assert errors[1] <= 0.20
    by_published = sorted(rows, key=lambda row: row.test.gflops)
    by_simulated = sorted(rows, key=lambda row: row.simulated.gflops or 0.0)
    assert by_published == by_simulated
    throttling = gain(rows, 4, 5)
    assert throttling is not None
    assert abs(throttling[1] - throttling[0]) <= 0.015


def test_the_same_seed_gives_the_same_number_and_another_seed_another(site: SimulatedCluster) -> None:
    noise = {"nodes": 0.02, "runs": 0.02, "jitter": 0.02}

    def noisy(seed: int) -> VirtualCluster:
        return VirtualCluster.model_validate({**site.cluster.model_dump(), "noise": {**noise, "seed": seed}})

    assert rate(run(site)) == rate(run(site))
    assert rate(run(site, noisy(1))) == rate(run(site, noisy(1)))
    assert rate(run(site, noisy(1))) != rate(run(site, noisy(2)))


def test_a_slow_node_slows_the_whole_cluster(site: SimulatedCluster) -> None:
    usual = site.cluster.nodes[0]
    mixed = (usual.model_copy(update={"count": 7}), usual.model_copy(update={"count": 1, "speed": 0.5}))
    slow = site.cluster.model_copy(update={"nodes": mixed})
    large: dict[str, Scalar] = {"N": 8000}
    assert rate(run(site, slow, large)) < 0.8 * rate(run(site, params=large))


def rates(n: Sequence[int], gflops: Sequence[float]) -> dict[str, object]:
    """One depth, and a rate for each width."""
    return {"n": tuple(n), "k": (64,), "gflops": tuple((one,) for one in gflops)}


def with_blas(site: SimulatedCluster, **measured: object) -> VirtualCluster:
    return VirtualCluster.model_validate({**site.cluster.model_dump(), "blas": {"atlas": measured}})


def test_between_measured_widths_a_call_takes_time_in_proportion(site: SimulatedCluster) -> None:
    first, last = 64 / 2.0, 256 / 2.6
    between = 128 / (first + (last - first) * (128 - 64) / (256 - 64))
    two = with_blas(site, dgemm_gflops=rates((64, 256), (2.0, 2.6)))
    three = with_blas(site, dgemm_gflops=rates((64, 128, 256), (2.0, between, 2.6)))
    assert rate(run(site, two)) == pytest.approx(rate(run(site, three)), rel=1e-6)


def test_a_search_is_told_what_narrow_blocks_cost_as_simulations_have_it(site: SimulatedCluster) -> None:
    def told(cluster: VirtualCluster) -> float:
        space = load("kronos", machine_of(cluster, 4000), {"blas": ["atlas"]})
        return probes_of(cluster, space).half_nb or 0.0

    widths = (1, 4, 32, 64, 128, 256)
    table = with_blas(
        site, dgemm_gflops={"n": (1024,), "k": widths, "gflops": (tuple(9 * k / (k + 30) for k in widths),)}
    )
    assert told(table) == pytest.approx(30, rel=1e-6)
    core, atlas = site.cluster.core, site.cluster.blas["atlas"]
    slow = site.cluster.model_copy(update={"core": core.model_copy(update={"memory_gb_s": core.memory_gb_s / 3})})
    assert told(slow) == pytest.approx(3 * told(site.cluster))
    blocks = [rate(run(site, one, {"N": 6000, "NB": NB})) for one in (slow, site.cluster) for NB in (32, 128)]
    assert blocks[1] / blocks[0] > 1.2 * blocks[3] / blocks[2]
    assert atlas.dgemm_gflops == pytest.approx(told(site.cluster) * core.memory_gb_s / 8)


@pytest.mark.parametrize(
    ("params", "slower"),
    [
        ({"grid": "1x8"}, True),
        ({"grid": "2x4"}, False),
        ({"grid": "2x4", "U": "notransposed"}, False),
        ({"grid": "2x4", "L1": "notransposed"}, False),
    ],
)
def test_solving_in_the_matrix_itself_is_what_1_x_q_grids_do(
    site: SimulatedCluster, params: dict[str, Scalar], *, slower: bool
) -> None:
    usual = {"dgemm_gflops": rates((64,), (2.0,)), "dtrsm_gflops": rates((64,), (1.0,))}
    alike = rate(run(site, with_blas(site, **usual), params))
    slow = rate(run(site, with_blas(site, **usual, dtrsm_left_gflops=rates((64,), (0.1,))), params))
    assert (slow < 0.9 * alike) is slower


def as_nodes(cluster: VirtualCluster, count: int, cores: int) -> VirtualCluster:
    """The same cores and memory in other nodes; what each core does is left."""
    return with_nodes(cluster, count=count, cores=cores, memory_gib=cores * 0.18)


def with_network(cluster: VirtualCluster, **changes: object) -> VirtualCluster:
    networks = {name: network.model_copy(update=changes) for name, network in cluster.networks.items()}
    return cluster.model_copy(update={"networks": networks})


@pytest.mark.parametrize("leaf_nodes", [None, 1])
@pytest.mark.parametrize("grid", ["1x8", "8x1"])
def test_messages_within_a_node_pass_no_network(site: SimulatedCluster, grid: str, leaf_nodes: int | None) -> None:
    on: dict[str, Scalar] = {"grid": grid}
    switch = site.cluster.networks["gige"].switch.model_copy(update={"leaf_nodes": leaf_nodes})
    cluster = with_network(site.cluster, switch=switch)
    slow = {"gbit_s": 0.01, "latency_us": 5_000.0, "cpu_us": 1_000.0, "cpu_ns_per_kib": 10_000.0}
    one, two = as_nodes(cluster, 1, 8), as_nodes(cluster, 2, 4)
    alone, apart = rate(run(site, one, on)), rate(run(site, two, on))
    assert alone == pytest.approx(rate(run(site, with_network(one, **slow), on)), rel=0.002)
    assert alone > apart > 2 * rate(run(site, with_network(two, **slow), on))


def test_messages_within_a_node_take_what_its_memory_takes(site: SimulatedCluster) -> None:
    node = as_nodes(site.cluster, 1, 8)
    of_memory = [{}, {"gb_s": 0.05}, {"latency_us": 500.0}]
    usual, narrow, late = (
        rate(run(site, node.model_copy(update={"shared_memory": node.shared_memory.model_copy(update=changed)})))
        for changed in of_memory
    )
    assert narrow < 0.8 * usual
    assert late < 0.95 * usual


def test_every_line_of_hpl_dat_can_be_simulated(site: SimulatedCluster) -> None:
    several: tuple[dict[str, Scalar], ...] = (
        {"grid": "8x1", "SWAP": "bin"}, {"grid": "4x2", "SWAP": "long", "EQUIL": "no"}, {"grid": "2x4", "DEPTH": 2},
        {"grid": "2x4", "L1": "notransposed", "U": "notransposed"}, {"PFACT": "left", "RFACT": "left", "NBMIN": 1},
        {"PFACT": "crout", "NDIV": 3}, {"BCAST": "Lng", "DEPTH": 1}, {"BCAST": "2rM"},
        {"PMAP": "column", "grid": "2x4"}, {"NB": 1500, "grid": "4x2", "N": 6000},
    )  # fmt: skip
    for params in several:
        assert 0 < rate(run(site, params=params)) < 28.1, params


def test_sampling_changes_little(site: SimulatedCluster) -> None:
    cluster = with_nodes(site.cluster, count=36)
    large: dict[str, Scalar] = {"grid": "6x6", "N": 6000, "NB": 128}
    whole = rate(run(site, cluster, large, every=True))
    sampled = rate(run(site, cluster, large, every=False))
    assert sampled == pytest.approx(whole, rel=0.015)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"layout": "9x1", "grid": "3x3"}, "9 ranks need 9 cores: Kronos has 8"),
        ({"N": 20000}, "N=20000 needs .* on node n0, which has 0.2 GiB"),
        ({"blas": "mkl"}, "blas = mkl: Kronos has atlas, acml"),
        ({"net.mtu": 9500}, "MTU of 9500: this network takes"),
        ({"net.network": "myrinet"}, "Kronos has gige, faste"),
        ({"net.color": 1}, "net.color: without meaning"),
        ({"net.networks": "gige"}, "net.networks: without meaning on a virtual cluster; did you mean net.network"),
        ({"mpi.btl": "tcp"}, "mpi.btl: without meaning"),
        ({"layout": "4x2", "grid": "2x2"}, "one thread a rank"),
        ({"layout": "4x1", "grid": "2x4"}, "needs 8 ranks, the layout starts 4"),
        ({"NB": 0}, "NB"),
    ],
)
def test_what_the_cluster_cannot_do_is_a_sentence(
    site: SimulatedCluster, params: dict[str, Scalar], sentence: str
) -> None:
    found = run(site, params=params)
    assert found.gflops is None
    assert re.search(sentence, found.reason), found.reason


def test_a_simulation_that_takes_too_long_is_ended(site: SimulatedCluster) -> None:
    point: dict[str, Scalar] = {"N": 60000, "NB": 32, "grid": "12x12", "layout": "144x1", "blas": "atlas", "DEPTH": 1}
    cluster = with_nodes(site.cluster, count=144, memory_gib=99)
    found = simulate(site, [Wish(point, cluster)], jobs=1, limit_s=1.0, stop=StopRequest())
    assert "stopped at its time limit of 1 s" in found[0].reason
    assert not [process for process in psutil.Process().children(recursive=True) if process.name() == "smpimain"]


def test_a_simulation_that_outgrows_its_memory_is_ended(site: SimulatedCluster, tmp_path: Path) -> None:
    simulator = Simulator(site, jobs=1, memory_bytes=2**20)
    point: dict[str, Scalar] = {"N": 12000, "NB": 64, "grid": "2x4", "layout": "8x1", "blas": "atlas", "DEPTH": 1}
    measured = simulator.run(virtual_plan(point, site.cluster), tmp_path / "run", 60, StopRequest())
    fault = measured.verdict.faults[0]
    assert fault is not None
    assert "of memory, more than its share of 0.0 GiB: use fewer ⟦jobs⟧" in fault.reason


@pytest.mark.parametrize(
    "params",
    [
        {"grid": "1x8", "DEPTH": 1},
        {"grid": "2x4", "DEPTH": 0, "SWAP": "mix", "L1": "notransposed"},
        {"grid": "4x2", "DEPTH": 1, "SWAP": "long", "U": "notransposed", "NBMIN": 2},
    ],
)
def test_memory_alignment_takes_no_simulated_time(
    site: SimulatedCluster, home: Path, params: Mapping[str, Scalar]
) -> None:
    def told(alignment: int) -> tuple[object, str]:
        point = {"N": 1500, "NB": 48, "layout": "8x1", "blas": "atlas", **params, "alignment": alignment}
        simulator = Simulator(site, jobs=1)
        measured = simulator.run(virtual_plan(point, site.cluster), home / str(alignment), 120, StopRequest())
        return measured.verdict.results, measured.errors_text

    assert "hpltune-panel" in told(8)[1]
    assert told(4) == told(8) == told(16) == told(64)


@pytest.mark.parametrize(
    ("value", "hint"), [("atals", "Kronos has atlas, acml: did you mean atlas?"), ("mkl", "Kronos has atlas, acml")]
)
def test_a_library_that_the_cluster_has_not_is_refused_before_a_study(value: str, hint: str) -> None:
    with pytest.raises(SpaceError) as caught:
        simulated_space("kronos", load_cluster("kronos"), 4000, {"blas": [value]})
    assert str(caught.value) == f"kronos: blas = {value}: {hint}"
