"""A search space: the legal points, counted, numbered and explained.

Parameters that share a restriction or depend on one another form a block. Only the points of each block are listed, and
the space is the product of its blocks. So a space of millions of points costs no more than its largest block, and each
point has a number.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

from hpl.canonical import canonical
from hpl.params import HplParams, Scalar

from .alike import Parts
from .blocks import components, legal_parts
from .completion import Completion
from .errors import SpaceError
from .machine import Machine
from .node_order import KnownOrders
from .parameters.dimension import DIMENSIONS, Point
from .parameters.parameter import Parameter
from .restriction import Restriction

SIZES = ("N", "memory_fraction")
"""Parameters that give the size of the matrix: a space has one of them, or none if the budget decides."""

NOT_HPL = ("blas", "kernel", "layout", "binding", "mpi", "nodes_dropped", "rank_order")
"""Parameters of a configuration besides HPL's own, `mpi.*` and `net.*`."""


class SearchSpace:
    """The legal points of some parameters on a machine.

    Args:
        name: the space's name.
        machine: the facts by which restrictions judge.
        parameters: the parameters, with values in the order in which they are tried.
        restrictions: the rules that a legal point keeps.
        starts: points that engines should try first if they are legal; they need not name all parameters.

    Raises:
        SpaceError: a parameter depends on a missing one, or no point is legal.
    """

    def __init__(
        self,
        name: str,
        machine: Machine,
        parameters: Sequence[Parameter],
        restrictions: Sequence[Restriction],
        starts: Sequence[Point] = (),
    ) -> None:
        self.name = name
        self.machine = machine
        self.parameters = {parameter.name: parameter for parameter in parameters}
        self.restrictions = tuple(restrictions)
        for parameter in parameters:
            if parameter.by is not None and parameter.by not in self.parameters:
                raise SpaceError(
                    f"{parameter.name} depends on {parameter.by}, which the space does not have: "
                    f"add {parameter.by} to [parameters]"
                )
        self._completion = Completion(name, machine)
        self._orders = KnownOrders(machine)
        blocks = components(self.parameters, self.restrictions)
        self._dropping: set[str] = set()
        self._blocks = [legal_parts(block, self.parameters, self.restrictions, self._judged) for block in blocks]
        self._starts = tuple(starts)

    def keeping(self, *rules: Restriction) -> "SearchSpace":
        """Make the same space with more rules.

        Raises:
            SpaceError: no point is legal.
        """
        parameters = list(self.parameters.values())
        return SearchSpace(self.name, self.machine, parameters, (*self.restrictions, *rules), self._starts)

    def __len__(self) -> int:
        """Count the legal points."""
        return prod(len(block) for block in self._blocks)

    def __iter__(self) -> Iterator[Point]:
        """Yield all legal points, in the order of their numbers."""
        return (self.point(number) for number in range(len(self)))

    def point(self, number: int) -> dict[str, Scalar]:
        """Return the legal point with a number, from 0; the last block varies fastest.

        Raises:
            IndexError: there are not so many points.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"point {number} of {len(self)}")
        values: dict[str, Scalar] = {}
        for block in reversed(self._blocks):
            number, index = divmod(number, len(block))
            values.update(block[index])
        return {name: values[name] for name in self.parameters if name in values}

    def complete(self, params: Point) -> dict[str, Scalar]:
        """Complete a point with every parameter that HPL and its launch need: defaults, and N from `memory_fraction`.

        Raises:
            SpaceError: N is not given and cannot be derived.
        """
        return self._completion.complete(params)

    def measured(self, params: Point) -> dict[str, Scalar]:
        """Complete a legal point as it is run and recorded: of orders of ranks that are alike, with the plainest."""
        full = self.complete(params)
        if "rank_order" not in full:
            return full
        alike = ({**params, "rank_order": order} for order in self._orders.alike(full))
        return self.complete(next((point for point in alike if self.why_not(point) is None), params))

    @property
    def first(self) -> dict[str, Scalar]:
        """The first legal point, complete."""
        return self.measured(self.point(0))

    def representative(self, params: Point) -> dict[str, Scalar]:
        """Return the complete point that represents all points with the same key."""
        full = self.complete(params)
        return {**full, **self._representative_words(full)}

    def why_not(self, params: Point) -> str | None:
        """Return the sentence why a point is illegal in this space, or None."""
        for name in params:
            if name in self.parameters:
                continue
            if name not in DIMENSIONS or params[name] != self._completion.default(name, params):
                known = ", ".join(self.parameters)
                return f"{name} = {params[name]} is not a value of the space {self.name}, which searches over {known}"
        for name, parameter in self.parameters.items():
            sentence = parameter.why_not(params)
            if sentence:
                return f"{name}: {sentence}"
        if not self.restrictions:
            return None
        try:
            full = self.complete(params)
        except SpaceError as error:
            return str(error)
        return next((sentence for rule in self.restrictions if (sentence := rule.check(full, self.machine))), None)

    def key(self, params: Point) -> str:
        """Return the identity of a configuration; points for which HPL runs the same instructions share it."""
        full = self.complete(params)
        others = {name: value for name, value in full.items() if name in NOT_HPL or name[:4] in {"mpi.", "net."}}
        words = {**others, **self._representative_words(full)}
        return " ".join(f"{name}={value}" for name, value in sorted(words.items()))

    @property
    def varying(self) -> Mapping[str, Parameter]:
        """The parameters with more than one value."""
        return {name: parameter for name, parameter in self.parameters.items() if len(parameter.values) > 1}

    @cached_property
    def asked_n(self) -> int | None:
        """The largest N of the space, with a part of the memory rounded to NB; None if the budget decides."""
        points = [
            self.nearest({name: value}, keep=name)
            for name in SIZES
            if name in self.parameters
            for value in self.parameters[name].values
        ]
        return max((int(self.complete(point)["N"]) for point in points), default=None)

    @property
    def largest_n(self) -> int:
        """The largest N of its points."""
        return self.asked_n or int(self.first["N"])

    @cached_property
    def starts(self) -> tuple[dict[str, Scalar], ...]:
        """The legal start points, with the first legal value of each parameter that they leave out."""
        return tuple(self.nearest(start) for start in self._starts if self._refused(start) is None)

    def idle(self, touched: Collection[str]) -> Iterator[str]:
        """Yield a sentence for each start point that is not tried, and for each own rule of the space without effect.

        Args:
            touched: parameters whose values were changed; start points and rules with them are left out.
        """
        for number, start in enumerate(self._starts, start=1):
            refused = None if start.keys() & set(touched) else self._refused(start)
            if refused:
                yield f"start {number} is not tried: {refused}"
        for rule in self.restrictions:
            if rule.own and rule.name not in self._dropping and not set(rule.needs) & set(touched):
                yield f"{rule.name} has no effect here: no combination that is valid without it matches it"

    def nearest(self, wish: Point, keep: str | None = None) -> dict[str, Scalar]:
        """Return the legal point with the most wished values, in each block the first of the best.

        Args:
            keep: the parameter that must have the wished value, if any legal point has it.
        """
        values: dict[str, Scalar] = {}
        for parts in self._parts:
            values.update(parts.nearest(wish, keep))
        return {name: values[name] for name in self.parameters if name in values}

    @cached_property
    def _parts(self) -> list[Parts]:
        return [Parts(block) for block in self._blocks]

    @property
    def blocks(self) -> Sequence[Sequence[Point]]:
        """The legal partial points of each block; a point has one from each block."""
        return self._blocks

    def _judged(self, params: Point, rule: Restriction) -> str | None:
        """Return why a partial point breaks a rule, or None; N is derived only if the rule reads it."""
        full = self._completion.with_defaults(params)
        try:
            if "N" in rule.needs:
                full = self._completion.with_n(full)
        except SpaceError as error:
            return str(error)
        sentence = rule.check(full, self.machine)
        if sentence:
            self._dropping.add(rule.name)
        return sentence

    def _representative_words(self, full: Point) -> dict[str, Scalar]:
        """Return what points share that run the same instructions on alike nodes: HPL's parameters and the order."""
        words = canonical(HplParams.from_words(full)).words()
        return {**words, "rank_order": self._orders.of(full)} if "rank_order" in full else words

    def _refused(self, start: Point) -> str | None:
        """Return why a start point is illegal, or None."""
        point = self.nearest(start)
        met = all(point.get(name) == value for name, value in start.items())
        return None if met else self.why_not({**point, **start})


def never_legal(space: SearchSpace, name: str) -> Iterator[str]:
    """Yield why no legal point has a value, for each such value of a parameter."""
    for value in space.parameters[name].values:
        point = space.nearest({name: value}, keep=name)
        if point.get(name) != value:
            yield f"no valid combination has {value}: {space.why_not({**point, name: value})}"
