"""Blocks of parameters that depend on one another, and the legal partial points of each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from hpl.params import Scalar

from .dimension import Point
from .errors import SpaceError
from .parameter import Parameter
from .restriction import Restriction

Judge = Callable[[Point, Restriction], str | None]
"""The sentence why a partial point breaks a rule, defaults filled in, or None."""

MOST_PARTS = 1_000_000
"""Partial points of one block that are listed, some 400 bytes each; `full` on 96 cores has about 130,000."""


def components(parameters: Mapping[str, Parameter], restrictions: Sequence[Restriction]) -> list[list[str]]:
    """Names of the parameters of each block, in the order of the parameters."""
    group = {name: {name} for name in parameters}
    links = [(parameter.name, parameter.by) for parameter in parameters.values() if parameter.by]
    for rule in restrictions:
        first, *others = _present(rule, parameters) or ("",)
        links += [(first, other) for other in others]
    for one, other in links:
        merged = group[one] | group[other]
        for name in merged:
            group[name] = merged
    blocks = {id(members): members for members in group.values()}
    return [[name for name in parameters if name in members] for members in blocks.values()]


def legal_parts(
    names: Sequence[str], parameters: Mapping[str, Parameter], restrictions: Sequence[Restriction], judge: Judge
) -> list[dict[str, Scalar]]:
    """The legal partial points of a block: one parameter is added after the other, what breaks a rule dropped.

    Raises:
        SpaceError: there is none, with an example for each rule that dropped some; or more than MOST_PARTS.
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
            raise SpaceError(
                "no valid combination: " + "; ".join(f"{broken[rule]} ({rule})" for rule in reversed(broken))
            )
        if len(parts) > MOST_PARTS:
            raise SpaceError(
                f"there are more than {MOST_PARTS:,} combinations of {', '.join(names)}, which depend on one another: "
                "give them fewer values"
            )
    places = [(name, {value: place for place, value in enumerate(parameters[name].values)}) for name in names]
    return sorted(parts, key=lambda part: [place[part[name]] if name in part else -1 for name, place in places])


def _present(rule: Restriction, parameters: Mapping[str, Parameter]) -> list[str]:
    return [name for name in rule.needs if name in parameters]


def dependants_last(names: Iterable[str], parameters: Mapping[str, Parameter]) -> list[str]:
    """Names with those that decide before those that depend on them.

    Raises:
        SpaceError: some depend on one another in a circle.
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
    """Every partial point with every value that a parameter may have in it, or without where it is absent."""
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
    """The parts that keep all rules; `broken` gets the first sentence of each rule that dropped one."""
    for part in parts:
        for name, judge in judges:
            sentence = judge(part)
            if sentence is not None:
                broken.setdefault(name, sentence)
                break
        else:
            yield part


def _remembering(rule: Restriction, names: Sequence[str], judge: Judge) -> Callable[[Point], str | None]:
    """The rule's verdict from what it looks at alone, each combination of that judged once."""
    verdicts: dict[tuple[Scalar | None, ...], str | None] = {}

    def remembered(part: Point) -> str | None:
        seen = tuple(part.get(name) for name in names)
        if seen not in verdicts:
            verdicts[seen] = judge({name: part[name] for name in names if name in part}, rule)
        return verdicts[seen]

    return remembered
