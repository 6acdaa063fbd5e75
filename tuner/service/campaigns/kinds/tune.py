"""A campaign that searches, as `hpltune tune` does."""

from typing import Any, ClassVar

from results.store.store import Store
from search_spaces.load import check_overrides, space_text

from ....commands.campaigns.asked import AskedLimits, AskedMachine, AskedSearch, AskedTuning
from ....commands.campaigns.tune import TuneRequest, tune
from ....commands.session import open_session
from ....engines.registry import check_engine
from ....events import Listener
from ....messages.documents import TuneDocument
from ....options import TuneOptions
from ....settings.dimensions import setting_dimensions
from ....stopping import StopRequest
from ....study.objective import check_inputs
from ..expected import Expected, SpaceSize
from ..expected_tuning import expected_of, size_of
from ..host_survey import HostSurvey
from ..offered import Offered
from ..wrong import WrongDocumentError, read_as_document
from .base import CampaignKind, WorkOrder, WorkResult, node_set


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
        read_as_document(lambda: check_overrides(options.overrides or {}, setting_dimensions()))
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
        """Search, or go on with the study of this name.

        Raises:
            TunerError, HplError, RunnerError, ResultsError, OSError: what ended it before its end.
        """
        with open_session(order.db, listener, stop) as session:
            begun = session.store.queue.is_study(order.name)
            document = TuneDocument.model_validate(order.document)
            options = TuneOptions() if begun else tune_options(document, order.offered, session.store)
        result = tune(TuneRequest(options, order.name, resume=begun, db=order.db), listener, stop)
        if result.failure is not None:  # what it found until then is stored
            raise result.failure
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
            reference=document.reference,
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
