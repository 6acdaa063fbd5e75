"""Peak, price and power of the nodes that a configuration uses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hpl.params import Scalar
from results.metrics import Merit, merit, power_by
from results.record import Study
from search_spaces.parameters.dimension import dropped_nodes, ranks_and_threads

from .peak import peak_of

PROGRAM = "program"
"""Fact of a study: the family whose own parameters it may have searched over; with several programs those of each."""
GPUS = "gpus"
"""Fact of a study: the GPUs of a node that its program computes on."""
WRAP = "wrap"
"""Fact of a study: the words before the program of every rank."""
MODULES = "modules"
"""Fact of a study: the environment modules that were loaded when it began."""
CONTAINER, CONTAINER_SHA256 = "container", "container_sha256"
"""Facts of a study: the image in which ranks run, and its digest, which a folder has not."""
KINDS = "node_kinds"
NO_WATTS: Mapping[str, float] = {}
DECIDING = ("layout", "nodes_dropped", "net.network")
"""The parameters that decide which part of a machine a configuration uses."""


@dataclass(frozen=True)
class NodeKind:
    """Nodes that are alike.

    Attributes:
        rpeak_gflops, price_usd, power_w: of each node with its part of the network; 0 if unknown.
        speed: relative; nodes that a configuration drops are the slowest.
    """

    count: int
    cores: float
    rpeak_gflops: float
    price_usd: float
    power_w: float
    speed: float = 1.0


@dataclass(frozen=True)
class UsedNodes:
    """The nodes that a configuration uses; peak, price and power of all of them together, None if unknown."""

    nodes: int
    rpeak_gflops: float | None
    price_usd: float | None
    power_w: float | None

    def merit(self, gflops: float) -> Merit:
        """What a rate is worth on these nodes."""
        return merit(gflops, rpeak_gflops=self.rpeak_gflops, price_usd=self.price_usd, power_w=self.power_w)


@dataclass(frozen=True)
class Equipment:
    """The machine of a study.

    Attributes:
        kinds: by network, the kinds of nodes in the order in which ranks fill them; the default network comes first.
        hosts: number of hosts of a real cluster when the study began; a run on fewer of them uses that part.
        power_source: which measurement of the power counts, so that the power of these nodes is that of a run; "" where
            none does, so that it is what the user or the cluster's file says.
    """

    kinds: Mapping[str, Sequence[NodeKind]]
    hosts: int = 1
    power_source: str = ""

    @classmethod
    def of(cls, study: Study) -> "Equipment":
        """What a study says of its machine.

        On a real cluster ranks are spread over all nodes, so it counts as a single node. If an older study does not
        tell the nodes of a virtual cluster apart, they are taken to be alike.
        """
        stored = study.host.get(KINDS)
        if isinstance(stored, Mapping):
            return cls({network: tuple(NodeKind(**kind) for kind in kinds) for network, kinds in stored.items()})
        nodes = host_count(study.host, "nodes") if study.simulated else 1
        peak, price, power = ((fact or 0.0) / nodes for fact in (peak_of(study), study.price_usd, study.power_w))
        hosts = 1 if study.simulated else host_count(study.host, "nodes")
        kind = NodeKind(nodes, host_count(study.host, "physical_cores") / nodes, peak, price, power)
        return cls({"": (kind,)}, hosts, study.notes.power_source)

    def facts(self) -> dict[str, Any]:
        """What a study stores of its equipment among the facts of its machine."""
        return {KINDS: {network: [asdict(kind) for kind in kinds] for network, kinds in self.kinds.items()}}

    @property
    def whole(self) -> UsedNodes:
        """All nodes, with the default network."""
        return self._together([(kind, kind.count) for kind in self._with(None)])

    def used_on(self, hosts: int, params: Mapping[str, Scalar], watts: Mapping[str, float] = NO_WATTS) -> UsedNodes:
        """The part that a run on a number of hosts used; 0 hosts if the number is unknown.

        Args:
            watts: the power of the run by the source that measured it.
        """
        used = self._part(min(1.0, hosts / self.hosts)) if hosts and self.hosts > 1 else self.used(params)
        return replace(used, power_w=power_by(watts, self.power_source)) if self.power_source else used

    @property
    def power_words(self) -> str:
        """Where the power is from, as it stands behind "MFLOPS/W"; "" where it was not measured."""
        return f" ({self.power_source})" if self.power_source else ""

    def used(self, params: Mapping[str, Scalar]) -> UsedNodes:
        """The part that a configuration uses: its network, and the nodes that its ranks fill one after another.

        On a real cluster it is all nodes, or those that are left where it drops some.
        """
        dropped = dropped_nodes(params)
        if dropped and self.hosts > 1:
            return self._part((self.hosts - dropped) / self.hosts)
        if "layout" not in params:
            return self.whole
        ranks, threads = ranks_and_threads(params["layout"])
        left, counted = float(ranks * threads), []
        for kind, there in _without_slowest(self._with(params.get("net.network")), dropped):
            count = min(there, max(0, math.ceil(left / kind.cores)))
            left -= count * kind.cores
            counted.append((kind, count))
        return self._together(counted)

    def _part(self, part: float) -> UsedNodes:
        """A part of all nodes."""
        whole = self.whole
        peak, price, power = (
            None if fact is None else part * fact for fact in (whole.rpeak_gflops, whole.price_usd, whole.power_w)
        )
        return UsedNodes(whole.nodes, peak, price, power)

    def _with(self, network: Scalar | None) -> Sequence[NodeKind]:
        return self.kinds.get(str(network)) or next(iter(self.kinds.values()))

    def _together(self, counted: Sequence[tuple[NodeKind, int]]) -> UsedNodes:
        def total(name: str) -> float | None:
            # Each configuration uses at least the first kind of nodes.
            known = all(getattr(kinds[0], name) for kinds in self.kinds.values())
            return sum(count * getattr(kind, name) for kind, count in counted) if known else None

        nodes = sum(count for _, count in counted)
        return UsedNodes(nodes, total("rpeak_gflops"), total("price_usd"), total("power_w"))


def _without_slowest(kinds: Sequence[NodeKind], dropped: int) -> list[tuple[NodeKind, int]]:
    """The kinds of nodes with how many are left without the slowest."""
    counts = [kind.count for kind in kinds]
    for place in sorted(range(len(kinds)), key=lambda place: (kinds[place].speed, -place)):
        gone = min(counts[place], dropped)
        counts[place], dropped = counts[place] - gone, dropped - gone
    return list(zip(kinds, counts, strict=True))


def host_count(host: Mapping[str, object], name: str, used: int = 0) -> int:
    """A number that a study stores of its machine, such as its "nodes"; 1 if it stores none.

    Args:
        used: of its nodes, whose part is returned; 0 for all of them.
    """
    whole = value if isinstance(value := host.get(name), int) and value > 0 else 1
    return whole * min(used, nodes := host_count(host, "nodes")) // nodes if used else whole
