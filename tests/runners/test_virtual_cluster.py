"""Virtual clusters: their files, what settings do to a network, and what SimGrid is told."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from runners.errors import InvalidJobError
from runners.job import Job
from runners.launchers.smpi import Smpi, SmpiNetwork
from runners.toml_file import ClusterFileError
from runners.virtual.cluster import Network, VirtualCluster, VirtualNoise
from runners.virtual.cost_model import cost_model
from runners.virtual.load import cluster_text, load_cluster, parse_cluster, shipped
from runners.virtual.platform import Settings, Setup, link, platform_xml

KRONOS = cluster_text("kronos")[1]


def kronos(**changes: object) -> VirtualCluster:
    return load_cluster("kronos").model_copy(update=changes)


def test_four_clusters_are_shipped_and_each_says_what_it_is() -> None:
    assert shipped() == ("ethernet16", "infiniband64", "kronos", "pi5")
    for name in shipped():
        cluster = load_cluster(name)
        assert cluster.description
        network = next(iter(cluster.networks))
        assert cluster.price_with(network)
        assert cluster.power_with(network)


def test_kronos_has_the_published_peak() -> None:
    assert load_cluster("kronos").rpeak_gflops == pytest.approx(28.10, abs=0.005)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("gbit_s = 1.0", "gbit_s = -1.0", r"line \d+: networks.gige.gbit_s = -1.0: write more than 0"),
        ("latency_us = 29", "", r"line \d+: networks.gige.latency_us is missing"),
        ("memory_gb_s", "memory_gbs", r"core.memory_gb_s is missing"),
        ("strided_ns = 60", "strided_ns = 60\nmagic = 1", r"line \d+: core.magic is not known here"),
        ("count = 8", "count = 0", r"line \d+: nodes.0.count = 0: write 1 or more"),
        ("count = 8", "count = 1000000", r"the nodes have 1,000,000 cores, and at most 65,536 are simulated"),
        ("clock_ghz = 1.756", "clock_ghz = nan", r"clock_ghz = nan: write"),
        ("mtu = 1500 ", "mtu = 15000 ", r"mtu is 15000, but mtu_most is 9000"),
        ("cpu_us = 10 ", "cpu_us = 20 ", r"must be less than half"),
        ("count = 8", "count = eight", r"Invalid value"),
        ("[core]", "[cores]", r"core is missing"),
    ],
)
def test_a_wrong_figure_is_named_with_file_line_and_key(old: str, new: str, sentence: str) -> None:
    assert old in KRONOS
    with pytest.raises(ClusterFileError, match=sentence) as error:
        parse_cluster("mine.toml", KRONOS.replace(old, new, 1))
    assert str(error.value).startswith("mine.toml")


SECOND_KIND = """
[[nodes]]
count = 1
cores = 4
clock_ghz = 3.0
flops_per_cycle = 16
memory_gib = 30
"""
MEASURED = """
[blas.measured.dgemm_gflops]
n = [8, 64]
k = [16]
gflops = [
    [1.0],
    [2.0],
]

