"""The description of a virtual cluster. The files in `clusters/` name the source of each of their figures."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated

from pydantic import Discriminator, Field, Tag, model_validator

from ..toml_file import Count, Part, PartPriceUsd, Positive, PriceUsd, matching

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]

Key = Annotated[str, matching(r"[\w.+-]+", "letters, digits and _ . + -")]

MOST_CORES = 2**16
"""Of a cluster; each may have a rank, and a simulation of 1,024 takes minutes."""


class VirtualNodes(Part):
    """A kind of nodes.

    Attributes:
        cores: cores per node; as many ranks fit on it.
        flops_per_cycle: double-precision operations of a core per cycle.
        memory_gib: memory of a node that HPL may take.
        speed: speed of the node's cores relative to the BLAS models; a slow node has less than 1.
        price_usd, power_w: of one node; 0 where the figure counts for the whole cluster.
    """

    count: Count
    cores: Count
    clock_ghz: Positive
    flops_per_cycle: Count
    memory_gib: Positive
    speed: Positive = 1.0
    price_usd: PartPriceUsd = 0.0
    power_w: NotNegative = 0.0


class Core(Part):
    """The rates of a core besides dgemm.

    Attributes:
        memory_gb_s: rate between memory and core, in 1e9 bytes per second.
        cache_kib: operands up to this size stay in the core's cache.
        cache_gb_s: rate for operands in the cache.
        strided_ns: time to move one double between rows of a column-major matrix.
        exchange_ns: time to swap two such doubles; None for twice strided_ns.
        level2_gflops: rate of dgemv and dger on operands in the cache.
    """

    memory_gb_s: Positive
    cache_kib: Positive
    cache_gb_s: Positive
    strided_ns: NotNegative
    exchange_ns: NotNegative | None = None
    level2_gflops: Positive


class RateTable(Part):
    """dgemm's rate by shape: `gflops[i][j]` for a width of n[i] and a depth of k[j]; m is long, as in HPL.

    For dtrsm k is the order of the triangle and n the number of right-hand sides.
    """

    n: tuple[Count, ...]
    k: tuple[Count, ...]
    gflops: tuple[tuple[Positive, ...], ...]

    @model_validator(mode="after")
    def _whole(self) -> "RateTable":
        most = 64
        for name, axis in (("n", self.n), ("k", self.k)):
            if not axis or list(axis) != sorted(set(axis)) or len(axis) > most:
                raise ValueError(f"{name} must rise and have 1 to {most} values")
        if len(self.gflops) != len(self.n) or any(len(row) != len(self.k) for row in self.gflops):
            raise ValueError(f"gflops must have {len(self.n)} rows of {len(self.k)} numbers")
        return self


class VirtualBlas(Part):
    """A BLAS on one core of nominal speed.

    Attributes:
        dgemm_gflops: rate of a large dgemm without the traffic of its operands, which is added; or measured rates by
            shape, which include it.
        dtrsm_fraction: rate of dtrsm relative to dgemm of the same size; not used where there are measured rates.
        dtrsm_left_gflops: measured rates of dtrsm in the matrix itself, as 1 x Q grids do it, where they differ.
        call_us: time of any call.
    """

    dgemm_gflops: Annotated[
        Annotated[Positive, Tag("one rate")] | Annotated[RateTable, Tag("by shape")],
        Discriminator(lambda rate: "by shape" if isinstance(rate, Mapping | RateTable) else "one rate"),
    ]
    dtrsm_fraction: Annotated[float, Field(gt=0, le=2)] = 0.7
    dtrsm_gflops: RateTable | None = None
    dtrsm_left_gflops: RateTable | None = None
    call_us: NotNegative = 0.3


class Switch(Part):
    """The switches that connect the nodes.

    Attributes:
        leaf_nodes: nodes on one leaf switch; None for a single switch with all nodes.
        oversubscription: bandwidth of a leaf's nodes over that of its uplinks; 1 is a full fat tree.
        backplane_gbit_s: total rate of the (upper) switch; None for that of all its ports.
        hop_us: latency that each further switch adds.
        price_usd, power_w: of all switches and cables.
    """

    leaf_nodes: Count | None = None
    oversubscription: Positive = 1.0
    backplane_gbit_s: Positive | None = None
    hop_us: NotNegative = 0.0
    price_usd: PartPriceUsd = 0.0
    power_w: NotNegative = 0.0


class Network(Part):
    """A network and the MPI on it, as a ping-pong between two nodes measures them.

    Attributes:
        latency_us: one-way latency of a small message without delayed interrupts, including the CPU's part.
        gbit_s: line rate of one NIC.
        packet_us: additional time of each packet of a long message: headers, checksums, interrupts, the bus.
        header_bytes: bytes of an MTU that carry no data (TCP and IP: 40).
        cpu_us: part of the latency during which a core sends, and another during which one receives.
        cpu_ns_per_kib: additional time of a core for each KiB sent or received.
        mtu: default MTU of the network.
        mtu_most: largest MTU that the NICs and the switch take.
        throttle_us: how long a NIC holds back an interrupt by default; 0 for not at all.
        nics: network interfaces of each node, which are used together.
        eager_kib: a longer message first asks the receiver (rendezvous).
        socket_kib: part of a long message that the kernel takes into its buffer, so that the sender goes on before it
            is sent (TCP); 0 if a sender waits for the whole message.
        queue_kib: length of the kernel's queue behind which the node's other messages wait. Both count only if each
            node has one rank.
        latency_steps: measured latencies in place of the model: from a number of bytes on, a message takes this many
            microseconds besides its bytes at the line rate, including the question of a rendezvous.
        late_probe: whether MPI_Iprobe looks before it fetches new messages, so that only the second call finds one, as
            in Open MPI (mca_pml_ob1_iprobe). With look-ahead HPL then receives a panel one block of columns later.
    """

    latency_us: Positive
    gbit_s: Positive
    packet_us: NotNegative = 0.0
    header_bytes: Annotated[int, Field(ge=0, le=200)] = 40
    cpu_us: NotNegative = 0.0
    cpu_ns_per_kib: NotNegative = 0.0
    mtu: Annotated[int, Field(ge=256, le=65535)] = 1500
    mtu_most: Annotated[int, Field(ge=256, le=65535)] = 1500
    throttle_us: NotNegative = 0.0
    nics: Annotated[int, Field(ge=1, le=16)] = 1
    eager_kib: Annotated[int, Field(ge=1, le=2**20)] = 64
    socket_kib: NotNegative = 0.0
    queue_kib: NotNegative = 0.0
    latency_steps: tuple[tuple[Annotated[int, Field(ge=1)], NotNegative], ...] = ()
    late_probe: bool = True
    switch: Switch = Switch()

    @model_validator(mode="after")
    def _possible(self) -> "Network":
        if 2 * self.cpu_us >= self.latency_us:
            raise ValueError("cpu_us is spent twice within latency_us and must be less than half of it")
        if self.mtu > self.mtu_most:
            raise ValueError(f"mtu is {self.mtu}, but mtu_most is {self.mtu_most}")
        if any(size >= larger for (size, _), (larger, _) in pairwise(self.latency_steps)):
            raise ValueError("latency_steps must rise in bytes")
        if self.header_bytes >= self.mtu:
            raise ValueError("header_bytes leaves no room for data in an mtu")
        return self


class SharedMemory(Part):
    """Latency and rate of messages between ranks of one node."""

    latency_us: Positive = 0.5
    gb_s: Positive = 5.0


class VirtualNoise(Part):
    """The relative standard deviations between nodes and between runs; all noise is drawn from the seed."""

    nodes: Annotated[float, Field(ge=0, le=0.3)] = 0.0
    runs: Annotated[float, Field(ge=0, le=0.3)] = 0.0
    jitter: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    seed: Annotated[int, Field(ge=0, le=2**31)] = 1

    @property
    def between_runs(self) -> bool:
        """Whether two runs of the same configuration differ."""
        return self.runs > 0 or self.jitter > 0


class VirtualCluster(Part):
    """A cluster that exists only as a description.

    Attributes:
        basis: what its figures are from: measured where, published by whom, fitted to which runs, or assumed.
        caution: why they may be wrong, in a sentence that every study with it tells; "" for no known reason.
        price_usd, power_w: of the whole cluster, if they are not the sum of nodes and switches.
        blas, networks: by name; the first of each is the default.
    """

    name: Annotated[str, Field(min_length=1, max_length=100)]
    description: str = ""
    basis: str = ""
    caution: str = ""
    price_usd: PriceUsd | None = None
    power_w: Positive | None = None
    nodes: Annotated[tuple[VirtualNodes, ...], Field(min_length=1)]
    core: Core
    blas: Annotated[Mapping[Key, VirtualBlas], Field(min_length=1)]
    networks: Annotated[Mapping[Key, Network], Field(min_length=1)]
    shared_memory: SharedMemory = SharedMemory()
    noise: VirtualNoise = VirtualNoise()

    @model_validator(mode="after")
    def _possible(self) -> "VirtualCluster":
        if self.cores > MOST_CORES:
            raise ValueError(f"the nodes have {self.cores:,} cores, and at most {MOST_CORES:,} are simulated")
        return self

    @property
    def node_list(self) -> tuple[VirtualNodes, ...]:
        """The kind of each node."""
        return tuple(group for group in self.nodes for _ in range(group.count))

    @property
    def cores(self) -> int:
        """The number of cores of all nodes."""
        return sum(group.count * group.cores for group in self.nodes)

    @property
    def rpeak_gflops(self) -> float:
        """Rpeak in GFLOPS, as the TOP500 counts it: nodes x cores x clock x operations per cycle."""
        return sum(group.count * group.cores * group.clock_ghz * group.flops_per_cycle for group in self.nodes)

    @property
    def default_network(self) -> str:
        """The network of a launch that names none."""
        return next(iter(self.networks))

    def price_with(self, network: str) -> float | None:
        """Return the price in US dollars of the cluster with one of its networks, or None if no price is known."""
        total = sum(group.count * group.price_usd for group in self.nodes) + self.networks[network].switch.price_usd
        return self.price_usd or total or None

    def power_with(self, network: str) -> float | None:
        """Return the power in watts of the cluster with one of its networks, or None if it is not known."""
        total = sum(group.count * group.power_w for group in self.nodes) + self.networks[network].switch.power_w
        return self.power_w or total or None
