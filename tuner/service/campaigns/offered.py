"""What a service lets people choose from: nothing else of its machine can be reached by a request."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from hpl.blas.registry import CATALOGUE
from results.store.service.campaign_entry import CampaignEntry
from runners.virtual.load import shipped as shipped_clusters
from search_spaces.load import shipped as shipped_spaces
from search_spaces.parameters.dimension import MPI_PARAMETERS

from ..config import ServiceConfig
from .wrong import WrongDocumentError


@dataclass(frozen=True)
class Offers:
    """Names that a document may use beside those that come with hpltune, each with its file.

    Attributes:
        spaces: search spaces.
        clusters: real and virtual clusters.
        programs: programs xhpl.
        libraries: BLAS libraries.
        parameters: those that a document may set beside those of HPL; a space of the service may set any.
        machine: the identity of this machine; "" where nobody asked for it.
        most_of_one: campaigns that may wait for one caller.
        most_budget_s: seconds by the clock that a campaign may ask for.
    """

    spaces: Mapping[str, Path] = field(default_factory=dict)
    clusters: Mapping[str, Path] = field(default_factory=dict)
    programs: Mapping[str, Path] = field(default_factory=dict)
    libraries: Mapping[str, Path] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    machine: str = ""
    most_of_one: int = 200
    most_budget_s: float = 720 * 3600.0

    def starts(self, entry: CampaignEntry) -> bool:
        """Whether this service can start a campaign: it is for this machine, or for a cluster that is offered here.

        A check of a cluster that only its study knows can be started by every service.
        """
        order = entry.order
        if order.document.get("cluster") in self.clusters:
            return True
        if order.machine and self.machine:
            return order.machine == self.machine
        return platform.node() in order.node_set or order.kind == "check"

    @property
    def space_names(self) -> list[str]:
        """Names of all spaces."""
        return sorted({*self.spaces, *shipped_spaces()})

    @property
    def cluster_names(self) -> list[str]:
        """Names of all clusters, real and virtual."""
        return sorted({*self.clusters, *shipped_clusters()})

    @property
    def library_names(self) -> list[str]:
        """Names of all BLAS libraries."""
        return sorted({*self.libraries, *CATALOGUE})

    def space(self, name: str) -> str:
        """The file of a space, or its shipped name.

        Raises:
            WrongDocumentError: there is none of this name.
        """
        return str(self.spaces.get(name) or _known(name, self.space_names, "space", "space"))

    def cluster(self, name: str) -> str:
        """The file of a cluster, or its shipped name.

        Raises:
            WrongDocumentError: there is none of this name.
        """
        return str(self.clusters.get(name) or _known(name, self.cluster_names, "cluster", "cluster"))

    def program(self, name: str, image: str) -> Path:  # noqa: ARG002 - the service knows the whole path
        """The file of a program.

        Raises:
            WrongDocumentError: there is none of this name.
        """
        return self.programs[_known(name, sorted(self.programs), "program", "program")]

    def library(self, name: str) -> Path | None:
        """The file of a BLAS library; None for one of the catalogue.

        Raises:
            WrongDocumentError: there is none of this name.
        """
        return self.libraries.get(_known(name, self.library_names, "BLAS library", "blas"))


def offered_by(config: ServiceConfig, machine: str = "") -> Offers:
    """What the configuration of a service offers, on the machine with this identity."""
    table = config.offers
    return Offers(
        table.spaces,
        table.clusters,
        table.programs,
        table.libraries,
        frozenset((*table.parameters, *(f"{MPI_PARAMETERS}{name}" for name in table.mpi_parameters))),
        machine,
        config.limits.waiting_of_one,
        config.limits.most_budget * 3600.0,
    )


def _known(name: str, names: list[str], what: str, path: str) -> str:
    if name in names:
        return name
    near = get_close_matches(name, names, n=1)
    few = f"choose one of {', '.join(names)}" if names else "the service offers none"
    hint = f"did you mean {near[0]}?" if near else few
    raise WrongDocumentError(path, f"there is no {what} {name[:80]!r} here: {hint}")
