"""Splits parameters into blocks that depend on one another, and lists the legal partial points of each block."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from hpl.params import Scalar

from .errors import SpaceError
from .parameters.dimension import Point
from .parameters.parameter import Parameter
from .restriction import Restriction

Judge = Callable[[Point, Restriction], str | None]
"""Returns the sentence why a partial point, completed with defaults, breaks a rule, or None."""

MOST_PARTS = 1_000_000
"""Most partial points of a block, of some 400 bytes each; `full` on 96 cores has about 130,000."""


def components(parameters: Mapping[str, Parameter], restrictions: Sequence[Restriction]) -> list[list[str]]:
    """Return the names of the parameters of each block, in the order of the parameters."""
    group = {name: {name} for name in parameters}
    links = [(parameter.name, parameter.by) for parameter in parameters.values() if parameter.by]
    for rule in restrictions:
        first, *others = _present(rule, parameters) or ("",)
        links += [(first, other) for other in others]
    for left, right in links:
        merged = group[left] | group[right]
        for name in merged:
            group[name] = merged
    blocks = {id(members): members for members in group.values()}
    return [[name for name in parameters if name in members] for members in blocks.values()]


def legal_parts(
    names: Sequence[str], parameters: Mapping[str, Parameter], restrictions: Sequence[Restriction], judge: Judge
) -> list[dict[str, Scalar]]:
    """List the legal partial points of a block: add one parameter after the other, and drop points that break a rule.

    Raises:
        SpaceError: there is none (with an example for each rule that dropped points), or there are over MOST_PARTS.
    """
    parts: list[dict[str, Scalar]] = [{}]
    known: set[str] = set()
    left = [rule for rule in restrictions if not (present := _present(rule, parameters)) or set(present) <= set(names)]
    broken: dict[str, str] = {}
    for name in dependants_last(names, parameters):
        known.add(name)
        ready = [rule for rule in left if set(_present(rule, parameters)) <= known]
        left = [rule for rule in left if rule not in ready]
        judges = [(rule.name, _remembering(rule, _present(rule, parameters), judge)) for rule in ready]
        parts = list(islice(_keeping(judges, _grown(parts, parameters[name]), broken), MOST_PARTS + 1))
        if not parts:
            untold = {rule.name for rule in restrictions if not rule.told}
            why = (broken[rule] if rule in untold else f"{broken[rule]} ({rule})" for rule in reversed(broken))
            raise SpaceError("no valid combination: " + "; ".join(why))
        if len(parts) > MOST_PARTS:
            raise SpaceError(
                f"there are more than {MOST_PARTS:,} combinations of {', '.join(names)}, which depend on one another: "
                "give them fewer values"
            )
    orders = [(name, {value: index for index, value in enumerate(parameters[name].values)}) for name in names]
    return sorted(parts, key=lambda part: [order[part[name]] if name in part else -1 for name, order in orders])


def _present(rule: Restriction, parameters: Mapping[str, Parameter]) -> list[str]:
    return [name for name in rule.needs if name in parameters]


def dependants_last(names: Iterable[str], parameters: Mapping[str, Parameter]) -> list[str]:
    """Sort names so that a parameter comes after the one on which it depends.

    Raises:
        SpaceError: parameters depend on one another in a circle.
    """
    done: list[str] = []
    left = list(names)
    while left:
        free = [name for name in left if parameters[name].by not in left]
        if not free:
            raise SpaceError(f"{', '.join(left)} depend on one another in a circle")
        done += free
        left = [name for name in left if name not in free]
    return done


def _grown(parts: Iterable[Point], parameter: Parameter) -> Iterator[dict[str, Scalar]]:
    """Yield each partial point with every legal value of a parameter, or unchanged if the parameter is absent there."""
    for part in parts:
        values = parameter.values_in(part)
        yield from ({**part, parameter.name: value} for value in values)
        if not values:
            yield dict(part)


def _keeping(
    judges: Sequence[tuple[str, Callable[[Point], str | None]]],
    parts: Iterable[dict[str, Scalar]],
    broken: dict[str, str],
) -> Iterator[dict[str, Scalar]]:
    """Yield the parts that keep all rules; `broken` gets the first sentence of each broken rule."""
    for part in parts:
        for name, judge in judges:
            sentence = judge(part)
            if sentence is not None:
                broken.setdefault(name, sentence)
                break
        else:
            yield part


def _remembering(rule: Restriction, names: Sequence[str], judge: Judge) -> Callable[[Point], str | None]:
    """Make a function that judges a rule once for each combination of the parameters that it reads."""
    verdicts: dict[tuple[Scalar | None, ...], str | None] = {}

    def remembered(part: Point) -> str | None:
        seen = tuple(part.get(name) for name in names)
        if seen not in verdicts:
            verdicts[seen] = judge({name: part[name] for name in names if name in part}, rule)
        return verdicts[seen]

    return remembered
