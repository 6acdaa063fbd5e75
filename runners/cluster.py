"""A real cluster as its TOML file describes it: how its nodes are reached, and what each of them is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .job import HOST_NAME, INTERFACE
from .reach import Ssh
from .toml_file import parse_table, read_text, validated

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10**6)]
Host = Annotated[str, Field(pattern=rf"^{HOST_NAME.pattern}$")]
Interface = Annotated[str, Field(pattern=rf"^{INTERFACE.pattern}$")]
GIB = 2**30
BACKENDS = ("ssh", "slurm")


class Part(BaseModel):
    """A frozen part that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NodeFacts(Part):
    """What one node is; where nodes differ, the least of them. `hpltune doctor --cluster` fills it in.

    Attributes:
        cores: physical cores.
        memory_gib: free for HPL.
        rpeak_gflops: of one node.
        price_usd, power_w: of one node; None where unknown.
    """

    cores: Count | None = None
    memory_gib: Positive | None = None
    rpeak_gflops: Positive | None = None
    price_usd: Positive | None = None
    power_w: Positive | None = None


class Cluster(Part):
    """One cluster.

    Attributes:
        backend: "ssh" starts ranks on `hosts`; "slurm" asks Slurm for nodes.
        hosts: names that ssh knows, each once, in the order ranks fill them.
        ssh: the ssh program and options for it.
        interfaces: network interfaces MPI may use; none leaves the choice to it.
        check_s: seconds between two looks whether the nodes of a running job still answer.
        on_node_loss: "continue" goes on with the nodes that are left, "pause" ends the session, to be resumed.
    """

    name: str = Field(pattern=r"^[\w.-]+$")
    backend: Literal["ssh", "slurm"]
    hosts: tuple[Host, ...] = ()
    ssh: tuple[str, ...] = Field(("ssh",), min_length=1)
    interfaces: tuple[Interface, ...] = ()
    on_node_loss: Literal["continue", "pause"] = "continue"
    check_s: Positive = 60.0
    node: NodeFacts = NodeFacts()

    @model_validator(mode="after")
    def _hosts(self) -> Self:
        if self.backend == "ssh" and not self.hosts:
            raise ValueError('backend "ssh" needs hosts = ["node1", …]')
        if len(set(self.hosts)) < len(self.hosts):
            raise ValueError("hosts names a node twice")
        return self

    @property
    def reach(self) -> Ssh:
        """How commands get to the nodes."""
        return Ssh(self.ssh)

    def table(self) -> dict[str, Any]:
        """What a file would hold, as JSON can keep it."""
        return self.model_dump(mode="json", exclude_none=True)


def describes_real_cluster(file: Path) -> bool:
    """Whether a file names a backend; those of virtual clusters do not.

    Raises:
        ClusterFileError: it is no TOML file.
    """
    return "backend" in parse_table(str(file), read_text(file))


def load_real_cluster(file: Path) -> Cluster:
    """The cluster of a file.

    Raises:
        ClusterFileError: it cannot be read, or a key or a value in it is wrong.
    """
    text = read_text(file)
    return validated(Cluster, str(file), parse_table(str(file), text), text)


def stored_cluster(table: Mapping[str, Any]) -> Cluster:
    """The cluster of a table that `Cluster.table` made.

    Raises:
        ClusterFileError: another version made it, and it means nothing here.
    """
    return validated(Cluster, "the stored cluster", table)
