"""A recorded landscape: every legal point of a space with what it was measured to do, as one JSON file.

    {"name": …, "description": …, "space": TOML, "machine": {cores, memory_bytes, N, blas: {name: {kernels, threaded}},
                "node_list": [{name, cores, speed, switch}, …]},
     "N": …, "small_N": …, "nodes": …, "probes": {blas: {kernel: GFLOPS}}, "messages": {…}, "half_nb": …,
     "calibrated_s": …, "points": [{"params": {…}, "full": [run, …], "small": [run, …], "predicted_gflops": …}]}

A run is {"gflops": rate, "time_s": HPL's time, "cost_s": seconds of the whole launch, "panels": [[column, time_s], …]};
one that failed or timed out is {"reason": why, "cost_s": seconds until it was over}. Panels, of full runs, are those at
which prefix runs may stop; where a run has none, prefixes are not asked for. Without "small_N" there are no small runs.
What a model predicts, calibrated in so many machine-seconds, is there where `benchmarks/predict_landscape.py` was run.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, GetPydanticSchema, TypeAdapter, ValidationError
from pydantic_core.core_schema import no_info_after_validator_function

from hpl.params import Scalar
from results.record import Invalidity
from runners.toml_file import Count, Positive, in_our_words
from search_spaces.errors import SpaceError
from search_spaces.load import load
from search_spaces.machine import BlasFacts, Machine, MachineNode
from search_spaces.space import SearchSpace

from ..engines.probes import USUAL_MTU, Messages
from ..errors import UsageError

LARGEST_BYTES = 64 * 2**20
"""Of a file; a point with three runs takes about a kilobyte."""
MOST_POINTS = 100_000
MOST_RUNS = 1_000
"""Of a point."""
MOST_NODES = 2**16
"""Of a machine, where the file says how its nodes differ."""
LONGEST_TEXT = 1_000
"""Characters of a name or a reason."""
PARTS = (0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
"""Parts of the columns whose panels are kept."""
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Order = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""Of a matrix, as HPL can hold it."""
MOST_GFLOPS = 1e12
"""Of a run: five hundred times what the fastest machine of 2025 reaches."""
APART = 3.0
"""Rates of one configuration that differ by more than this factor contradict each other."""
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]


class LandscapeError(UsageError):
    """A sentence that says what is wrong with a landscape file."""


@dataclass(frozen=True)
class Run:
    """One launch of HPL; times in seconds, the rate in GFLOPS or None where the run failed, which `reason` says why.

    Attributes:
        residual: that HPL printed; None where nobody kept it.
        stage: at which it failed.
        measurements: what was measured while it ran, as `TrialRecord.measurements`; empty where the table has none.
        hosts: names of the hosts with ranks; empty where the table does not tell them.
    """

    gflops: float | None
    time_s: float
    cost_s: float
    panels: tuple[tuple[int, float], ...] = ()
    reason: str = ""
    residual: float | None = None
    stage: Invalidity = Invalidity.RUNTIME
    measurements: Mapping[str, float] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()

    @property
    def wrong(self) -> str | None:
        """What is not as it has to be, or None."""
        if (self.gflops is None) != bool(self.reason):
            return "has to have either gflops or a reason why it failed"
        if self.gflops is not None and not _positive(self.gflops):
            return f"has gflops = {self.gflops}, which is no rate"
        times = {"time_s": self.time_s, "cost_s": self.cost_s, **{f"panel {at}": time_s for at, time_s in self.panels}}
        bad = [f"{name} = {time_s}" for name, time_s in times.items() if not (math.isfinite(time_s) and time_s >= 0)]
        return f"has {bad[0]}, which is no time" if bad else None


class _RunJson(BaseModel):
    """A run as the file has it."""

    cost_s: float
    gflops: float | None = None
    time_s: float | None = None
    panels: Annotated[tuple[tuple[Order | Literal[0], float], ...], Field(max_length=LONGEST_TEXT)] = ()
    reason: Text = ""

    def run(self) -> Run:
        """The run; one that failed took the whole launch's time."""
        time_s = self.cost_s if self.gflops is None else self.time_s
        return Run(self.gflops, math.nan if time_s is None else time_s, self.cost_s, self.panels, self.reason)


def _read_as(form: type[BaseModel], made: Callable[[Any], Any]) -> GetPydanticSchema:
    """Tell pydantic the form that something has in the file, and what makes it of that."""
    return GetPydanticSchema(lambda _, handler: no_info_after_validator_function(made, handler(form)))


