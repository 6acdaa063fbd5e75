"""What a family of programs takes of a configuration: lines of HPL.dat, parameters of its own, memory, ranks."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from .. import sizing
from ..params import Bcast, HplParams, Scalar

OWN = "program."
"""Beginning of the names that spaces and points give to a family's own parameters."""


@dataclass(frozen=True)
class OwnParameter:
    """A parameter that only one family has; spaces call it `program.NAME`.

    Attributes:
        values: worth trying, best guess first.
        default: its value where a space does not name it.
        limits: the least and the most that is legal; None where only `values` are.
    """

    name: str
    values: tuple[Scalar, ...]
    default: Scalar
    limits: tuple[float, float] | None = None

    @property
    def point_name(self) -> str:
        """Its name in spaces and points."""
        return OWN + self.name

    @property
    def expected(self) -> str:
        """The legal values in words."""
        if self.limits is None:
            return "one of " + ", ".join(map(str, self.values))
        return f"a number from {self.limits[0]:g} to {self.limits[1]:g}"

    def accepts(self, value: Scalar) -> bool:
        """Return whether a value is legal."""
        if self.limits is None:
            return value in self.values
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.limits[0] <= float(value) <= self.limits[1]


@dataclass(frozen=True)
class OwnRule:
    """A rule between values of which a program refuses some together.

    Attributes:
        needs: the parameters of points that it reads; what a point lacks has its default.
        check: returns the sentence why a point, with so many ranks on each node, breaks it, or None.
    """

    name: str
    needs: tuple[str, ...]
    check: Callable[[Mapping[str, Scalar], int], str | None] = field(hash=False)


@dataclass(frozen=True)
class Gpu:
    """A GPU that computes in double precision.

    Attributes:
        vendor: "NVIDIA" or "AMD".
        numa_node, cpus: near it, as the kernel lists them; None and "" where it does not tell.
    """

    vendor: str
    model: str
    memory_bytes: int
    numa_node: int | None = None
    cpus: str = ""


@dataclass(frozen=True)
class NodeShape:
    """What of a node ranks may be spread over.

    Attributes:
        cores: that ranks may fill.
        sockets, numa_nodes, l3_caches: as the kernel shows them; 1 where it shows none.
        gpus: that the program computes on; empty where it computes on cores.
    """

    cores: int
    sockets: int = 1
    numa_nodes: int = 1
    l3_caches: int = 1
    gpus: tuple[Gpu, ...] = ()

    def shared(self, *parts: int) -> tuple[int, ...]:
        """Return each of these numbers of ranks once that shares the cores evenly; 1 where none does."""
        even = (ranks for ranks in parts if ranks and self.cores % ranks == 0)
        return tuple(dict.fromkeys(even)) or (1,)


ONE_SOCKET = NodeShape(1)
"""A node of which nobody knows more."""


def divisors(node: NodeShape) -> tuple[int, ...]:
    """Return all numbers of ranks that share the cores of a node evenly, the largest first."""
    return node.shared(*range(node.cores, 0, -1))


def one_a_gpu(node: NodeShape) -> tuple[int, ...]:
    """Return one rank for each GPU of a node; one where it shows none."""
    return (len(node.gpus) or 1,)


VENDORS_BCASTS = tuple(member.word for member in Bcast if member.of_vendors)
HPL_LINES = frozenset(HplParams(1, 1, 1, 1).words())
"""The parameters of HPL.dat, by their names in spaces."""


