"""A campaign that tunes designs of clusters in simulation, as `hpltune predict` does."""

import platform
from typing import ClassVar

from results.report.model import Report
from results.store.store import Store
from search_spaces.load import space_text

from ....asks.predict import PredictAsk
from ....commands.predict import PredictRequest, asked_designs, predict, predicted
from ....engines.registry import check_engine
from ....events import Listener
from ....machine.real_cluster import read_cluster
from ....messages.documents import Document, document_of
from ....simulation.design import Design
from ....stopping import StopRequest
from ....words import counted
from ..expected import CampaignEstimate
from ..offered import Offers
from ..wrong import WrongDocumentError, read_as_document
from .base import CampaignKind, WorkOrder, WorkResult, node_set


class PredictKind(CampaignKind):
    """Predictions of designs."""

    name: ClassVar = "predict"

    def check(self, document: Document, offered: Offers, store: Store) -> tuple[str, ...]:  # noqa: ARG002 - the contract's
        """Check a document as the contract says."""
        ask: PredictAsk = document.ask
        _designs(ask, offered)
        read_as_document(lambda: check_engine(ask.engine))
        read_as_document(lambda: space_text(offered.space(ask.space)))
        read_as_document(lambda: PredictRequest(ask, ()).limit_s)
        return (platform.node(),)

    def expected(self, document: Document, offered: Offers, store: Store) -> CampaignEstimate:  # noqa: ARG002 - the contract's
        """Its simulations."""
        ask: PredictAsk = document.ask
        designs = len(_designs(ask, offered))
        return CampaignEstimate(f"{counted(ask.trials, 'trial')} for {counted(designs, 'design')}", simulated=True)

    def base_name(self, document: Document) -> str:  # noqa: ARG002 - the contract's
        """The word predict."""
        return self.name

    def report(self, document: Document, name: str, store: Store, offered: Offers) -> Report:
        """The designs that are predicted, side by side."""
        return predicted(store, _request(document.ask, offered, name)).report()

    def work(self, order: WorkOrder, listener: Listener, stop: StopRequest) -> WorkResult:
        """Predict; designs that were predicted before stay so, and the study of one goes on."""
        ask: PredictAsk = document_of(self.name).model_validate(order.document).ask
        request = _request(ask, order.offered, order.name)
        result = predict(request, listener, stop, order.db)
        if result.failure is not None:
            raise result.failure
        return WorkResult(result.interrupted)


def _request(ask: PredictAsk, offered: Offers, name: str) -> PredictRequest:
    return PredictRequest(ask, _designs(ask, offered), offered.space(ask.space), name)


def _designs(ask: PredictAsk, offered: Offers) -> tuple[Design, ...]:
    """The designs of a document, each a variant of a virtual cluster that the service offers.

    Raises:
        WrongDocumentError: there are none, or one is no possible cluster.
    """
    try:
        return read_as_document(lambda: asked_designs(ask, lambda name: _cluster(name, offered)))
    except WrongDocumentError as error:
        raise WrongDocumentError("designs", error.sentence) from error


def _cluster(name: str, offered: Offers) -> str:
    """The file of a virtual cluster, or its shipped name.

    Raises:
        WrongDocumentError: there is none of this name.
    """
    node_set(name, offered)
    if read_cluster(offered.cluster(name)) is not None:
        raise WrongDocumentError("designs", f"{name} is a real cluster: designs are variants of virtual ones")
    return offered.cluster(name)
