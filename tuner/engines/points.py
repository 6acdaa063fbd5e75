"""Makes points of a space: completes them, changes one value, or finds the space's own for what others ran."""

from collections.abc import Collection, Iterator

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point
from search_spaces.space import SearchSpace


def with_fixed(space: SearchSpace, wish: Point) -> dict[str, Scalar]:
    """A choice of the varying parameters, completed with the fixed ones, in the space's order."""
    fixed = {name: one.values[0] for name, one in space.parameters.items() if name not in space.varying}
    return {name: {**fixed, **wish}[name] for name in space.parameters if name in fixed or name in wish}


def with_value(space: SearchSpace, point: Point, name: str, value: Scalar) -> dict[str, Scalar] | None:
    """The legal point with one value changed, and what must change with it; None where there is none."""
    wish = {**point, name: value}
    if space.why_not(wish) is None:
        return wish
    nearest = space.nearest(wish, keep=name)
    return nearest if nearest.get(name) == value else None


def neighbours(space: SearchSpace, point: Point, held: Collection[str] = ()) -> Iterator[dict[str, Scalar]]:
    """Legal points that differ in one value that is not held, and in what must follow; nearest values first."""
    for name, parameter in space.varying.items():
        if name in point and name not in held:
            values = parameter.values_in(point)
            place = values.index(point[name])
            for value in sorted(values, key=lambda other: abs(values.index(other) - place))[1:]:
                changed = with_value(space, point, name, value)
                if changed is not None:
                    yield changed


def own_point(space: SearchSpace, params: Point) -> dict[str, Scalar] | None:
    """The space's own point for a configuration that may be complete; None where the space has none."""
    point = _of_space(space, params)
    legal = space.why_not(point) is None
    return point if legal and _same_configuration(space, params, point) else None


def _of_space(space: SearchSpace, params: Point) -> dict[str, Scalar]:
    """A complete point without what the space leaves to defaults or has no values of in this case."""
    own = {}
    for name, parameter in space.parameters.items():
        absent = parameter.by is not None and parameter.by in params and not parameter.values_in(params)
        if name in params and not absent:
            own[name] = params[name]
    return own


def _same_configuration(space: SearchSpace, params: Point, point: Point) -> bool:
    """Whether a told point is what the space would run; N may differ where it follows from the free memory."""
    full = space.complete(point)
    derived = {"N"} if "memory_fraction" in point else set()
    return all(name in derived or (name in full and full[name] == params[name]) for name in params)