RunsInFile = Annotated[tuple[Annotated[Run, _read_as(_RunJson, _RunJson.run)], ...], Field(max_length=MOST_RUNS)]


@dataclass(frozen=True)
class RecordedPoint:
    """A configuration with its runs, full ones and ones at the small N, and what a model predicts of it."""

    params: Annotated[Mapping[Text, bool | int | float | Text], Field(max_length=100)]
    full: RunsInFile
    small: RunsInFile = ()
    predicted_gflops: float | None = None

    @property
    def gflops(self) -> float | None:
        """The median of the full runs, which is what a search is held against."""
        rates = [run.gflops for run in self.full if run.gflops]
        return median(rates) if rates else None

    @property
    def sizes(self) -> Mapping[str, tuple[Run, ...]]:
        """The runs by what they are called."""
        return {"full": self.full, "small": self.small}

    def wrong(self, *, small: bool = True) -> str | None:
        """What is not as it has to be, or None.

        Args:
            small: there have to be small runs, too; else there must be none.
        """
        if self.small and not small:
            return "it has a small run, but the file does not say their small_N"
        for size, runs in self.sizes.items():
            if not runs and (small or size == "full"):
                return f"it has no {size} run"
            for number, run in enumerate(runs, start=1):
                if run.wrong:
                    return f"{size} run {number} {run.wrong}"
        predicted = self.predicted_gflops
        return None if predicted is None or _positive(predicted) else f"predicted_gflops = {predicted} is no rate"


class _BlasJson(BaseModel):
    kernels: Annotated[tuple[Text, ...], Field(max_length=LONGEST_TEXT)]
    threaded: bool


class _NodeJson(BaseModel):
    name: Text
    cores: Count
    speed: Positive | None = None
    switch: Text = ""


class _MachineJson(BaseModel):
    cores: Count
    memory_bytes: int
    blas: Annotated[dict[Text, _BlasJson], Field(max_length=LONGEST_TEXT)]
    N: Order
    node_list: Annotated[tuple[_NodeJson, ...], Field(max_length=MOST_NODES)] = ()

    def machine(self) -> Machine:
        blas = {name: BlasFacts(one.kernels, one.threaded) for name, one in self.blas.items()}
        nodes = tuple(MachineNode(**one.model_dump()) for one in self.node_list)
        return Machine(self.cores, self.memory_bytes, blas, self.N, node_list=nodes)


class _MessagesJson(BaseModel):
    latency_s: Positive
    bytes_s: Positive
    mtu: Count = USUAL_MTU
    held_s: Seconds = 0.0

    def messages(self) -> Messages:
        return Messages(**self.model_dump())


