"""A search space: the legal points, counted, numbered, explained, completed and compared.

Parameters that share a restriction or depend on one another form a block. Only the points of each block are listed, and
the space is the product of its blocks. So a space of millions of points costs no more than its largest block, and each
point has a number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from hpl.canonical import canonical
from hpl.params import Scalar
from hpl.sizing import DOUBLE, NodeShare, SizingError, n_for_memory

from .blocks import components, dependants_last, legal_parts
from .errors import SpaceError
from .machine import Machine
from .node_order import KnownOrders
from .parameters.dimension import DIMENSIONS, Point, dropped_nodes, ranks_and_threads
from .parameters.parameter import Parameter
from .restriction import Restriction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZES = ("N", "memory_fraction")
"""Parameters that give the size of the matrix: a space has one of them, or none if the budget decides."""

NOT_HPL = ("program", "blas", "kernel", "layout", "binding", "mpi", "nodes_dropped", "rank_order")
"""Parameters of a configuration besides HPL's own, `mpi.*`, `program.*` and settings of hosts."""

ABSENT = -1
UNKNOWN = -2
"""The number of a wished value that no part has."""
MOST_KNOWN = 20_000
"""Most cached answers; wishes near one point differ in few blocks, so the same answers are needed again."""


class Parts:
    """The partial points of a block, with their values as numbers.

    Args:
        parts: the partial points, at least one.
    """

    def __init__(self, parts: Sequence[Point]) -> None:
        self._parts = parts
        self._names = list(dict.fromkeys(name for part in parts for name in part))
        self._numbers: dict[str, dict[Scalar | None, int]] = {}
        self._table: NDArray[np.int32] | list[list[int]] = [self._column(name) for name in self._names]
        self._known: dict[tuple[str | None, tuple[int, ...]], Point] = {}

    def nearest(self, wish: Point, keep: str | None) -> Point:
        """Return the part with the most wished values; of equal ones the first.

        Args:
            keep: the parameter that must have the wished value, if any part has it.
        """
        wished = tuple(
            self._numbers[name].get(wish[name], UNKNOWN) if name in wish else UNKNOWN for name in self._names
        )
        question = (keep if keep in self._names else None, wished)
        if question not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[question] = self._nearest(wished, question[0])
        return self._known[question]

    def _nearest(self, wished: tuple[int, ...], keep: str | None) -> Point:
        import numpy as np  # noqa: PLC0415 - slow to import, and not needed to count a space

        self._table = np.asarray(self._table, dtype=np.int32)
        agreeing = np.zeros(len(self._parts), dtype=np.int16)
        for column, number in zip(self._table, wished, strict=True):
            if number != UNKNOWN:
                agreeing += column == number
        if keep is not None:
            index = self._names.index(keep)
            kept = self._table[index] == wished[index]
            agreeing[~kept] -= len(self._names) + 1 if kept.any() else 0
        return self._parts[int(np.argmax(agreeing))]

    def _column(self, name: str) -> list[int]:
        """Assign numbers to the values of a parameter, and return the number of each part's value."""
        values: list[Scalar | None] = [part.get(name) for part in self._parts]
        present = [value for value in dict.fromkeys(values) if value is not None]
        self._numbers[name] = {value: number for number, value in enumerate(present)}
        return [self._numbers[name].get(value, ABSENT) for value in values]


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
        self._completion = Completion(machine)
        self._orders = KnownOrders(machine)
        blocks = components(self.parameters, self.restrictions)
        self._dropping: set[str] = set()
        self._blocks = [legal_parts(block, self.parameters, self.restrictions, self._judged) for block in blocks]
        self._starts = tuple(starts)

    def keeping(self, *rules: Restriction) -> SearchSpace:
        """Make the same space with more rules.

        Raises:
            SpaceError: no point is legal.
        """
        parameters = list(self.parameters.values())
        return SearchSpace(self.name, self.machine, parameters, (*self.restrictions, *rules), self._starts)

    def at(self, N: int) -> SearchSpace:
        """Make the same space for an N that was chosen; where the space gives N itself, that counts.

        Raises:
            SpaceError: no point is legal.
        """
        machine, parameters = replace(self.machine, N=N), list(self.parameters.values())
        try:
            return SearchSpace(self.name, machine, parameters, self.restrictions, self._starts)
        except SpaceError as error:
            raise SpaceError(f"{self.name}: {error}") from error

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

        There is no N while nobody has chosen the one that the space leaves to the budget.

        Raises:
            SpaceError: no N fits into the part of the memory.
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
            others = {other: value for other, value in params.items() if other != name}
            if params[name] != self.complete(others).get(name):
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
        seen = self.machine.running(full)
        return next((sentence for rule in self.restrictions if (sentence := rule.why_broken(full, seen))), None)

    def key(self, params: Point) -> str:
        """Return the identity of a configuration; points for which HPL runs the same instructions share it."""
        full = self.complete(params)
        others = {name: value for name, value in full.items() if name in NOT_HPL or "." in name}
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
        """The largest N of its points; 0 where its program has none, or nobody has chosen it yet."""
        return self.asked_n or int(self.first.get("N", 0))

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
        sentence = rule.why_broken(full, self.machine.running(full))
        if sentence:
            self._dropping.add(rule.name)
        return sentence

    def _representative_words(self, full: Point) -> dict[str, Scalar]:
        """Return what points share that run the same instructions on alike nodes: HPL's parameters and the order."""
        terms = self.machine.running(full).terms
        known = canonical(terms.run_of(full)).words()
        words = {**{name: value for name, value in known.items() if not terms.lacks(name)}, **terms.ignores}
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
            yield f"no valid combination has {value}: {space.why_not(_changed(space, point, name, value))}"


