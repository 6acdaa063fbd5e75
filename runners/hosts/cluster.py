"""A real cluster as its TOML file describes it: how its nodes are reached, and what each of them is."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AliasChoices, Field, model_validator

from ..errors import InvalidJobError
from ..job import INTERFACE
from ..slurm.options import SlurmOptions
from ..toml_file import GIB, ClusterFileError, Count, Part, Positive, matching, parse_table, read_text, validated
from .host_names import EXPECTED, host_named
from .transport import Ssh, anchored


def _host(text: str) -> str:
    if "@" in text:
        raise ValueError('hosts are named without users: say ssh = ["ssh", "-l", "user"], or set it in ~/.ssh/config')
    host = host_named(text)
    if host is None:
        raise ValueError(f"that is no host: expected {EXPECTED}")
    return host


Host = Annotated[str, AfterValidator(_host)]
Interface = Annotated[str, matching(INTERFACE.pattern, "a network interface's name, as eth0, of at most 15 signs")]


class NodeFacts(Part):
    """What one node is; where nodes differ, the least of them. `hpltune doctor --cluster` fills it in.

    Attributes:
        cores: physical cores.
        memory_gib: free for HPL.
        rpeak_gflops: of one node.
        interfaces: network interfaces that every node has; `Cluster.interfaces` says which of them are used.
        price_usd, power_w: of one node; None where unknown.
    """

    cores: Count | None = None
    memory_gib: Positive | None = None
    rpeak_gflops: Positive | None = None
    interfaces: tuple[Interface, ...] | None = None
    price_usd: Positive | None = None
    power_w: Positive | None = None

    def memory_bytes(self, found: Iterable[int]) -> int:
        """What HPL may take of a node: as the file says, or the least of what was found."""
        return min(found) if self.memory_gib is None else int(self.memory_gib * GIB)


class SlurmTable(Part):
    """What Slurm is asked for; the fields that `SlurmOptions` has mean the same.

    Attributes:
        nodes: on which each trial runs.
        launcher: "mpirun" of the MPI library inside the allocation, or "srun".
        time_limit_s: None for 4 hours, or the partition's MaxTime where that is less.
    """

    nodes: Count
    launcher: Literal["mpirun", "srun"] = "mpirun"
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    exclusive: bool = True
    further: tuple[str, ...] = ()
    reuse: bool = True
    time_limit_s: Positive | None = None
    queue_limit_s: Positive = 24 * 3600.0

    def options(self, cores_per_node: int, queue_limit_s: float = math.inf) -> SlurmOptions:
        """As the runner takes them.

        Args:
            queue_limit_s: the study's own, where that is shorter.

        Raises:
            InvalidJobError: a value that Slurm could not take.
        """
        values = self.model_dump(exclude={"launcher", "queue_limit_s"}, exclude_none=True)
        limit_s = min(self.queue_limit_s, queue_limit_s)
        return SlurmOptions(**values, cores_per_node=cores_per_node, queue_limit_s=limit_s)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            self.options(1)
        except InvalidJobError as error:
            raise ValueError(str(error).removeprefix("slurm: ")) from error
        return self


class Cluster(Part):
    """One cluster.

    Attributes:
        backend: "ssh" starts ranks on `hosts`; "slurm" asks Slurm for nodes.
        hosts: names that ssh knows, each once, in the order ranks fill them.
        ssh: the ssh program and options for it.
        interfaces: network interfaces MPI may use; none leaves the choice to it. A file may call them use_interfaces.
        check_s: seconds between two looks whether the nodes of a running job still answer.
        return_s: seconds a node gets to come back after a run died with it.
        on_node_loss: "continue" goes on with the nodes that are left, "pause" ends the session, to be resumed.
    """

    name: Annotated[str, matching(r"\w[\w.-]*", "letters, digits and _ . -")]
    backend: Literal["ssh", "slurm"]
    hosts: tuple[Host, ...] = ()
    ssh: tuple[str, ...] = Field(default=("ssh",), min_length=1)
    interfaces: tuple[Interface, ...] = Field(default=(), validation_alias=AliasChoices("use_interfaces", "interfaces"))
    on_node_loss: Literal["continue", "pause"] = "continue"
    check_s: Positive = 60.0
    return_s: Positive = 20.0
    node: NodeFacts = NodeFacts()
    slurm: SlurmTable | None = None

    @model_validator(mode="after")
    def _hosts(self) -> Self:
        if self.backend == "ssh" and not self.hosts:
            raise ValueError('backend "ssh" needs hosts = ["node1", …]')
        if (self.backend == "slurm") != (self.slurm is not None):
            raise ValueError('backend "slurm" and a table [slurm] with nodes = … belong together')
        if self.backend == "slurm" and self.hosts:
            raise ValueError("Slurm chooses the hosts: leave hosts out, or name them as nodelist under [slurm]")
        if len(set(self.hosts)) < len(self.hosts):
            raise ValueError("hosts names a node twice")
        return self

    @property
    def size(self) -> int:
        """Nodes of it, or of one of Slurm's allocations."""
        return self.slurm.nodes if self.slurm else len(self.hosts)

    def taken(self, parallel: int) -> int:
        """Nodes that so many trials at a time take together: parts of its own, or as many allocations of Slurm's."""
        return self.size * parallel if self.slurm else self.size

    @property
    def reach(self) -> Ssh:
        """How commands get to the nodes."""
        return Ssh(self.ssh)

    def table(self) -> dict[str, Any]:
        """What a file would hold, as JSON can keep it."""
        return self.model_dump(mode="json", exclude_none=True)


def find_real_cluster(file: Path) -> Cluster | None:
    """The cluster of a file that names a backend, hosts or Slurm; None for others, such as those of virtual clusters.

    Raises:
        ClusterFileError: it cannot be read, or a key or a value in it is wrong.
    """
    text = read_text(file)
    table = parse_table(str(file), text)
    if not table.keys() & {"backend", "hosts", "slurm"}:
        return None
    cluster = validated(Cluster, str(file), table, text)
    return cluster.model_copy(update={"ssh": anchored(cluster.ssh, file.parent)})


def load_real_cluster(file: Path) -> Cluster:
    """The cluster of a file.

    Raises:
        ClusterFileError: it cannot be read, describes none, or a key or a value in it is wrong.
    """
    cluster = find_real_cluster(file)
    if cluster is None:
        raise ClusterFileError(f'{file} names no backend, so it is no real cluster: add backend = "ssh" or "slurm"')
    return cluster


def stored_cluster(table: Mapping[str, Any]) -> Cluster:
    """The cluster of a table that `Cluster.table` made.

    Raises:
        ClusterFileError: another version made it, and it means nothing here.
    """
    return validated(Cluster, "the stored cluster", table)