@dataclass(frozen=True)
class RecordedLandscape:
    """All of a space, measured.

    Attributes:
        probes: dgemm's rate of a core by BLAS and kernel, as `tune` knows it before the first run.
        small_n: order of the small runs; 0 where there are none.
        messages, half_nb: what a launch on all ranks told, likewise; None where there was none.
        simulated: its runs are a simulator's: no machine gave their rates.
    """

    name: Text
    description: Text
    space: Annotated[str, Field(min_length=1, max_length=2**20)]
    machine: Annotated[Machine, _read_as(_MachineJson, _MachineJson.machine)]
    N: Order
    places: Annotated[tuple[RecordedPoint, ...], Field(alias="points", max_length=MOST_POINTS)]
    small_n: Annotated[int, Field(alias="small_N")] = 0
    probes: Mapping[Text, Mapping[Text, Positive]] = field(default_factory=dict)
    calibrated_s: Seconds = 0.0
    nodes: Count = 1
    simulated: bool = False
    messages: Annotated[Messages, _read_as(_MessagesJson, _MessagesJson.messages)] | None = None
    half_nb: Positive | None = None

    def search_space(self, only: Mapping[str, Sequence[str]] | None = None) -> SearchSpace:
        """The space whose legal points the places are, or the part of it where parameters have only some values."""
        return load(self.name, self.machine, only, self.space)

    def save(self, path: Path) -> None:
        """Write the file, a point a line."""
        head = {
            "name": self.name,
            "description": self.description,
            "space": self.space,
            "machine": self._machine_facts(),
            "N": self.N,
            "small_N": self.small_n,
            "nodes": self.nodes,
            "probes": self.probes,
            "messages": self.messages and asdict(self.messages),
            "half_nb": self.half_nb,
            "simulated": self.simulated,
            "calibrated_s": self.calibrated_s,
        }
        points = ",\n".join(
            json.dumps(asdict(place, dict_factory=_known), separators=(",", ":")) for place in self.places
        )
        path.write_text((json.dumps(head, indent=1)[:-2] + f',\n "points": [\n{points}\n]}}\n'), encoding="utf-8")

    def _machine_facts(self) -> dict[str, Any]:
        """What the file says of the machine."""
        machine = self.machine
        known = {
            "cores": machine.cores,
            "memory_bytes": machine.memory_bytes,
            "blas": {name: asdict(facts) for name, facts in machine.blas.items()},
            "N": machine.N,
        }
        return known | ({"node_list": list(map(asdict, machine.node_list))} if machine.node_list else {})

    @staticmethod
    def read(path: Path) -> "RecordedLandscape":
        """Read a file back.

        Raises:
            LandscapeError: it cannot be read, is no landscape, or contradicts itself.
        """
        try:
            with path.open("rb") as file:
                read = file.read(LARGEST_BYTES + 1)
            if len(read) > LARGEST_BYTES:
                raise LandscapeError(f"{path} is larger than {LARGEST_BYTES / 2**20:g} MiB")
            found = TypeAdapter(RecordedLandscape).validate_json(read, strict=True)
            wrong = found.wrong
        except OSError as error:
            raise LandscapeError(f"{path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise LandscapeError(f"{path} is no landscape: {_sentence(error)}") from error
        except SpaceError as error:
            raise LandscapeError(f"{path} is no landscape: {error}") from error
        if wrong:
            raise LandscapeError(f"{path}: {wrong}")
        return found

    @property
    def wrong(self) -> str | None:
        """What is not as it has to be, or None: each legal point once, with runs that have a rate or a reason."""
        space = self.search_space()
        seen: dict[str, int] = {}
        for number, place in enumerate(self.places, start=1):
            sentence = space.why_not(place.params) or place.wrong(small=self.small_n != 0)
            if sentence:
                return f"{self._named(number)}: {sentence}"
            earlier = seen.setdefault(space.key(place.params), number)
            if earlier != number:
                return f"{self._named(number)}: this configuration is point {earlier} already"
        missing = [point for point in space if space.key(point) not in seen]
        if missing:
            return f"{len(missing)} points of its space are missing, the first of them {_words(missing[0], space)}"
        if all(place.gflops is None for place in self.places):
            return "no full run gave a rate, so there is no best"
        return None if 0 <= self.small_n < self.N else f"small_N = {self.small_n} has to be below N = {self.N}"

    @property
    def contradiction(self) -> str | None:
        """What runs of one configuration say that cannot both be true, or None."""
        found = [
            (number, size, rates)
            for number, place in enumerate(self.places, start=1)
            for size, runs in place.sizes.items()
            if (rates := [run.gflops for run in runs if run.gflops]) and max(rates) > APART * min(rates)
        ]
        if not found:
            return None
        number, size, rates = found[0]
        more = f" (the first of {len(found)} such)" if len(found) > 1 else ""
        return (
            f"{self._named(number)}: its runs ({size}) gave {min(rates):.4g} to {max(rates):.4g} GFLOPS, "
            f"more than a factor of {APART:g} apart{more}"
        )

    def _named(self, number: int) -> str:
        """The place of a point in the file, from 1, and what it is."""
        return f"point {number} ({_words(self.places[number - 1].params, self.search_space())})"


def kept(N: int, panels: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """The first panel at or after each of PARTS, each once."""
    found = [next((panel for panel in panels if panel[0] >= part * N), None) for part in PARTS]
    return tuple(dict.fromkeys(panel for panel in found if panel is not None))


def _positive(rate: float) -> bool:
    return 0 < rate <= MOST_GFLOPS


def _words(params: Mapping[str, Scalar], space: SearchSpace) -> str:
    """What a point has of the parameters that vary."""
    return " ".join(f"{name}={value}" for name, value in params.items() if name in space.varying)


def _known(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a point or a run that say something."""
    return {name: value for name, value in fields if value not in ("", (), None)}


def _sentence(error: ValidationError) -> str:
    """What is wrong first in a file, with its key as `points[3].full[0].cost_s`."""
    first = error.errors()[0]
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]).lstrip(".")
    if first["type"] == "missing":
        return f"it lacks '{key}'"
    problem = in_our_words(first).replace("EOF", "end of file")
    return f"{key}: {problem}" if key else problem
