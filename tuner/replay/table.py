"""A table of runs in place of a machine: its space, what it tells before the first run, and the runs themselves."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median

from hpl.params import Scalar
from results.record import REPLAY_OF
from search_spaces.errors import SpaceError
from search_spaces.load import load
from search_spaces.machine import Machine
from search_spaces.parameters.dimension import Point
from search_spaces.restriction import Restriction
from search_spaces.space import SearchSpace

from ..engines.outcomes import FULL, Fidelity, Ladder, Rung
from ..engines.probes import Probes
from ..errors import UsageError
from ..settings.dimensions import setting_dimensions
from ..trial.ladder import PREFIX_PARTS, SMALL_PART, ladder, small_n
from ..trial.plan import PlanError
from ..words import listed
from .csv_table import read_csv
from .landscape import RecordedLandscape, RecordedPoint, Run

IN_TABLE = "in_table"
"""The rule that a point is one of the table's."""
NEAR = 0.999
"""Of the columns of a prefix: the panel there may begin a little before."""


@dataclass(frozen=True)
class ReplayTable:
    """A table that is replayed.

    Attributes:
        path: of its file, absolute.
        sha256: of the file's content.
    """

    path: Path
    sha256: str
    landscape: RecordedLandscape

    @classmethod
    def read(cls, path: Path) -> "ReplayTable":
        """Read a landscape (*.json), or a CSV of trials.

        Raises:
            UsageError: it cannot be read or used; the sentence names the file and the place in it.
        """
        path = path.expanduser().absolute()
        if not path.is_file():
            why = "it is not a regular file" if path.exists() else "there is no such file"
            raise UsageError(why, field="replay", given=path)
        is_json = path.suffix.lower() == ".json"
        try:
            landscape = RecordedLandscape.read(path) if is_json else read_csv(path)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UsageError(str(error.strerror), field="replay", given=path) from error
        return cls(path, digest, landscape)

    @property
    def name(self) -> str:
        """What the file is called."""
        return self.path.name

    @property
    def simulator(self) -> str:
        """What stands for the machine in records."""
        return f"{REPLAY_OF}{self.name}"

    @cached_property
    def noisy(self) -> bool:
        """Whether some configuration has runs that differ, so that it makes sense to repeat one."""
        return any(len({run.gflops for run in place.full}) > 1 for place in self.landscape.places)

    @cached_property
    def probes(self) -> Probes:
        """What short measurements of the machine tell an engine."""
        known = self.landscape
        return Probes(known.probes, known.nodes, messages=known.messages, half_nb=known.half_nb, exact=not self.noisy)

    @cached_property
    def _whole(self) -> SearchSpace:
        return load(self.name, self.landscape.machine, text=self.landscape.space)

    @cached_property
    def _points(self) -> Sequence[Point]:
        """The configurations, complete."""
        return [self._whole.complete(place.params) for place in self.landscape.places]

    @cached_property
    def _known(self) -> frozenset[str]:
        """The parameters that the table tells of some configuration."""
        return frozenset().union(*self._points)

    @cached_property
    def _places(self) -> Mapping[str, RecordedPoint]:
        """The configurations by their keys; what makes HPL run the same instructions is one."""
        found: dict[str, RecordedPoint] = {}
        for place, point in zip(self.landscape.places, self._points, strict=True):
            key = self._whole.key(point)
            same = found.get(key)
            found[key] = place if same is None else replace(same, full=same.full + place.full)
        return found

    def _key(self, params: Point) -> str:
        """The key of a complete point, without parameters of which the table tells nothing, such as `mpi`."""
        return self._whole.key({name: value for name, value in params.items() if name in self._known})

    def space(
        self, name: str, asked: Mapping[str, Sequence[str]] | None = None, text: str | None = None
    ) -> SearchSpace:
        """A search space whose legal points are configurations of the table.

        Args:
            name: of the space.
            asked: values of `--set`.
            text: TOML of the space; None for that of the table.

        Raises:
            SpaceError: as `load`, or the table has none of its points.
        """
        own = self.landscape.space if text is None else text
        space = load(name, self.landscape.machine, asked or {}, own, setting_dimensions())
        names = [name for name in space.parameters if name in self._known]
        if space.parameters.keys() == self._whole.parameters.keys():
            there = {_values(point, names) for point in self._points}
            if len(space) <= len(there) and all(_values(point, names) in there for point in space):
                return space
        try:
            return space.keeping(*self._rules(space, names))
        except SpaceError as error:
            where = "such run" if text in {None, self.landscape.space} else f"run in the space {space.name}"
            raise SpaceError(f"{self.name} has no {where}: {self._not_shared(space)}") from error

    def _not_shared(self, space: SearchSpace) -> str:
        """Say which parameter of a space has no value that the table has."""
        for name, parameter in space.parameters.items():
            there = dict.fromkeys(point[name] for point in self._points if name in point)
            if there and not there.keys() & set(parameter.values):
                wanted, had = (listed([str(value) for value in values]) for values in (parameter.values, there))
                return f"{name} is {had} in the table, and {wanted} in the space"
        return "it has all values of its parameters, but no combination of them"

    def _rules(self, space: SearchSpace, names: Sequence[str]) -> list[Restriction]:
        """Rules that together keep what the table has: one for each number of parameters, so that few points are made.

        Args:
            names: the parameters of the space that the table tells.
        """

        def rule(count: int) -> Restriction:
            there = {_values(point, names[:count]) for point in self._points}

            def check(point: Point, _machine: Machine) -> str | None:
                return None if _values(point, names[:count]) in there else self._lacks(point, names[:count])

            return Restriction(IN_TABLE, tuple(names[:count]), check)

        def exact(point: Point, _machine: Machine) -> str | None:
            return None if self._key(point) in self._places else self._lacks(point, list(point))

        counted = [rule(count) for count in range(1, len(names) + 1)]
        return [*counted, Restriction(IN_TABLE, (*space.parameters, "N"), exact)]

    def _lacks(self, params: Point, names: Sequence[str]) -> str:
        """The sentence that the table has no run with these values."""
        words = " ".join(f"{name}={params[name]}" for name in names if name in params and name != "threshold")
        return f"{self.name} has no run with {words}"

    def runs_of(self, params: Mapping[str, Scalar]) -> int:
        """How many full runs the table has of a complete point."""
        place = self._places.get(self._key(params))
        return 0 if place is None else len(place.full)

    def run(self, params: Mapping[str, Scalar], rung: Rung, seed: int, repeat: int = 0) -> Run:
        """One of the runs of a complete point, or of its runs at the small N.

        Args:
            seed: puts the runs of each configuration in an order.
            repeat: how many of them were taken before; when all were, they are taken again.

        Raises:
            PlanError: the table has none.
        """
        key = self._key(params)
        place = self._places.get(key)
        runs = () if place is None else place.small if rung.fidelity is Fidelity.SMALL else place.full
        if not runs:
            raise PlanError(self._lacks(params, list(self._whole.parameters)))
        order = random.Random(f"{seed} {rung.fidelity} {key}")  # noqa: S311 - not for secrets
        return order.sample(runs, len(runs))[repeat % len(runs)]

    def panel(self, run: Run, N: int, part: float) -> tuple[int, float] | None:
        """The first panel of a run when so much of its columns is done, or None."""
        return next((panel for panel in run.panels if panel[0] >= part * N * NEAR and panel[1] > 0), None)

    @cached_property
    def ladder(self) -> Ladder:
        """How much of a full run may be asked for: what the table can tell, and what is worth it."""
        places, N = self.landscape.places, self.landscape.N
        runs = [run for place in places for run in place.full if run.gflops]
        prefixes = all(self.panel(run, N, part) for run in runs for part in PREFIX_PARTS)
        has_small = self.landscape.small_n == small_n(N, SMALL_PART) and any(
            run.gflops for place in places for run in place.small
        )
        launch_s = median(run.cost_s - run.time_s for run in runs)
        found = ladder(N, median(run.time_s for run in runs), launch_s, prefixes=prefixes)
        return [rung for rung in found if has_small or rung.fidelity is not Fidelity.SMALL] or [FULL]


def _values(point: Point, names: Sequence[str]) -> tuple[Scalar | None, ...]:
    return tuple(point.get(name) for name in names)