@dataclass(frozen=True)
class Terms:
    """What a program takes of a configuration; netlib's HPL takes all as it is.

    Attributes:
        ignores: parameters of HPL.dat that the program does not heed, each with the word that stands for all its words.
        takes: parameters, `binding` among them, of which it takes only these words and refuses all others, its own
            advice first.
        own: its own parameters.
        rules: what it refuses together.
        bcasts: values of BCAST that it has and netlib's HPL lacks.
        usual_nb: the NB that fits it, where no BLAS tells one.
        memory_bytes: the bytes that it allocates on its fullest rank.
        ranks_on_node: the numbers of ranks on a node that are worth trying, its own advice first; their threads fill
            the cores.
        no_other_ranks: whether it refuses all other numbers.
        lines: the parameters of HPL.dat that it has; all others are no parameters of its studies.
        stands_in: returns what stands for N, NB and grid of a point, where the program has none of them.
        element_bytes: bytes of an element of the matrix.
        reads_file: whether it reads the input file of its workload in its folder; else its command says all.
    """

    ignores: Mapping[str, Scalar] = field(default_factory=dict, hash=False)
    takes: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict, hash=False)
    own: tuple[OwnParameter, ...] = ()
    rules: tuple[OwnRule, ...] = ()
    bcasts: tuple[str, ...] = ()
    usual_nb: int = 192
    memory_bytes: Callable[[HplParams], int] = sizing.memory_bytes
    ranks_on_node: Callable[[NodeShape], tuple[int, ...]] = divisors
    no_other_ranks: bool = False
    lines: Collection[str] = HPL_LINES
    stands_in: Callable[[Mapping[str, Scalar]], Mapping[str, Scalar]] = lambda _: {}
    element_bytes: int = sizing.DOUBLE
    reads_file: bool = True

    def lacks(self, name: str) -> bool:
        """Return whether a parameter is of HPL.dat, and this program has none of its name."""
        return name in HPL_LINES and name not in self.lines

    def run_of(self, point: Mapping[str, Scalar]) -> HplParams:
        """Return what a complete point asks for, as HPL's parameters.

        Raises:
            hpl.params.HplParamsError: a value is not legal.
        """
        return HplParams.from_words({**self.stands_in(point), **point})

    def refusal(self, name: str, value: Scalar) -> str | None:
        """Return the sentence that the program refuses a value of HPL.dat, or None."""
        if name == "BCAST" and value in VENDORS_BCASTS and value not in self.bcasts:
            known = f"it takes {', '.join(self.bcasts)}" if self.bcasts else "only HPL of some vendors has it"
            return f"BCAST = {value} is refused by the program: {known}"
        words = self.takes.get(name)
        if words is None or value in words:
            return None
        return f"{name} = {value} is refused by the program: it takes {', '.join(map(str, words))}"

    def refusals(self, words: Mapping[str, Scalar], ranks_on_node: int) -> Iterator[str]:
        """Yield the sentence for each value of a point that the program refuses, alone or beside another."""
        for name in {"BCAST": None, **self.takes}:
            if name in words and (sentence := self.refusal(name, words[name])):
                yield sentence
        yield from filter(None, (rule.check(words, ranks_on_node) for rule in self.rules))

    def taken(self, name: str, value: Scalar) -> Scalar:
        """Return a value as the program takes it: its own advice in place of a value that it refuses."""
        return value if self.refusal(name, value) is None else self.takes.get(name, (Bcast.ONE_RING_M.word,))[0]

    def fitted(self, words: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Return a point as the program takes it, with its own parameters."""
        own = {parameter.point_name: parameter.default for parameter in self.own}
        return {**own, **{name: self.taken(name, value) for name, value in words.items()}}

    def layouts(self, node: NodeShape, nodes: int) -> list[tuple[int, int]]:
        """List ranks and threads of each that fill the cores of equal nodes, its own advice first."""
        return [(nodes * ranks, node.cores // ranks) for ranks in self.ranks_on_node(node)]

    def own_of(self, point: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Return the values of its own parameters in a point by their own names, with defaults for the rest."""
        return {own.name: point.get(own.point_name, own.default) for own in self.own}

    def parameter(self, point_name: str) -> OwnParameter | None:
        """Return its own parameter of this name in points; None where it has none."""
        return next((own for own in self.own if own.point_name == point_name), None)


TAKES_ALL = Terms()
"""Those of netlib's HPL."""
