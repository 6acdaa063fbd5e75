"""A real cluster as its TOML file describes it: how to reach its nodes, and the facts of each node."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    InstanceOf,
    ValidationInfo,
    create_model,
    model_validator,
)

from ..batch.base import BatchSystem
from ..batch.registry import BATCH_SYSTEMS, batch_system
from ..forwarded import MODULE
from ..job import INTERFACE
from ..toml_file import (
    GIB,
    NO_CLUSTER_FILE,
    ClusterFileError,
    Count,
    Part,
    Positive,
    PriceUsd,
    matching,
    parse_table,
    read_text,
    validated,
)
from .host_lists import FILE, MOST_HOSTS, VARIABLE, expanded, listed_hosts
from .host_names import EXPECTED, host_named
from .power_table import PowerTable
from .transport import Ssh, anchored


def _host(text: str) -> str:
    if "@" in text:
        raise ValueError('hosts are named without users: say ssh = ["ssh", "-l", "user"], or set it in ~/.ssh/config')
    if text.startswith((VARIABLE, FILE)):
        raise ValueError(f'this stands alone, without brackets: hosts = "{text}"')
    host = host_named(text)
    if host is None and re.fullmatch(r"[A-Za-z0-9.-]+:[0-9]+", text):
        name, _, port = text.partition(":")
        raise ValueError(
            f'hosts are named without ports: say ssh = ["ssh", "-p", "{port}"], or set Port for {name} in ~/.ssh/config'
        )
    if host is None:
        raise ValueError(f"that is no host: expected {EXPECTED}")
    return host


def _host_or_range(text: str) -> str:
    """Check a host or a range of them, which stays as it is."""
    names = expanded(text)
    return _host(text) if names is None else text if all(map(_host, names)) else ""


def _all_hosts(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Write out ranges of hosts."""
    names = tuple(islice((name for text in texts for name in expanded(text) or (text,)), MOST_HOSTS + 1))
    if len(names) > MOST_HOSTS:
        raise ValueError(f"more than {MOST_HOSTS:,} hosts")
    return names


def _of_file(given: Any, info: ValidationInfo) -> Any:
    """Read the hosts that a text of a cluster file names; what is stored names each host, and never a variable."""
    return listed_hosts(given, info.context) if isinstance(given, str) and isinstance(info.context, Path) else given


def _a_program(tokens: tuple[str, ...]) -> tuple[str, ...]:
    if not tokens or not tokens[0]:
        raise ValueError('name the program that reaches hosts and its options: ssh = ["ssh"], or leave ssh out')
    return tokens


def _backend(name: str) -> str:
    known = ("ssh", *BATCH_SYSTEMS)
    if name not in known:
        raise ValueError(f"should be {', '.join(map(repr, known[:-1]))} or {known[-1]!r}")
    return name


Host = Annotated[str, AfterValidator(_host)]
Hosts = Annotated[
    tuple[Annotated[str, AfterValidator(_host_or_range)], ...], BeforeValidator(_of_file), AfterValidator(_all_hosts)
]
Interface = Annotated[str, matching(INTERFACE.pattern, "a network interface's name, as eth0, of at most 15 signs")]


Word = Annotated[str, matching(r"[^\n]+", "one word of a command, such as `numactl --interleave=all`")]


class NodeFacts(Part):
    """Facts of a node; where nodes differ, the least figure. `hpltune doctor --cluster` fills them in.

    Attributes:
        cores: physical cores.
        memory_gib: memory for HPL.
        rpeak_gflops: of one node.
        interfaces: network interfaces that every node has; `Cluster.interfaces` names those in use.
        price_usd, power_w: of one node; None where unknown.
    """

    cores: Count | None = None
    memory_gib: Positive | None = None
    rpeak_gflops: Positive | None = None
    interfaces: tuple[Interface, ...] | None = None
    price_usd: PriceUsd | None = None
    power_w: Positive | None = None

    def memory_bytes(self, found: Iterable[int]) -> int:
        """Return the memory that HPL may take of a node: the file's figure, else the least of the nodes."""
        return min(found) if self.memory_gib is None else int(self.memory_gib * GIB)


