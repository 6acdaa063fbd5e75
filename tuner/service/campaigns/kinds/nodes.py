"""A campaign that checks nodes, as `hpltune nodes check` does."""

import platform
from pathlib import Path
from typing import ClassVar

from results.errors import ResultsError
from results.store.store import Store

from ....commands.nodes.check import NodesCheckRequest, check_nodes, cluster_name
from ....commands.nodes.choosing import chosen_baseline
from ....commands.nodes.keeping import KeepRequest, keep_check
from ....commands.nodes.steps import GROUPS, STEPS
from ....commands.session import open_session
from ....events import Listener
from ....messages.documents import NodesDocument
from ....stopping import StopRequest
from ..offered import Offered
from ..wrong import WrongDocumentError, read_as_document
from .base import CampaignKind, WorkOrder, WorkResult, node_set


class NodesKind(CampaignKind):
    """Checks of nodes."""

    name: ClassVar = "nodes"
    document: ClassVar = NodesDocument

    def check(self, document: NodesDocument, offered: Offered, store: Store) -> tuple[str, ...]:
        """Check a document as the contract says."""
        nodes = node_set(document.cluster, offered)
        cluster = cluster_name(_file(document, offered))
        for name in document.benchmarks:
            if name not in STEPS or name == GROUPS:
                offered_names = ", ".join(known for known in STEPS if known != GROUPS)
                raise WrongDocumentError("benchmarks", f"{name} is none: choose of {offered_names}")
        if document.baseline is not None:
            baseline = document.baseline
            try:
                read_as_document(lambda: chosen_baseline(store, baseline, cluster))
            except ResultsError as error:
                raise WrongDocumentError("baseline", str(error)) from error
        return nodes

    def base_name(self, document: NodesDocument) -> str:
        """The cluster's name behind the word nodes."""
        return f"nodes-{document.cluster or platform.node()}"

    def work(self, order: WorkOrder, listener: Listener, stop: StopRequest) -> WorkResult:
        """Check the nodes; a check that was stopped begins anew."""
        document = NodesDocument.model_validate(order.document)
        file = _file(document, order.offered)
        request = NodesCheckRequest(file, document.repeats, benchmarks=tuple(document.benchmarks))
        kept = KeepRequest(cluster_name(file), baseline=document.baseline, campaign=order.name)
        with open_session(order.db, listener, stop) as session:
            done = keep_check(lambda told: check_nodes(request, told, stop), kept, session.store, listener)
        return WorkResult(done.result.interrupted, done.sentence.removesuffix("."), slower=done.worse)


def _file(document: NodesDocument, offered: Offered) -> Path | None:
    """The file of its cluster; None for this machine.

    Raises:
        WrongDocumentError: the cluster is virtual, or there is none of this name.
    """
    if document.cluster is None:
        return None
    offered.cluster(document.cluster)
    file = offered.clusters.get(document.cluster)
    if file is None:
        raise WrongDocumentError("cluster", f"{document.cluster} is a virtual cluster, which has no nodes to check")
    return file
