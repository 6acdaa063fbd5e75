"""What every kind of campaign has: a document that people hand in, and a way to work on it."""

import platform
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from results.report.model import Report
from results.store.store import Store
from runners.hosts.cluster import Cluster
from runners.toml_file import ClusterFileError

from ....commands.stored.best import best_of_study
from ....events import Listener
from ....machine.real_cluster import read_cluster
from ....messages.documents import Document
from ....stopping import StopRequest
from ..expected import CampaignEstimate, SpaceSize
from ..host_survey import HostSurvey
from ..offered import Offers
from ..wrong import WrongDocumentError

SHOWN = 5
"""Configurations that are told at the end of a search."""


@dataclass(frozen=True)
class WorkOrder:
    """What a process works on.

    Attributes:
        name: of the campaign, and of the study that it makes.
        document: what was handed in, checked.
        db: the database as the service was given it; None for the user's own.
        offered: what the service lets documents choose from.
    """

    name: str
    document: Document
    db: str | None
    offered: Offers


@dataclass(frozen=True)
class WorkResult:
    """How a process left a campaign.

    Attributes:
        interrupted: it was stopped before its end, and can go on.
        reason: what came of it, in a sentence; "" where its study tells all.
        slower: the machine is slower than the baseline of a check.
    """

    interrupted: bool = False
    reason: str = ""
    slower: bool = False


class CampaignKind(ABC):
    """A kind of campaign."""

    name: ClassVar[str]

    @abstractmethod
    def check(self, document: Document, offered: Offers, store: Store) -> tuple[str, ...]:
        """Check a document as far as can be done before its turn, and return the machines that it works on.

        Raises:
            WrongDocumentError: something in it is wrong; it says where.
        """

    def expected(self, document: Document, offered: Offers, store: Store) -> CampaignEstimate:  # noqa: ARG002 - others read them
        """What a campaign may take; its document was checked."""
        return CampaignEstimate("")

    def size(self, document: Document, offered: Offers, store: Store, survey: HostSurvey) -> SpaceSize:  # noqa: ARG002
        """How many combinations it chooses from.

        Raises:
            WrongDocumentError: there is none.
        """
        return SpaceSize()

    @abstractmethod
    def base_name(self, document: Document) -> str:
        """What a campaign without a name is named after."""

    def report(self, document: Document, name: str, store: Store, offered: Offers) -> Report:  # noqa: ARG002 - others read them
        """What its command tells at the end of a campaign of this name.

        Raises:
            TunerError, ResultsError: there is nothing to tell.
        """
        return best_of_study(store, name, SHOWN).report()

    @abstractmethod
    def work(self, order: WorkOrder, listener: Listener, stop: StopRequest) -> WorkResult:
        """Work on a campaign, or go on with one that was left.

        Raises:
            TunerError, HplError, ResultsError, RunnerError, SpaceError: a sentence says why it failed.
        """


def node_set(cluster: str | None, offered: Offers) -> tuple[str, ...]:
    """The machines that a campaign works on; a simulation takes the cores of this one.

    Raises:
        WrongDocumentError: the cluster cannot be used.
    """
    if cluster is None:
        return (platform.node(),)
    try:
        real = read_cluster(offered.cluster(cluster))
    except ClusterFileError as error:
        said = f"the file of cluster {cluster} cannot be used: ask who runs the service"
        raise WrongDocumentError("cluster", said) from error
    return (platform.node(),) if real is None else nodes_of(real.cluster)


def nodes_of(cluster: Cluster) -> tuple[str, ...]:
    """The nodes of a real cluster; where a batch system chooses them, one name stands for them."""
    if cluster.batch is None:
        return cluster.hosts
    return (f"{cluster.batch.name}:{cluster.batch.asked_queue or cluster.name}",)
