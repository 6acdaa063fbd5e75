"""A job: an MPI program with its ranks, binding, nodes and time limit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import InvalidJobError
from .forwarded import plain, require_parameter
from .hosts.host_names import host_named, launcher_name

if TYPE_CHECKING:
    from .containers.contract import Container

BINDINGS = ("core", "l3cache", "numa", "socket", "none")
"""Units to which a rank can be bound; with "core" it gets one core for each of its threads."""
INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,14}")
"""Names of network interfaces; Linux allows 15 bytes."""
DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
"""Names of network devices, as UCX writes them: "eth0", "mlx5_0:1"."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Job:
    """One launch of an MPI program.

    Attributes:
        program: absolute path and arguments.
        before: what stands before the program in the command of each rank, as `numactl --interleave=all`.
        environment: variables of the ranks, in addition to those of this process.
        directory: folder for `stdout`, `stderr` and `command`; ranks work there, too, unless files are copied to nodes.
        walltime_s: seconds after which the whole process tree is ended.
        binding: one of BINDINGS.
        mpi_parameters: parameters of the MPI library by name.
        launcher_environment: variables that the launcher itself needs.
        oversubscribe: whether there may be more ranks than cores.
        mpi: name of the MPI library with which the program was built; "" if the runner knows only one.
        nodes: hosts that run the ranks, an equal part on each, filled in this order; empty for this machine.
        strict_order: no node may be filled before those that stand before it; else Open MPI begins with this host.
        interfaces: network interfaces that MPI may use; empty lets MPI choose.
        ucx_devices: network devices of these interfaces, as UCX names them; empty where nobody knows them.
        agent: program that starts the MPI library's daemons on nodes; it gets a node and a command. Runners set it.
        inputs: names of those files in the folder that ranks read.
        libraries: files of shared libraries that the program uses; nodes without a shared folder get copies.
        container: the image in which each rank runs; `before` stays outside.
        watched: its ranks are looked at while they run, because its program may lie; that takes time from them.
        copied_to: working folder of ranks on nodes that share no folder with this host. Runners set it.

    Raises:
        InvalidJobError: no launcher could take a value.
    """

    program: tuple[str, ...]
    ranks: int
    directory: Path
    threads_per_rank: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    walltime_s: float = 86400.0
    binding: str = "core"
    mpi_parameters: Mapping[str, str] = field(default_factory=dict)
    launcher_environment: Mapping[str, str] = field(default_factory=dict)
    oversubscribe: bool = False
    mpi: str = ""
    nodes: tuple[str, ...] = ()
    strict_order: bool = False
    interfaces: tuple[str, ...] = ()
    ucx_devices: tuple[str, ...] = ()
    agent: Path | None = None
    inputs: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()
    watched: bool = False
    copied_to: Path | None = None
    before: tuple[str, ...] = ()
    container: "Container | None" = None

    def __post_init__(self) -> None:
        self._require(bool(self.program) and Path(self.program[0]).is_absolute(), "program", "an absolute path")
        self._require(self.ranks >= 1, "ranks", "at least 1")
        self._require(self.threads_per_rank >= 1, "threads_per_rank", "at least 1")
        self._require(self.walltime_s > 0, "walltime_s", "above zero")
        self._require(self.binding in BINDINGS, "binding", f"one of {', '.join(BINDINGS)}")
        self._require(self.agent is None or plain(self.agent), "agent", "a path that every shell reads as it is")
        for node in self.nodes:
            if host_named(node) != node:
                raise InvalidJobError(f"job: {node!r} is not the name of a host")
        for names, form, what in ((self.interfaces, INTERFACE, "interface"), (self.ucx_devices, DEVICE, "device")):
            if wrong := [name for name in names if not form.fullmatch(name)]:
                raise InvalidJobError(f"job: {wrong[0]!r} is not the name of a network {what}")
        if self.nodes and self.ranks % len(self.nodes):
            raise InvalidJobError(f"job: {self.ranks} ranks cannot be spread evenly over {len(self.nodes)} nodes")
        for name, value in self.environment.items():
            if not _VARIABLE.fullmatch(name) or "\0" in value or "\n" in value:
                raise InvalidJobError(f"environment variable {name!r}={value!r}: not a name and one line of text")
        for name, value in self.mpi_parameters.items():
            require_parameter(name, value)

    @property
    def rank_directory(self) -> Path:
        """The working folder of all ranks."""
        return self.copied_to or self.directory

    @property
    def order(self) -> tuple[str, ...]:
        """The node of each rank, as launchers call it; empty where the launcher may choose."""
        if not self.strict_order or len(self.nodes) == 1:
            return ()
        return tuple(launcher_name(node) for node in self.nodes for _ in range(self.ranks_per_node))

    @property
    def line(self) -> tuple[str, ...]:
        """The command of each rank."""
        return (*self.before, *(self.container.words(self.rank_directory) if self.container else ()), *self.program)

    @property
    def launcher_options(self) -> tuple[str, ...]:
        """Options of a launcher that puts ranks into the image."""
        if self.container is None:
            return ()
        return self.container.runtime.of_launcher(self.container.rank(self.rank_directory))

    @property
    def ranks_per_node(self) -> int:
        """The number of ranks on each node."""
        return self.ranks // max(1, len(self.nodes))

    def _require(self, holds: bool, name: str, expected: str) -> None:  # noqa: FBT001 - reads as an assertion
        if not holds:
            raise InvalidJobError(f"job: {name} = {getattr(self, name)!r}, expected {expected}")
