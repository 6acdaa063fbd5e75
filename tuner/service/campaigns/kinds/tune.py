"""A campaign that searches, as `hpltune tune` does."""

from typing import ClassVar

from results.store.store import Store
from search_spaces.load import check_overrides

from ....asks.tune import TuneAsk
from ....commands.campaigns.reading import tune_options
from ....commands.campaigns.tune import TuneRequest, facts_that_count, tune
from ....commands.session import open_session
from ....engines.registry import check_engine
from ....events import Listener
from ....messages.documents import Document
from ....options import TuneOptions
from ....settings.dimensions import setting_dimensions
from ....stopping import StopRequest
from ....study.objective import check_inputs
from ..expected import CampaignEstimate, SpaceSize
from ..expected_tuning import expected_of, size_of
from ..host_survey import HostSurvey
from ..offered import Offers
from ..offered_things import check_files, offered_options
from ..wrong import WrongDocumentError, read_as_document
from .base import CampaignKind, WorkOrder, WorkResult, node_set


class TuneKind(CampaignKind):
    """Searches."""

    name: ClassVar = "tune"

    def check(self, document: Document, offered: Offers, store: Store) -> tuple[str, ...]:
        """Check a document as the contract says."""
        nodes = node_set(document.ask.cluster, offered)
        options = options_of(document.ask, offered, store)
        simulated = options.cluster is not None
        read_as_document(lambda: check_engine(options.engine, of_two_objectives=options.pareto is not None))
        read_as_document(lambda: check_overrides(options.overrides or {}, setting_dimensions()))
        if not simulated:
            read_as_document(lambda: check_inputs(options.objective, options.pareto, **facts_that_count(options)))
        return nodes

    def expected(self, document: Document, offered: Offers, store: Store) -> CampaignEstimate:
        """Its budget, and what that costs."""
        return expected_of(options_of(document.ask, offered, store))

    def size(self, document: Document, offered: Offers, store: Store, survey: HostSurvey) -> SpaceSize:
        """Count its space as the contract says."""
        return size_of(options_of(document.ask, offered, store), survey)

    def base_name(self, document: Document) -> str:
        """The name of the space, as `tune` takes."""
        return str(document.ask.space)

    def work(self, order: WorkOrder, listener: Listener, stop: StopRequest) -> WorkResult:
        """Search, or go on with the study of this name.

        Raises:
            TunerError, HplError, RunnerError, ResultsError, OSError: what ended it before its end.
        """
        with open_session(order.db, listener, stop) as session:
            begun = session.store.queue.is_study(order.name)
            options = options_of(order.document.ask, order.offered, session.store)
            if begun:
                check_files(options, session.store.study(order.name))
                options = TuneOptions()
        result = tune(TuneRequest(options, order.name, resume=begun, db=order.db), listener, stop)
        if result.failure is not None:  # what it found until then is stored
            raise result.failure
        return WorkResult(result.interrupted)


def options_of(ask: TuneAsk, offered: Offers, store: Store) -> TuneOptions:
    """Read what is asked as `tune` reads its options.

    Raises:
        WrongDocumentError: something in it is wrong; it says where.
    """
    for name in ask.warm_start:
        _require_study(store, name, "warm_start")
    if ask.from_simulation is not None:
        _require_study(store, ask.from_simulation, "from_simulation")
    return offered_options(ask, offered, tune_options)


def _require_study(store: Store, name: str, path: str) -> None:
    if not store.queue.is_study(name):
        raise WrongDocumentError(path, f"there is no study {name}: /api/v1/campaigns lists all")
