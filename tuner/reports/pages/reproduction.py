"""The page of `hpltune reproduce`: published tests beside simulated ones, and what was simulated."""

from collections.abc import Sequence
from dataclasses import dataclass

from results.report.model import Copied, Heading, Part
from runners.virtual.cluster import VirtualCluster

from ...simulation.reproduction import ComparedTest, Published
from ..reproduction import article_facts, best_parts, test_parts
from .virtual_cluster import cluster_sentence, cluster_table


@dataclass(frozen=True)
class ReproductionPage:
    """What the page is made of.

    Attributes:
        search: what the searches found; empty where there was none.
    """

    cluster: VirtualCluster
    published: Published
    tests: Sequence[ComparedTest]
    search: Sequence[Part] = ()

    def parts(self, simulator: str | None, command: str) -> tuple[Part, ...]:
        """The page in the order in which it is read.

        Args:
            simulator: its name and version.
            command: it does the same again.
        """
        search = [Heading("What the same hardware could have done"), *self.search] if self.search else []
        return (
            cluster_sentence(self.cluster, simulator, rates="every rate that is not called published"),
            Heading("Published beside simulated"),
            *test_parts(self.published, self.tests),
            *best_parts(self.cluster, self.published, self.tests),
            *search,
            Heading("The article also says"),
            *article_facts(self.published),
            Heading("What was simulated"),
            cluster_table(self.cluster),
            Heading("Run it again"),
            Copied(command),
        )
