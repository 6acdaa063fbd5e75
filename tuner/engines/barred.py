"""What cannot run on this machine, as values that no point may have together."""

from collections.abc import Iterator

from hpl.params import Scalar
from search_spaces.parameters.dimension import Point


class Barred:
    """Parts of points, some parameters with their values, that no point which is asked may contain."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Scalar]] = []

    def __iter__(self) -> Iterator[Point]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, part: Point) -> None:
        """Note one more part."""
        if part not in self._parts:
            self._parts.append(dict(part))

    def covers(self, point: Point) -> bool:
        """Whether a point has all the values of a part."""
        return any(all(point.get(name) == value for name, value in part.items()) for part in self._parts)
