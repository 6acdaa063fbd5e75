"""A recorded landscape: every legal point of a space with what it was measured to do, as one JSON file.

    {"name": …, "description": …, "space": TOML, "machine": {cores, memory_bytes, N, blas: {name: {kernels, threaded}}},
     "N": …, "small_N": …, "nodes": …, "probes": {blas: {kernel: GFLOPS}}, "messages": {…}, "half_nb": …,
     "calibrated_s": …, "points": [{"params": {…}, "full": [run, …], "small": [run, …], "predicted_gflops": …}]}

A run is {"gflops": rate, "time_s": HPL's time, "cost_s": seconds of the whole launch, "panels": [[column, time_s], …]};
one that failed has a "reason" and no rate. Panels are those of the full size at which prefix runs may stop.
What a model predicts, calibrated in so many machine-seconds, is there where `predict_landscape.py` was run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from search_spaces.dimension import Scalar
from search_spaces.errors import SpaceError
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine
from search_spaces.space import SearchSpace
from tuner.engines.surrogate.probes import Messages

SHIPPED = Path(__file__).parent / "landscapes"
PARTS = (0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
"""Parts of the columns whose panels are kept."""


class LandscapeError(Exception):
    """A sentence that says what is wrong with a landscape file."""


@dataclass(frozen=True)
class Run:
    """One launch of HPL; times in seconds, the rate in GFLOPS or None where the run failed."""

    gflops: float | None
    time_s: float
    cost_s: float
    panels: tuple[tuple[int, float], ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Place:
    """A configuration with its runs, full ones and ones at the small N, and what a model predicts of it."""

    params: Mapping[str, Scalar]
    full: tuple[Run, ...]
    small: tuple[Run, ...]
    predicted_gflops: float | None = None

    @property
    def gflops(self) -> float | None:
        """The median of the full runs, which is what a search is held against."""
        rates = [run.gflops for run in self.full if run.gflops]
        return median(rates) if rates else None


@dataclass(frozen=True)
class Landscape:
    """All of a space, measured.

    Attributes:
        probes: dgemm's rate of a core by BLAS and kernel, as `tune` knows it before the first run.
        messages, half_nb: what a launch on all ranks told, likewise; None where there was none.
        simulated: its runs are a simulator's, which come out the same each time and start at once.
    """

    name: str
    description: str
    space: str
    machine: Machine
    N: int
    small_n: int
    probes: Mapping[str, Mapping[str, float]]
    places: tuple[Place, ...]
    calibrated_s: float = 0.0
    nodes: int = 1
    simulated: bool = False
    messages: Messages | None = None
    half_nb: float | None = None

    def search_space(self, only: Mapping[str, Sequence[str]] | None = None) -> SearchSpace:
        """The space whose legal points the places are, or the part of it where parameters have only some values."""
        return load(self.name, self.machine, only, self.space)

    def save(self, path: Path) -> None:
        """Write the file, a point a line."""
        head = {
            "name": self.name,
            "description": self.description,
            "space": self.space,
            "machine": asdict(self.machine),
            "N": self.N,
            "small_N": self.small_n,
            "nodes": self.nodes,
            "probes": self.probes,
            "messages": self.messages and asdict(self.messages),
            "half_nb": self.half_nb,
            "simulated": self.simulated,
            "calibrated_s": self.calibrated_s,
        }
        points = ",\n".join(json.dumps(_place_json(place), separators=(",", ":")) for place in self.places)
        text = json.dumps(head, indent=1)[:-2] + f',\n "points": [\n{points}\n]}}\n'
        path.write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Landscape":
        """Read a file back.

        Raises:
            LandscapeError: it cannot be read, is no landscape, or contradicts itself.
        """
        try:
            found = cls._parsed(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, SpaceError) as error:
            raise LandscapeError(f"{path} is no landscape: {type(error).__name__} {error}") from error
        found.check(path)
        return found

    def check(self, path: Path) -> None:
        """Refuse a table that is not whole.

        Raises:
            LandscapeError: a legal point is missing or stands there twice, a run is missing, or nothing ran.
        """
        space = self.search_space()
        keys = [space.key(place.params) for place in self.places]
        missing = {space.key(point) for point in space} - set(keys)
        twice = len(keys) - len(set(keys))
        if missing or twice:
            raise LandscapeError(f"{path}: {len(missing)} configurations are missing and {twice} stand there twice")
        if not all(place.full and place.small for place in self.places):
            raise LandscapeError(f"{path}: a configuration has no full or no small run")
        if all(place.gflops is None for place in self.places):
            raise LandscapeError(f"{path}: no full run gave a rate, so there is no best")

    @classmethod
    def _parsed(cls, path: Path) -> "Landscape":
        data = json.loads(path.read_text(encoding="utf-8"))
        facts = data["machine"]
        blas = {name: BlasFacts(tuple(one["kernels"]), one["threaded"]) for name, one in facts["blas"].items()}
        return cls(
            name=data["name"],
            description=data["description"],
            space=data["space"],
            machine=Machine(facts["cores"], facts["memory_bytes"], blas, facts["N"]),
            N=data["N"],
            small_n=data["small_N"],
            probes=data["probes"],
            messages=Messages(**data["messages"]) if data.get("messages") else None,
            half_nb=data.get("half_nb"),
            places=tuple(_place(one) for one in data["points"]),
            calibrated_s=data.get("calibrated_s", 0.0),
            nodes=data.get("nodes", 1),
            simulated=data.get("simulated", False),
        )


def kept(N: int, panels: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """The first panel at or after each of PARTS, each once."""
    found = [next((panel for panel in panels if panel[0] >= part * N), None) for part in PARTS]
    return tuple(dict.fromkeys(panel for panel in found if panel is not None))


def _place_json(place: Place) -> dict[str, Any]:
    predicted = {} if place.predicted_gflops is None else {"predicted_gflops": place.predicted_gflops}
    return {
        "params": dict(place.params),
        "full": [_run_json(run) for run in place.full],
        "small": [_run_json(run) for run in place.small],
        **predicted,
    }


def _run_json(run: Run) -> dict[str, Any]:
    return {name: value for name, value in asdict(run).items() if value not in ("", (), None)}


def _place(data: Mapping[str, Any]) -> Place:
    full, small = (tuple(_run(run) for run in data[name]) for name in ("full", "small"))
    return Place(data["params"], full, small, data.get("predicted_gflops"))


def _run(data: Mapping[str, Any]) -> Run:
    panels = tuple((int(column), float(time_s)) for column, time_s in data.get("panels", ()))
    return Run(data.get("gflops"), data["time_s"], data["cost_s"], panels, data.get("reason", ""))
