"""What a page says of a virtual cluster, so that nobody takes a simulated rate for a measured one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from results.metrics import four_digits
from results.record import SIMULATOR, Study
from results.report.model import Sentence, Table, Tone, facts_table

from ..words import counted, listed

if TYPE_CHECKING:
    from runners.virtual.cluster import Network, VirtualBlas, VirtualCluster, VirtualNodes


def head_of(studies: Sequence[Study]) -> list[Sentence]:
    """Say what was simulated, and of a single study on which cluster; nothing where machines ran."""
    cluster = virtual_cluster_of(studies[0]) if len(studies) == 1 else None
    if cluster is None:
        return simulated_sentences(studies)
    return [cluster_sentence(cluster, studies[0].versions.get(SIMULATOR), studies[0].rpeak_gflops)]


def simulated_sentences(studies: Sequence[Study]) -> list[Sentence]:
    """Say which studies were simulated, on which clusters, and which are of a table; nothing of measured ones."""
    return [*_replayed_sentences(studies), *_simulated_sentences(studies)]


def _replayed_sentences(studies: Sequence[Study]) -> list[Sentence]:
    """Say which studies are of a table, so that nobody takes their rates for measured here."""
    replayed = [study for study in studies if study.replayed]
    if not replayed:
        return []
    tables = listed(list(dict.fromkeys(study.table for study in replayed)))
    rates = "every rate on this page" if len(replayed) == len(studies) else f"the rates of {listed(_names(replayed))}"
    told = listed(list(dict.fromkeys(str(study.host.get("description", "")) for study in replayed)))
    about = f" ({told.rstrip('.')})" if len(studies) == 1 and told else ""
    return [caution(f"Replayed, not measured here: a table told {rates}, {tables}{about}.")]


def _names(studies: Sequence[Study]) -> list[str]:
    return [study.name for study in studies]


def _simulated_sentences(studies: Sequence[Study]) -> list[Sentence]:
    simulated = [study for study in studies if study.how == "simulated"]
    if not simulated:
        return []
    on = listed(list(dict.fromkeys(str(study.host.get("virtual_cluster", "a virtual cluster")) for study in simulated)))
    if len(simulated) < len(studies):
        return [caution(f"Simulated, not measured: the rates of {listed(_names(simulated))}, on {on}.")]
    return [caution(computed(simulated[0].versions.get(SIMULATOR), on))]


def virtual_cluster_of(study: Study) -> VirtualCluster | None:
    """The virtual cluster that is stored with a study; None where it ran on a machine, or where it cannot be read."""
    stored = study.options.get("cluster")
    if not study.simulated or not isinstance(stored, Mapping):
        return None
    from runners.toml_file import ClusterFileError  # noqa: PLC0415 - only what was simulated needs it

    from ..simulation.cluster import cluster_from  # noqa: PLC0415

    try:
        return cluster_from(stored)
    except ClusterFileError:
        return None


def cluster_sentence(
    cluster: VirtualCluster, simulator: str | None, rpeak_gflops: float | None = None, rates: str = "every rate"
) -> Sentence:
    """Say in the head of a page that its rates are simulated, what the cluster is and what its figures are from.

    Args:
        rpeak_gflops: None for that of the cluster's file.
        rates: those of the page that are simulated.
    """
    described = f", {cluster.description}" if cluster.description else ""
    peak = rpeak_gflops or cluster.rpeak_gflops
    return caution(
        f"{computed(simulator, f'the virtual cluster {cluster.name}{described}', rates)} "
        f"It has {counted(len(cluster.node_list), 'node')}, {counted(cluster.cores, 'core')} in all and an Rpeak of "
        f"{four_digits(peak)} GFLOPS. {_basis(cluster)}"
    )


def caution(text: str) -> Sentence:
    """A sentence in the head of a page that nobody may miss."""
    return Sentence(text, tone=Tone.CAUTION)


def cluster_table(cluster: VirtualCluster, rpeak_gflops: float | None = None, title: str = "") -> Table:
    """List what a virtual cluster is made of.

    Args:
        rpeak_gflops: None for that of the cluster's file.
    """
    rows = [
        ("virtual cluster", f"{cluster.name}: {cluster.description}" if cluster.description else cluster.name),
        *(("nodes", _nodes(group)) for group in cluster.nodes),
        ("Rpeak in GFLOPS", four_digits(rpeak_gflops or cluster.rpeak_gflops)),
        *((f"BLAS {name}", _blas(blas)) for name, blas in cluster.blas.items()),
        *((f"network {name}", _network(network)) for name, network in cluster.networks.items()),
        *_bought(cluster),
        ("runs", _runs(cluster)),
        *([("its figures are", cluster.basis)] if cluster.basis else []),
    ]
    return facts_table(title, rows)


def computed(simulator: str | None, place: str, rates: str = "every rate") -> str:
    """Say in a sentence that no machine ran what a page shows."""
    return f"Simulated, not measured: {simulator or 'a simulator'} computed {rates} on this page for {place}."


def _basis(cluster: VirtualCluster) -> str:
    """What the figures of a cluster are from, as one sentence."""
    if not cluster.basis:
        return "Its file does not say what its figures are from."
    return f"Its figures are {cluster.basis.rstrip('.')}."


def _nodes(group: VirtualNodes) -> str:
    speed = "" if group.speed == 1.0 else f", at {group.speed:.0%} of the usual speed"
    return (
        f"{group.count} with {counted(group.cores, 'core')} at {group.clock_ghz:g} GHz, "
        f"{group.flops_per_cycle} FLOP per cycle, {group.memory_gib:g} GiB{speed}"
    )


def _blas(blas: VirtualBlas) -> str:
    rate = blas.dgemm_gflops
    if isinstance(rate, float | int):
        return f"dgemm {rate:g} GFLOPS on a core"
    return f"dgemm at most {max(max(row) for row in rate.gflops):g} GFLOPS on a core, by the shape of its operands"


def _network(network: Network) -> str:
    cards = "" if network.nics == 1 else f"{network.nics} cards of "
    mtu = f"MTU {network.mtu}" if network.mtu == network.mtu_most else f"MTU {network.mtu} to {network.mtu_most}"
    return f"{cards}{network.gbit_s:g} Gbit/s, latency {network.latency_us:g} µs, {mtu}"


def _bought(cluster: VirtualCluster) -> Iterator[tuple[str, str]]:
    """Price and power with the default network, where they are known."""
    price_usd, power_w = cluster.price_with(cluster.default_network), cluster.power_with(cluster.default_network)
    if price_usd:
        yield "price in $", f"{price_usd:,.0f}"
    if power_w:
        yield "power in W", f"{power_w:,.0f}"


def _runs(cluster: VirtualCluster) -> str:
    if cluster.noise.between_runs:
        return f"differ by a noise that seed {cluster.noise.seed} draws"
    return "do not depend on chance"
