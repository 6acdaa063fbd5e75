"""A campaign that checks nodes, as `hpltune nodes check` does."""

import platform
from pathlib import Path
from typing import ClassVar

from results.errors import ResultsError
from results.report.model import Report
from results.store.store import Store

from ....asks.nodes import NodesAsk
from ....commands.session import open_session
from ....errors import TunerError
from ....events import Listener
from ....messages.documents import Document
from ....nodes.check import check_nodes, cluster_name
from ....nodes.keeping import KeepRequest, chosen_baseline, keep_check, show_check
from ....nodes.steps.registry import GROUPS, STEPS
from ....stopping import StopRequest
from ..offered import Offers
from ..wrong import WrongDocumentError, read_as_document
from .base import CampaignKind, WorkOrder, WorkResult, node_set


class NodesKind(CampaignKind):
    """Checks of nodes."""

    name: ClassVar = "nodes"

    def check(self, document: Document, offered: Offers, store: Store) -> tuple[str, ...]:
        """Check a document as the contract says."""
        ask: NodesAsk = document.ask
        nodes = node_set(ask.cluster, offered)
        cluster = cluster_name(_file(ask, offered))
        for name in ask.benchmarks:
            if name not in STEPS or name == GROUPS:
                offered_names = ", ".join(known for known in STEPS if known != GROUPS)
                raise WrongDocumentError("benchmarks", f"{name} is none: choose of {offered_names}")
        if ask.blas is not None:
            offered.library(ask.blas)
        if ask.baseline is not None:
            baseline = ask.baseline
            try:
                read_as_document(lambda: chosen_baseline(store, baseline, cluster))
            except ResultsError as error:
                raise WrongDocumentError("baseline", str(error)) from error
        return nodes

    def base_name(self, document: Document) -> str:
        """The cluster's name behind the word nodes."""
        return f"nodes-{document.ask.cluster or platform.node()}"

    def report(self, document: Document, name: str, store: Store, offered: Offers) -> Report:  # noqa: ARG002 - the contract's
        """The check that it kept, as `nodes show` prints it."""
        kept = store.node_checks.lines(campaign=name, count=1)
        if not kept:
            raise TunerError(f"campaign {name} keeps no check")
        return show_check(store, str(kept[0].number)).report()

    def work(self, order: WorkOrder, listener: Listener, stop: StopRequest) -> WorkResult:
        """Check the nodes; a check that was stopped begins anew."""
        ask: NodesAsk = order.document.ask
        file = _file(ask, order.offered)
        kept = KeepRequest(cluster_name(file), baseline=ask.baseline, campaign=order.name)
        with open_session(order.db, listener, stop) as session:
            done = keep_check(lambda told: check_nodes(ask, file, told, stop), kept, session.store, listener)
        return WorkResult(done.result.interrupted, done.sentence.removesuffix("."), slower=done.worse)


def _file(ask: NodesAsk, offered: Offers) -> Path | None:
    """The file of its cluster; None for this machine.

    Raises:
        WrongDocumentError: the cluster is virtual, or there is none of this name.
    """
    if ask.cluster is None:
        return None
    offered.cluster(ask.cluster)
    file = offered.clusters.get(ask.cluster)
    if file is None:
        raise WrongDocumentError("cluster", f"{ask.cluster} is a virtual cluster, which has no nodes to check")
    return file
