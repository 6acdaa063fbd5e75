"""A campaign that searches, as `hpltune tune` does."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from hpl.params import Scalar
from results.store.store import Store
from search_spaces.load import check_overrides, space_text

from ....commands.campaigns.asked import AskedLimits, AskedMachine, AskedSearch, AskedTuning
from ....commands.campaigns.tune import TuneRequest, tune
from ....commands.session import open_session
from ....engines.registry import check_engine
from ....events import Listener
from ....options import TuneOptions
from ....stopping import StopRequest
from ....study.objective import check_inputs
from ..expected import Expected, SpaceSize
from ..expected_tuning import expected_of, size_of
from ..host_survey import HostSurvey
from ..offered import Offered
from ..wrong import WrongDocumentError, read_as_document
from .base import CampaignKind, Document, WorkOrder, WorkResult, node_set

MOST = 1e12
"""Of GFLOPS and watts."""
MOST_RUNS = 1_000_000
Few = Annotated[int, Field(ge=1, le=10_000)]
Runs = Annotated[int, Field(ge=1, le=MOST_RUNS)]
Figure = Annotated[float, Field(gt=0, le=MOST)]
Text = Annotated[str, Field(min_length=1, max_length=200)]


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
    set: Mapping[Text, Scalar | list[Scalar]] = Field(
        default_factory=dict, description="values of parameters", examples=[{"NB": [128, 192]}], max_length=100
    )
    points: Runs | None = Field(None, description="points of a coarse grid, with engine grid")
    repeats: Runs = 1
    confirm: int = Field(2, ge=0, le=MOST_RUNS)
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


class TuneKind(CampaignKind):
    """Searches."""

    name: ClassVar = "tune"
    document: ClassVar = TuneDocument

    def check(self, document: TuneDocument, offered: Offered, store: Store) -> tuple[str, ...]:
        """Check a document as the contract says."""
        nodes = node_set(document.cluster, offered)
        options = tune_options(document, offered, store)
        simulated = options.cluster is not None
        read_as_document(lambda: check_engine(options.engine, of_two_objectives=options.pareto is not None))
        read_as_document(lambda: space_text(options.space))
        read_as_document(lambda: check_overrides(options.overrides or {}))
        if not simulated:
            facts = {"price_usd": options.price_usd, "power_w": options.power_w}
            read_as_document(lambda: check_inputs(options.objective, options.pareto, **facts))
        return nodes

    def expected(self, document: TuneDocument, offered: Offered, store: Store) -> Expected:
        """Its budget, and what that costs."""
        return expected_of(tune_options(document, offered, store))

    def size(self, document: TuneDocument, offered: Offered, store: Store, survey: HostSurvey) -> SpaceSize:
        """Count its space as the contract says."""
        return size_of(tune_options(document, offered, store), survey)

    def base_name(self, document: TuneDocument) -> str:
        """The name of the space, as `tune` takes."""
        return document.space

    def work(self, order: WorkOrder, listener: Listener, stop: StopRequest) -> WorkResult:
        """Search, or go on with the study of this name."""
        with open_session(order.db, listener, stop) as session:
            begun = session.store.queue.is_study(order.name)
            document = TuneDocument.model_validate(order.document)
            options = TuneOptions() if begun else tune_options(document, order.offered, session.store)
        result = tune(TuneRequest(options, order.name, resume=begun, db=order.db), listener, stop)
        return WorkResult(result.interrupted)


def tune_options(document: TuneDocument, offered: Offered, store: Store) -> TuneOptions:
    """Read a document as `tune` reads its options.

    Raises:
        WrongDocumentError: something in it is wrong; it says where.
    """
    libraries = {name: offered.library(name) for name in document.blas}
    for name in document.warm_start:
        _require_study(store, name, "warm_start")
    if document.from_simulation is not None:
        _require_study(store, document.from_simulation, "from_simulation")
    asked = AskedTuning(
        AskedSearch(
            space=offered.space(document.space),
            engine=document.engine,
            objective=document.objective,
            pareto=document.pareto,
            seed=document.seed,
            points=document.points,
            repeats=document.repeats,
            confirm=document.confirm,
            full=document.full,
            memory_fraction=document.memory_fraction,
            overrides=_overrides(document, offered),
            blas_only=tuple(libraries),
            blas_files={name: file for name, file in libraries.items() if file is not None},
            xhpl=offered.program(document.program) if document.program else None,
            from_simulation=document.from_simulation,
            warm_start=tuple(document.warm_start),
        ),
        AskedLimits(document.budget, document.trials, document.run_time),
        AskedMachine(
            offered.cluster(document.cluster) if document.cluster else None,
            document.rpeak_gflops,
            None if document.price_usd is None else f"{document.price_usd:.2f}",
            document.power_w,
            document.parallel,
            document.jobs,
            document.limit,
        ),
    )
    return read_as_document(asked.options)


def _require_study(store: Store, name: str, path: str) -> None:
    if not store.queue.is_study(name):
        raise WrongDocumentError(path, f"there is no study {name}: /api/v1/campaigns lists all")


def _overrides(document: TuneDocument, offered: Offered) -> dict[str, list[str]]:
    """The values of parameters as texts; those that reach MPI must be allowed.

    Raises:
        WrongDocumentError: one is not allowed, or has no value.
    """
    found = {}
    for name, given in document.set.items():
        values = given if isinstance(given, list) else [given]
        if not values:
            raise WrongDocumentError(f"set.{name}", "give a value at least")
        if name.startswith("mpi.") and name.removeprefix("mpi.") not in offered.mpi_parameters:
            raise WrongDocumentError(
                f"set.{name}", "the service does not let documents set this MPI parameter: ask who runs it"
            )
        found[name] = [_text(value) for value in values]
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