class Cluster(Part):
    """A real cluster.

    Attributes:
        backend: "ssh" starts ranks on `hosts`; the name of a batch system asks that for nodes.
        hosts: names that ssh knows, each once, in the order in which ranks fill them; a file may write node[01-16].
        hosts_from: what a file says in place of a list of hosts, as "env:PBS_NODEFILE"; "" where it lists them.
        ssh: the ssh program and options for it.
        interfaces: network interfaces that MPI may use; empty lets MPI choose. A file may call them use_interfaces.
        check_s: seconds between two checks that the nodes of a running job still answer.
        return_s: seconds that a node has to come back after a run died with it.
        on_node_loss: "continue" goes on with the remaining nodes; "pause" ends the session, which can be resumed.
        stage: "shared" where all nodes see hpltune's folders; "copy" sends them the programs and inputs of each run.
        stage_folder: the folder of each node below which copies may be.
        batch: the batch system that gives nodes, with what the table of its name asks of it; None without one.
        switches: the hosts at each switch; a host that no switch names is at an unknown one.
        speeds: how fast hosts compute, in any unit, as `hpltune nodes check` measures DGEMM; equal where empty.
        power: who tells the power of the nodes; None where nobody is named.
        wrap: words before the program of every rank.
        container: the image in which ranks run, as IMAGE or NAME=IMAGE; "" for none.
        modules: names of environment modules, in the order in which they are loaded before anything else.
    """

    name: Annotated[str, matching(r"\w[\w.-]*", "letters, digits and _ . -")]
    backend: Annotated[str, AfterValidator(_backend)]
    hosts: Hosts = ()
    hosts_from: str = Field(default="", json_schema_extra={"in_a_file": False})
    ssh: Annotated[tuple[str, ...], AfterValidator(_a_program)] = ("ssh",)
    interfaces: tuple[Interface, ...] = Field(default=(), validation_alias=AliasChoices("use_interfaces", "interfaces"))
    on_node_loss: Literal["continue", "pause"] = "continue"
    check_s: Positive = 60.0
    return_s: Positive = 20.0
    stage: Literal["shared", "copy"] = "shared"
    stage_folder: Annotated[
        str,
        matching(r"/[\w./+-]*", "an absolute path of letters, digits and _ . + -"),
        matching(r"(?!.*/\.\.?(?:/|$)).*", "the path itself, without . and .. in it"),
    ] = "/tmp"  # noqa: S108 - copies get a folder of their own there
    node: NodeFacts = NodeFacts()
    batch: InstanceOf[BatchSystem] | None = Field(default=None, json_schema_extra={"in_a_file": False})
    switches: Mapping[str, Hosts] = Field(default_factory=dict)
    speeds: Mapping[Host, Positive] = Field(default_factory=dict)
    power: PowerTable | None = None
    wrap: tuple[Word, ...] = ()
    container: Annotated[str, matching(r"[^\n]*", "an image on one line")] = ""
    modules: tuple[
        Annotated[str, matching(MODULE, "the name of a module, as foss/2025b: letters, digits and _ . + - /")], ...
    ] = ()

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, table: Any) -> Any:
        """Read the table that has the name of a batch system: as `batch`, which no file may name."""
        if not isinstance(table, Mapping):
            return table
        if not isinstance(table.get("batch"), BatchSystem | None):
            raise ValueError(f"batch is not known here: write a table [{next(iter(BATCH_SYSTEMS))}]")
        names = sorted(BATCH_SYSTEMS.keys() & table.keys(), key=lambda name: name != table.get("backend"))
        if names:
            described: Any = (batch_system(names[0]), ...)
            read = create_model("TableOfFile", **{names[0]: described}).model_validate({names[0]: table[names[0]]})
            table = {key: value for key, value in table.items() if key != names[0]} | {"batch": getattr(read, names[0])}
        if {"use_interfaces", "interfaces"} <= table.keys():
            raise ValueError(
                "use_interfaces and interfaces above [node] are two spellings of one key: keep one of them"
            )
        return table

    @model_validator(mode="after")
    def _hosts(self) -> Self:
        if self.backend == "ssh" and not self.hosts:
            raise ValueError('backend "ssh" needs hosts = ["node1", …]')
        named = self.batch.name if self.batch else self.backend
        if named != self.backend or (self.batch is None) != (named == "ssh"):
            raise ValueError(f'backend "{named}" and a table [{named}] with nodes = … belong together')
        if self.batch and self.hosts:
            raise ValueError(f"{self.batch.words.title} chooses the hosts: {self.batch.words.hosts}")
        if self.batch and self.copies:
            title = self.batch.words.title
            raise ValueError(
                f'stage = "copy" needs backend "ssh": {title} starts runs from a folder that all nodes share'
            )
        if self.copies and self.container:
            raise ValueError('stage = "copy" sends no images to nodes: leave out container, or share a folder')
        seen: dict[str, str] = {}
        for host in self.hosts:
            if host.lower() in seen:
                raise ValueError(f"hosts names a node twice: {' and '.join(dict.fromkeys((seen[host.lower()], host)))}")
            seen[host.lower()] = host
        return self

    @model_validator(mode="after")
    def _hosts_of_tables(self) -> Self:
        """Refuse hosts in [switches] and [speeds] that are no hosts of the cluster, or whose place is not clear."""
        placed = [host for members in self.switches.values() for host in members]
        powered = self.power.hosts if self.power and self.hosts else {}
        tables = {"switches": placed if self.hosts else [], "speeds": list(self.speeds)}
        for table, named in {**tables, **{f"power.{one}": sorted(hosts) for one, hosts in powered.items()}}.items():
            if strange := [host for host in named if host not in self.hosts]:
                raise ValueError(f"[{table}] names {strange[0]}, which is not among hosts")
            if twice := [host for host in named if named.count(host) > 1]:
                raise ValueError(f"[{table}] names {twice[0]} twice: a host is at one switch")
        if self.speeds and len(self.speeds) < len(self.hosts):
            missing = ", ".join(host for host in self.hosts if host not in self.speeds)
            raise ValueError(f"[speeds] says nothing of {missing}: name the speed of every host, or leave [speeds] out")
        return self

    @property
    def size(self) -> int:
        """The number of nodes, of the cluster or of one allocation of a batch system."""
        return self.batch.nodes if self.batch else len(self.hosts)

    def taken(self, parallel: int) -> int:
        """Return how many nodes this many parallel trials take: parts of the cluster, or an allocation each."""
        return self.size * parallel if self.batch else self.size

    @property
    def copies(self) -> bool:
        """Whether programs are copied to the nodes."""
        return self.stage == "copy"

    @property
    def switch_of(self) -> dict[str, str]:
        """The switch of each host that [switches] names."""
        return {host: switch for switch, hosts in self.switches.items() for host in hosts}

    @property
    def reach(self) -> Ssh:
        """The transport of commands to the nodes."""
        return Ssh(self.ssh)

    def with_peak(self, gflops: float) -> "Cluster":
        """Return it with the peak that somebody gives for all nodes together."""
        return self.model_copy(update={"node": self.node.model_copy(update={"rpeak_gflops": gflops / self.size})})

    def table(self) -> dict[str, Any]:
        """Return the content of the file as values for JSON."""
        empty = {
            name
            for name in ("hosts_from", "switches", "speeds", "wrap", "container", "modules")
            if not getattr(self, name)
        }
        empty |= set() if self.copies else {"stage", "stage_folder"}
        values = self.model_dump(mode="json", exclude_none=True, exclude=empty, serialize_as_any=True)
        return {self.backend if name == "batch" else name: value for name, value in values.items()}


