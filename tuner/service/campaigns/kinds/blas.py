"""A campaign that compares BLAS libraries, as `hpltune blas` does."""

from typing import ClassVar

from results.report.model import Report
from results.store.store import Store

from ....commands.campaigns.blas import blas, check_options
from ....commands.campaigns.reading import blas_options
from ....commands.session import open_session
from ....events import Listener
from ....messages.documents import Document
from ....options import TuneOptions
from ....reports.library_ranking import LibraryRanking
from ....stopping import StopRequest
from ..expected import CampaignEstimate
from ..expected_tuning import expected_of
from ..offered import Offers
from ..offered_things import check_files, offered_options
from ..wrong import read_as_document
from .base import CampaignKind, WorkOrder, WorkResult, node_set


class BlasKind(CampaignKind):
    """Comparisons of BLAS libraries."""

    name: ClassVar = "blas"

    def check(self, document: Document, offered: Offers, store: Store) -> tuple[str, ...]:  # noqa: ARG002 - the contract's
        """Check a document as the contract says."""
        nodes, options = node_set(document.ask.cluster, offered), offered_options(document.ask, offered, blas_options)
        read_as_document(lambda: check_options(options))
        return nodes

    def expected(self, document: Document, offered: Offers, store: Store) -> CampaignEstimate:  # noqa: ARG002 - the contract's
        """Its budget, and what that costs."""
        return expected_of(offered_options(document.ask, offered, blas_options))

    def base_name(self, document: Document) -> str:
        """The name of the space, as `blas` takes."""
        return str(document.ask.space)

    def report(self, document: Document, name: str, store: Store, offered: Offers) -> Report:  # noqa: ARG002 - the contract's
        """The ranking of the libraries."""
        ranking = LibraryRanking.stored(store, store.study(name))
        return Report(ranking.title, tuple(ranking.parts()), ranking.to_json())

    def work(self, order: WorkOrder, listener: Listener, stop: StopRequest) -> WorkResult:
        """Compare, or go on with the study of this name."""
        with open_session(order.db, listener, stop) as session:
            begun = session.store.queue.is_study(order.name)
            options = offered_options(order.document.ask, order.offered, blas_options)
            if begun:
                check_files(options, session.store.study(order.name))
                options = TuneOptions()
        return WorkResult(bool(blas(options, listener, stop, order.name, order.db, resume=begun).on))
