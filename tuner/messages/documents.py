"""What people hand in, of each kind of campaign: the words are those of the command line."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

HIGHEST = 100
"""Of priorities; the lowest is as far below zero."""
MOST = 1e12
"""Of GFLOPS and watts."""
MOST_RUNS = 1_000_000
Few = Annotated[int, Field(ge=1, le=10_000)]
Runs = Annotated[int, Field(ge=1, le=MOST_RUNS)]
Figure = Annotated[float, Field(gt=0, le=MOST)]


def printable_text(text: str) -> str:
    """Return text without control characters, which some databases cannot store.

    Raises:
        ValueError: it has some.
    """
    if not text.isprintable():
        raise ValueError("expected text without control characters")
    return text


Text = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(printable_text)]
Name = Annotated[str, Field(max_length=200), AfterValidator(printable_text)]
"""Of a campaign; `check_name` says more of what is wrong with one."""
Value = Annotated[str, Field(max_length=200), AfterValidator(printable_text)] | int | float | bool
"""Of a parameter."""
Values = Annotated[list[Value], Field(max_length=1000)]
MOST_REPEATS = 100
"""Runs of a benchmark on each node."""
MOST_CHECKED = 50
"""Runs of which each tells something."""


class Document(BaseModel):
    """What people hand in of any kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name | None = Field(None, description="of the campaign and its study; null takes a free one")
    priority: int = Field(
        0, ge=-HIGHEST, le=HIGHEST, description="a higher one is started first; above 0 needs scope admin"
    )


class TuneDocument(Document):
    """A search, in the words of `hpltune tune`."""

    kind: Literal["tune"] = "tune"
    space: Text = Field("default", description="name of a space that the service offers")
    cluster: Text | None = Field(None, description="a cluster that it offers; null for the service's own machine")
    budget: Text | None = Field(None, description="a time: 90s, 5m, 1h30m; 2nh; on a virtual cluster also 20usd")
    trials: Runs | None = Field(None, description="limit of search trials")
    run_time: Text | None = Field(None, description="limit of the time in runs of HPL alone")
    engine: Text = "hpl"
    objective: Text = "gflops"
    pareto: Text | None = None
    full: bool = Field(False, description="measure at the N that fills the memory")
    memory_fraction: float = Field(0.8, ge=0.01, le=0.95)
    set: Mapping[Text, Value | Values] = Field(
        default_factory=dict, description="values of parameters", examples=[{"NB": [128, 192]}], max_length=100
    )
    points: Runs | None = Field(None, description="points of a coarse grid, with engine grid")
    repeats: Runs = 1
    confirm: int = Field(2, ge=0, le=MOST_RUNS)
    reference: bool = Field(
        True, description="run one configuration again every so often, to see whether the machine changes"
    )
    seed: int = Field(0, ge=0, lt=2**32)
    blas: list[Text] = Field(default_factory=list, max_length=20, description="only these BLAS libraries")
    program: Text | None = Field(None, description="an xhpl that the service offers; null builds one")
    rpeak_gflops: Figure | None = None
    price_usd: Figure | None = None
    power_w: Figure | None = None
    parallel: Few = 1
    jobs: Few | None = Field(None, description="simulations at a time")
    limit: Text | None = Field(None, description="real time after which a simulation is stopped")
    from_simulation: Text | None = Field(None, description="name of a simulated study")
    warm_start: list[Text] = Field(default_factory=list, max_length=20, description="names of studies to learn from")


class NodesDocument(Document):
    """A check whether all nodes are ready, as `hpltune nodes check` makes it."""

    kind: Literal["nodes"] = "nodes"
    cluster: Text | None = Field(None, description="a real cluster that it offers; null for the service's own machine")
    benchmarks: list[Text] = Field(default_factory=list, max_length=20, description="only these; none takes the usual")
    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = Field(3, description="runs of each benchmark")
    baseline: Text | None = Field(
        "default", description="an earlier check: its number, a day, first, last or default; null compares with none"
    )


class CheckDocument(Document):
    """A measurement of what is known already: is the machine slower than it was?"""

    kind: Literal["check"] = "check"
    baseline: Text = Field(description="the study of a real machine whose best configuration is measured again")
    runs: Annotated[int, Field(ge=1, le=MOST_CHECKED)] = 3
    tolerance_percent: float = Field(2.0, ge=0, le=50, description="loss of speed that is no reason to worry")