def find_real_cluster(file: Path) -> Cluster | None:
    """Read the cluster of a file that names a backend, hosts or a batch system; None for others, as virtual clusters.

    Raises:
        ClusterFileError: the file cannot be read, or a key or value in it is wrong.
    """
    text = read_text(file, NO_CLUSTER_FILE)
    table = parse_table(str(file), text)
    if not table.keys() & {"backend", "hosts", *BATCH_SYSTEMS}:
        return None
    if "hosts_from" in table:
        raise ClusterFileError(f'{file}: hosts_from is not known here: write hosts = "{VARIABLE}NAME"')
    cluster = validated(Cluster, str(file), table, text, file.parent)
    said = table.get("hosts")
    return cluster.model_copy(
        update={"ssh": anchored(cluster.ssh, file.parent), "hosts_from": said if isinstance(said, str) else ""}
    )


def load_real_cluster(file: Path) -> Cluster:
    """Read the cluster of a file.

    Raises:
        ClusterFileError: the file cannot be read, describes no cluster, or has a wrong key or value.
    """
    cluster = find_real_cluster(file)
    if cluster is None:
        others = " or ".join(f'"{name}"' for name in BATCH_SYSTEMS)
        raise ClusterFileError(f'{file} names no backend, so it is no real cluster: add backend = "ssh" or {others}')
    return cluster


def stored_cluster(table: Mapping[str, Any]) -> Cluster:
    """Read the cluster from a table that `Cluster.table` made.

    Raises:
        ClusterFileError: the table is from another version and cannot be read by this one.
    """
    return validated(Cluster, "the stored cluster", table)