def _changed(space: SearchSpace, point: Point, name: str, value: Scalar) -> dict[str, Scalar]:
    """Return a point with another value, and with the first values of the parameters that depend on it."""
    changed, followed = {**point, name: value}, {name}
    for dependant in dependants_last(list(space.parameters), space.parameters):
        parameter = space.parameters[dependant]
        if parameter.by in followed:
            followed.add(dependant)
            legal = parameter.values_in(changed)
            if changed.get(dependant) not in legal:
                changed.pop(dependant, None)
                changed.update({dependant: legal[0]} if legal else {})
    return changed


@dataclass(frozen=True)
class Completion:
    """Completes the points of a space on a machine."""

    machine: Machine

    def complete(self, params: Point) -> dict[str, Scalar]:
        """Add every parameter that HPL and its launch need to a point; N as `with_n` does.

        Raises:
            SpaceError: as `with_n`.
        """
        return self.with_n(self.with_defaults(params))

    def with_defaults(self, params: Point) -> dict[str, Scalar]:
        """Add the defaults of all dimensions that a point leaves out; N has none."""
        full, machine = dict(params), self.machine.running(params)
        for name, dimension in DIMENSIONS.items():
            if name not in full and not machine.terms.lacks(name):
                value = dimension.default(full, machine)
                if value is not None:
                    full[name] = machine.terms.taken(name, value)
        for own in machine.terms.own:
            full.setdefault(own.point_name, own.default)
        return full

    def with_n(self, full: Point) -> dict[str, Scalar]:
        """Add N to a point with all else: that of the machine, or the one that fills a part of its memory.

        A program without N needs none, and there is none while nobody has chosen it.

        Raises:
            SpaceError: no N fits into that part.
        """
        machine = self.machine.running(full)
        if "N" in full or machine.terms.lacks("N"):
            return dict(full)
        if "memory_fraction" not in full:
            return dict(full) if self.machine.N is None else {**full, "N": self.machine.N}
        ranks, _ = ranks_and_threads(full["layout"])
        P, _, Q = str(full["grid"]).partition("x")
        memory_bytes = machine.without(dropped_nodes(full)).memory_bytes * DOUBLE // machine.terms.element_bytes
        node = NodeShare(memory_bytes, ranks)
        try:
            N = n_for_memory([node], fraction=float(full["memory_fraction"]), NB=int(full["NB"]), P=int(P), Q=int(Q))
        except SizingError as error:
            raise SpaceError(str(error)) from error
        return {**full, "N": N}
