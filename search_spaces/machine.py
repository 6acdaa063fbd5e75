"""The facts of a machine that a space needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from hpl.params import Scalar
from hpl.programs.terms import ONE_SOCKET, TAKES_ALL, NodeShape, Terms

PROGRAM = "program"
"""The parameter that names the program of a point, where a study has several."""


@dataclass(frozen=True)
class BlasFacts:
    """The facts of a BLAS.

    Attributes:
        kernels: the kernels that are worth trying, best guess first.
        threaded: whether one of its builds can use several threads.
        known_kernels: all known names of its kernels on this CPU, slow ones included.
        usual_kernel: the kernel that runs if a space names none.
        family: its maker, as "blis"; "" if nobody knows.
    """

    kernels: tuple[str, ...] = ("auto",)
    threaded: bool = True
    known_kernels: tuple[str, ...] = ()
    usual_kernel: str = "auto"
    family: str = ""

    @property
    def named_kernels(self) -> tuple[str, ...]:
        """All its kernels with a name, those worth trying first."""
        return tuple(kernel for kernel in dict.fromkeys((*self.kernels, *self.known_kernels)) if kernel != "auto")


@dataclass(frozen=True)
class MachineNode:
    """A node that can be told from others.

    Attributes:
        cores: that ranks may fill.
        speed: how fast it computes, in a unit that all nodes share; None if nobody measured it.
        switch: name of its switch; "" if nobody told.
    """

    name: str
    cores: int
    speed: float | None = None
    switch: str = ""

    @property
    def known_speed(self) -> float:
        """Its speed; 1 if it is not known."""
        return 1.0 if self.speed is None else self.speed


class Offer(Protocol):
    """What the hosts offer of settings."""

    def knows(self, name: str) -> bool:
        """Return whether a parameter of this name is a setting."""
        ...

    def why_not(self, name: str, value: Scalar) -> str | None:
        """Return the sentence why a host cannot have a value of a setting, or None."""
        ...

    def worth_trying(self, name: str) -> tuple[Scalar, ...]:
        """Return the values of a setting that are worth trying, best guess first; empty if there is no choice."""
        ...

    def cores(self, value: Scalar) -> int | None:
        """Return how many cores of each host a value of `sys.cores` names; None if it cannot be had."""
        ...


@dataclass(frozen=True)
class Machine:
    """The facts from which "auto" and "budget" get their values.

    Attributes:
        cores: the number of physical cores.
        memory_bytes: the memory that HPL may take.
        blas: libraries by name, best guess first.
        nodes: the number of nodes, each with an equal part of the cores.
        mpis: MPI libraries by name, the preferred one first.
        N: order of the matrix from the budget; None while nobody has chosen it: then no rule that reads it judges.
        more_cores: advice for a layout that needs more cores than there are.
        terms: what the program takes of a configuration.
        offer: what the hosts offer of settings; None if nobody knows.
        shape: of each node, but for its cores.
        programs: the same machine as each program sees it, by the names that points give to programs; empty where a
            study has one program only.
        node_list: the nodes in the order in which ranks fill them; empty if a run's nodes are not known before it.
        chooser: what chooses the nodes of a run then, in words.
    """

    cores: int
    memory_bytes: int
    blas: Mapping[str, BlasFacts]
    N: int | None = None
    nodes: int = 1
    mpis: tuple[str, ...] = ("openmpi",)
    more_cores: str = "take fewer ranks or threads"
    node_list: tuple[MachineNode, ...] = ()
    chooser: str = "a batch system"
    terms: Terms = TAKES_ALL
    shape: NodeShape = ONE_SOCKET
    offer: Offer | None = None
    programs: Mapping[str, "Machine"] = field(default_factory=dict)

    def running(self, point: Mapping[str, Scalar]) -> "Machine":
        """Return the machine as the program of a point sees it; itself where a point names none."""
        seen = self.programs.get(str(point.get(PROGRAM)))
        return self if seen is None else replace(seen, N=self.N)

    @property
    def all_terms(self) -> tuple[Terms, ...]:
        """What each of its programs takes."""
        return tuple(machine.terms for machine in self.programs.values()) or (self.terms,)

    @property
    def node(self) -> NodeShape:
        """The shape of each node, with its part of the cores."""
        return replace(self.shape, cores=self.cores // self.nodes)

    @property
    def fills_nodes(self) -> bool:
        """Whether ranks fill one node after the other, so that some may stay idle, as on virtual clusters."""
        return self.nodes < len(self.node_list)

    @property
    def switches(self) -> frozenset[str]:
        """The names of the switches; empty if a node's switch is not known."""
        names = frozenset(node.switch for node in self.node_list)
        return frozenset() if "" in names else names

    def cores_with(self, chosen: Scalar | None) -> int:
        """Return the number of cores with a value of `sys.cores`; all of them without one, or if it cannot be had."""
        each = self.offer.cores(chosen) if self.offer and chosen is not None else None
        return self.cores if each is None else min(self.cores, each * self.nodes)

    def kept(self, dropped: int) -> tuple[int, ...]:
        """Return the numbers of the nodes that are left without the slowest; of equal ones the last are dropped."""
        slowest_first = sorted(
            range(len(self.node_list)), key=lambda number: (self.node_list[number].known_speed, -number)
        )
        return tuple(sorted(slowest_first[dropped:]))

    def without(self, dropped: int) -> "Machine":
        """Return the machine without its slowest nodes; unchanged if it has not so many, which a rule refuses."""
        if not 0 < dropped < len(self.node_list):
            return self
        left = tuple(self.node_list[number] for number in self.kept(dropped))
        whole, part = (sum(node.cores for node in nodes) for nodes in (self.node_list, left))
        return replace(
            self,
            cores=self.cores * part // whole,
            memory_bytes=self.memory_bytes * part // whole,
            nodes=self.nodes if self.fills_nodes else len(left),
            node_list=left,
        )