[blas.later]
dgemm_gflops = 5
call_us = 0.5
"""
INLINE = """
[networks.fast]
latency_us = 5
gbit_s = 1
switch = { price = 60 }
"""


@pytest.mark.parametrize(
    ("old", "new", "at", "sentence"),
    [
        ("memory_gib = 30", "memory_gib = -30", "memory_gib = -30", "nodes.1.memory_gib = -30: write more than 0"),
        ("cores = 4\n", "", "[[nodes]]", "nodes.1.cores is missing"),
        ("k = [16]", "k = [16, 32]", "[blas.measured", "dgemm_gflops: gflops must have 2 rows of 2 numbers"),
        ("n = [8, 64]", "", "[blas.measured", "blas.measured.dgemm_gflops.n is missing"),
        ("[2.0]", "[-2.0]", "gflops = [", "blas.measured.dgemm_gflops.gflops.1.0 = -2.0: write more than 0"),
        ("dgemm_gflops = 5", 'dgemm_gflops = "fast"', "dgemm_gflops = ", "dgemm_gflops = fast: write a number"),
        ("call_us = 0.5", "call_us = -1", "call_us = -1", "blas.later.call_us = -1: write 0 or more"),
        ("call_us = 0.5", INLINE, "switch = ", "networks.fast.switch.price is not known here"),
        ("call_us = 0.5", "[network.fast]", "[network.fast]", "network is not known here"),
    ],
)
def test_a_mistake_in_a_later_part_has_the_line_of_that_part(old: str, new: str, at: str, sentence: str) -> None:
    added = (SECOND_KIND + MEASURED).replace(old, new, 1)
    assert added != SECOND_KIND + MEASURED
    rows = enumerate((KRONOS + added).splitlines(), start=1)
    line = next(number for number, row in rows if number > len(KRONOS.splitlines()) and row.startswith(at))
    with pytest.raises(ClusterFileError) as error:
        parse_cluster("mine.toml", KRONOS + added)
    assert str(error.value).startswith(f"mine.toml, line {line}: ")
    assert sentence in str(error.value)


def test_one_table_in_place_of_a_list_of_them_is_told_with_the_right_header() -> None:
    with pytest.raises(ClusterFileError, match=r"line \d+: nodes: write a list; .* \[\[nodes\]\]"):
        parse_cluster("mine.toml", KRONOS.replace("[[nodes]]", "[nodes]", 1))


def test_a_mistyped_cluster_is_suggested() -> None:
    with pytest.raises(ClusterFileError, match=r"did you mean kronos\?"):
        load_cluster("cronos")
    with pytest.raises(ClusterFileError, match=r"cannot read none\.toml"):
        load_cluster("none.toml")


def test_a_file_saved_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(KRONOS, encoding="utf-8-sig")
    assert load_cluster(str(tmp_path / "mine.toml")) == load_cluster("kronos")


@pytest.mark.parametrize("name", ["ethernet16", "infiniband64", "kronos", "pi5"])
def test_a_cluster_survives_being_written_and_read(name: str) -> None:
    cluster = load_cluster(name)
    assert parse_cluster("again", tomli_w.dumps(cluster.model_dump(mode="json", exclude_defaults=True))) == cluster


networks = st.builds(
    Network,
    latency_us=st.floats(21, 500),
    gbit_s=st.floats(0.01, 400),
    packet_us=st.floats(0, 20),
    cpu_us=st.floats(0, 10),
    mtu_most=st.just(9000),
    throttle_us=st.floats(0, 300),
)


@given(networks, st.integers(256, 8999))
def test_larger_packets_never_make_a_network_slower(network: Network, mtu: int) -> None:
    small, large = link(network, Settings(mtu=mtu)), link(network, Settings(mtu=mtu + 1))
    line = network.gbit_s * 1e9 / 8
    assert small.bytes_s <= large.bytes_s * (1 + 1e-9) <= line * (1 + 2e-9)
    assert small.packet_bytes < large.packet_bytes


@given(networks, st.floats(1, 300))
def test_holding_interrupts_back_never_makes_a_message_faster(network: Network, gap_us: float) -> None:
    off, on = link(network, Settings(throttle_us=0)), link(network, Settings(throttle_us=gap_us))
    assert on.latency_us >= off.latency_us
    assert (on.held_us, off.held_us) == (gap_us, 0)


def test_throttling_turns_29_into_117_microseconds_and_a_long_message_waits_once_more() -> None:
    gige = load_cluster("kronos").networks["gige"]
    on, off = link(gige, Settings()), link(gige, Settings(throttle_us=0))
    assert on.latency_us + 2 * gige.cpu_us == pytest.approx(117)
    assert off.latency_us + 2 * gige.cpu_us == pytest.approx(29)
    factors = dict(part.split(":") for part in on.latency_factors().split(";"))
    assert list(factors) == ["65537", "1461", "0"]
    assert float(factors["1461"]) * on.latency_us == pytest.approx(on.latency_us + 117, rel=1e-4)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (Settings(mtu=9500), "MTU of 9500: this network takes 256 to 9000"),
        (Settings(mtu=10), "MTU of 10"),
        (Settings(nics=2), "2 NICs: these nodes have 1"),
        (Settings(throttle_us=-1), "expected 0 or more"),
    ],
)
def test_a_setting_the_network_does_not_take_is_refused(settings: Settings, sentence: str) -> None:
    with pytest.raises(InvalidJobError, match=sentence):
        link(load_cluster("kronos").networks["gige"], settings)


def test_more_ranks_than_virtual_cores_are_refused() -> None:
    with pytest.raises(InvalidJobError, match="9 ranks need 9 cores: Kronos has 8 in 8 nodes"):
        Setup(load_cluster("kronos"), "acml", "gige").hosts(9)


def test_ranks_fill_one_node_after_the_other() -> None:
    pile = Setup(load_cluster("pi5"), "blis", "gige")
    assert pile.hosts(6) == ["n0", "n0", "n0", "n0", "n1", "n1"]


@pytest.mark.parametrize("name", ["ethernet16", "infiniband64", "kronos", "pi5"])
def test_the_platform_has_every_host_once(name: str) -> None:
    cluster = load_cluster(name)
    for network in cluster.networks:
        text = platform_xml(Setup(cluster, next(iter(cluster.blas)), network))
        hosts = [host.attrib["id"] for host in ET.fromstring(text).iter("host")]  # noqa: S314
        assert sorted(hosts) == sorted(f"n{number}" for number in range(len(cluster.node_list)))


def test_an_oversubscribed_tree_has_thinner_uplinks() -> None:
    cluster = load_cluster("infiniband64")

    def uplink(network: str) -> float:
        tree = ET.fromstring(platform_xml(Setup(cluster, "mkl", network)))  # noqa: S314
        widths = {entry.attrib["id"]: entry.attrib["bandwidth"] for entry in tree.iter("link")}
        return float(widths["u0"].removesuffix("Bps"))

    assert uplink("hdr100") == pytest.approx(4 * uplink("hdr100-4to1"))


def test_noise_follows_from_the_seed_the_configuration_and_the_repeat() -> None:
    noisy = kronos(noise=VirtualNoise(nodes=0.02, runs=0.01, seed=7))

    def speeds(repeat: int = 0, key: str = "a") -> tuple[float, ...]:
        return Setup(noisy, "atlas", "gige", repeat=repeat, launch_key=key).node_speeds()

    assert speeds() == speeds()
    assert len({speeds(), speeds(repeat=1), speeds(key="b")}) == 3
    ratios = [new / old for new, old in zip(speeds(repeat=1), speeds(), strict=True)]
    assert max(ratios) == pytest.approx(min(ratios)), "a run changes all nodes alike, a node keeps its own speed"


def test_the_cost_model_names_every_figure_once() -> None:
    text = cost_model(Setup(load_cluster("kronos"), "acml", "faste"), ranks=8)
    rows = dict(line.split(" ", 1) for line in text.splitlines())
    assert len(rows) == len(text.splitlines())
    assert float(rows["gemm_gflops"]) == pytest.approx(2.245)
    assert rows["every_message"] == "1"
    assert "every_message 0" in cost_model(Setup(load_cluster("infiniband64"), "mkl", "hdr100"), ranks=64)


def test_the_cost_model_says_which_node_each_rank_is_on() -> None:
    lines = cost_model(Setup(load_cluster("pi5"), "blis", "gige"), ranks=6).splitlines()
    assert "nodes 6 0 0 0 0 1 1" in lines


SMPI = Smpi(Path("/usr/lib/simgrid/smpimain"), SmpiNetwork("0:1", 65536))


def test_the_launcher_is_tokens_and_files_of_the_folder(tmp_path: Path) -> None:
    tokens = SMPI.command(Job(program=("/opt/xhpl-virtual",), ranks=8, directory=tmp_path))
    assert tokens[:2] == ["/usr/lib/simgrid/smpimain", "/opt/xhpl-virtual"]
    assert tokens[-1] == "platform.xml"
    assert "--cfg=smpi/np:8" in tokens
    assert "--cfg=smpi/lat-factor:0:1" in tokens


@pytest.mark.parametrize(
    ("code", "said", "sentence"),
    [
        (0, "[1.2] Deadlock detected", "HPL needs more ranks"),
        (2, "hpltune-virtual: cannot read the model none", "cannot read the model none"),
        (-9, "", "ended by signal 9"),
        (1, "first\nlast word", "ended with code 1: last word"),
    ],
)
def test_what_simgrid_says_becomes_a_sentence(code: int, said: str, sentence: str) -> None:
    assert sentence in SMPI.explain(Job(program=("/opt/xhpl-virtual",), ranks=8, directory=Path("/run")), code, said)


def test_the_cluster_of_the_page_works() -> None:
    page = (Path(__file__).parents[2] / "docs/simulation.md").read_text()
    example = page.partition("## A cluster file")[2].partition("```toml\n")[2].partition("```")[0]
    assert parse_cluster("docs/simulation.md", example).cores == 8
    for name in shipped():
        assert f"`{name}`" in page
