"""What a virtual cluster is made of. The files in `clusters/` say where each of their figures is from."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from ..toml_file import Count, Part, Positive, matching

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]

Key = Annotated[str, matching(r"[\w.+-]+", "letters, digits and _ . + -")]


class VirtualNodes(Part):
    """Nodes of one kind.

    Attributes:
        cores: per node; as many ranks fit on it.
        flops_per_cycle: double-precision operations of a core in each cycle.
        memory_gib: what HPL may take of a node.
        speed: of the node's cores in proportion to what the BLAS models say; a slow node has less than 1.
        price_usd, power_w: of one node; 0 where it is counted for the whole cluster.
    """

    count: Count
    cores: Count
    clock_ghz: Positive
    flops_per_cycle: Count
    memory_gib: Positive
    speed: Positive = 1.0
    price_usd: NotNegative = 0.0
    power_w: NotNegative = 0.0


class Core(Part):
    """What a core does besides dgemm.

    Attributes:
        memory_gb_s: bytes a core moves between memory and itself, 1e9 a second.
        cache_kib: operands up to this size stay near the core.
        cache_gb_s: rate for these.
        strided_ns: moving one double between rows of a column-major matrix.
        exchange_ns: swapping two such doubles; None for twice that.
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


def _form(rate: Any) -> str:
    return "by shape" if isinstance(rate, Mapping | RateTable) else "one rate"


class VirtualBlas(Part):
    """One BLAS on one core of nominal speed.

    Attributes:
        dgemm_gflops: rate of a large dgemm, to which the traffic of its operands is added; or measured rates by shape,
            which hold it already.
        dtrsm_fraction: rate of dtrsm in proportion to dgemm of the same size; not used where there are measured rates.
        dtrsm_left_gflops: measured rates of dtrsm in the matrix itself, as 1 x Q grids do it, where they differ.
        call_us: of any call.
    """

    dgemm_gflops: Annotated[
        Annotated[Positive, Tag("one rate")] | Annotated[RateTable, Tag("by shape")], Discriminator(_form)
    ]
    dtrsm_fraction: Annotated[float, Field(gt=0, le=2)] = 0.7
    dtrsm_gflops: RateTable | None = None
    dtrsm_left_gflops: RateTable | None = None
    call_us: NotNegative = 0.3


class Switch(Part):
    """What the nodes are plugged into.

    Attributes:
        leaf_nodes: nodes on one leaf switch; None for a single switch that holds all.
        oversubscription: bandwidth of a leaf's nodes over that of its uplinks; 1 is a full fat tree.
        backplane_gbit_s: what the (upper) switch carries at once; None for as much as its ports.
        hop_us: latency that each further switch adds.
        price_usd, power_w: of all switches and cables.
    """

    leaf_nodes: Count | None = None
    oversubscription: Positive = 1.0
    backplane_gbit_s: Positive | None = None
    hop_us: NotNegative = 0.0
    price_usd: NotNegative = 0.0
    power_w: NotNegative = 0.0


class Network(Part):
    """A network and the MPI on it, as a ping-pong between two nodes shows them.

    Attributes:
        latency_us: of a small message, one way, interrupts not held back; the CPU's part included.
        gbit_s: line rate of one NIC.
        packet_us: further time of each packet of a long message: headers, checksums, interrupts, the bus.
        header_bytes: of an MTU that carry no data (TCP and IP: 40).
        cpu_us: part of the latency during which a core sends, and another during which one receives.
        cpu_ns_per_kib: further time of a core for each KiB sent or received.
        mtu: as the network is set by default.
        mtu_most: largest that the NICs and the switch take.
        throttle_us: least time between two interrupts of a NIC, by default; 0 for none.
        nics: of each node, used together.
        eager_kib: longer messages ask first (rendezvous).
        socket_kib: of a long message, what the kernel takes into its buffer, so that its sender goes on before it is
            through (TCP); 0 where a sender waits for all of it.
        queue_kib: behind so much of it waits whatever else the node sends meanwhile. Both count where each node has
            one rank.
        latency_steps: measured instead: from so many bytes on, a message takes so many microseconds besides its bytes
            at the line rate; what asking first costs is in it.
        late_probe: MPI_Iprobe looks before it fetches what has arrived, so it finds a message only the second time, as
            Open MPI does (mca_pml_ob1_iprobe). With look-ahead HPL then learns of a panel one block of columns later.
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
        sizes = [size for size, _ in self.latency_steps]
        if sizes != sorted(set(sizes)):
            raise ValueError("latency_steps must rise in bytes")
        if self.header_bytes >= self.mtu:
            raise ValueError("header_bytes leaves no room for data in an mtu")
        return self


class SharedMemory(Part):
    """Messages between ranks of one node."""

    latency_us: Positive = 0.5
    gb_s: Positive = 5.0


class VirtualNoise(Part):
    """What differs between nodes and between runs, as relative standard deviations; all of it follows from the seed."""

    nodes: Annotated[float, Field(ge=0, le=0.3)] = 0.0
    runs: Annotated[float, Field(ge=0, le=0.3)] = 0.0
    jitter: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    seed: Annotated[int, Field(ge=0, le=2**31)] = 1

    @property
    def between_runs(self) -> bool:
        """Whether a run of the same configuration comes out differently the next time."""
        return self.runs > 0 or self.jitter > 0


class VirtualCluster(Part):
    """A cluster that exists in a file.

    Attributes:
        price_usd, power_w: of the whole cluster where it is not added up from nodes and switches.
        blas, networks: by name; the first of each is the default.
    """

    name: Annotated[str, Field(min_length=1, max_length=100)]
    description: str = ""
    price_usd: Positive | None = None
    power_w: Positive | None = None
    nodes: Annotated[tuple[VirtualNodes, ...], Field(min_length=1)]
    core: Core
    blas: Annotated[Mapping[Key, VirtualBlas], Field(min_length=1)]
    networks: Annotated[Mapping[Key, Network], Field(min_length=1)]
    shared_memory: SharedMemory = SharedMemory()
    noise: VirtualNoise = VirtualNoise()

    @property
    def node_list(self) -> tuple[VirtualNodes, ...]:
        """One entry for each node."""
        return tuple(group for group in self.nodes for _ in range(group.count))

    @property
    def cores(self) -> int:
        """Of all nodes."""
        return sum(group.count * group.cores for group in self.nodes)

    @property
    def rpeak_gflops(self) -> float:
        """Nodes x cores x clock x operations per cycle, as the TOP500 counts."""
        return sum(group.count * group.cores * group.clock_ghz * group.flops_per_cycle for group in self.nodes)

    @property
    def default_network(self) -> str:
        """The network a launch uses where none is named."""
        return next(iter(self.networks))

    def price_with(self, network: str) -> float | None:
        """US dollars of the cluster with one of its networks, or None where nothing is said."""
        total = sum(group.count * group.price_usd for group in self.nodes) + self.networks[network].switch.price_usd
        return self.price_usd or total or None

    def power_with(self, network: str) -> float | None:
        """Watts of the cluster with one of its networks, or None where nothing is said."""
        total = sum(group.count * group.power_w for group in self.nodes) + self.networks[network].switch.power_w
        return self.power_w or total or None
