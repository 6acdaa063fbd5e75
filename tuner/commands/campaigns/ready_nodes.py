"""`tune --nodes-check`: nodes are asked and measured before a study begins, and bad ones refused or left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from results.stats.nodes.finding import Finding, Severity
from results.stats.nodes.verdict import ReadinessVerdict
from runners.hosts.cluster import Cluster, stored_cluster
from search_spaces.machine import Machine, MachineNode
from search_spaces.node_order import NODE_PARAMETERS, worth_dropping
from search_spaces.parameters.automatic import AUTO

from ...errors import NotReadyError
from ...events import Listener, Notice
from ...options import TuneOptions
from ...stopping import StopRequest
from ...words import counted
from ..nodes.check import NodesCheckRequest, check_target
from ..nodes.reaching import target_of
from ..real_cluster import REFUSE

SHORT = NodesCheckRequest(repeats=2, benchmarks=("dgemm",))
"""HPL spends nearly all of its time in dgemm; the best of two runs tells which node is slow in seconds."""
SPEED = "dgemm-all"
"""The benchmark that tells how fast a node is in HPL: all of its cores at once."""
MOST_SAID = 3
"""Differences between nodes that are told one by one."""


def with_ready_nodes(options: TuneOptions, listener: Listener, stop: StopRequest) -> TuneOptions:
    """Check the nodes of a study's cluster, and return its options without bad ones and with the speeds of the others.

    Raises:
        NotReadyError: nodes are bad and are to be refused, or none is left.
        TunerError, HplError, RunnerError: a sentence says what prevents the check.
    """
    cluster = stored_cluster(options.real_cluster or {})
    found = CheckedNodes(cluster, check_target(target_of(cluster), SHORT, listener, stop).verdict)
    for sentence in found.cautions():
        listener(Notice(sentence))
    if options.nodes_check == REFUSE:
        found.refuse_bad()
        return replace(options, node_speeds=found.speeds)
    for finding in found.findings(Severity.OUT):
        listener(Notice(f"Left out: {finding.sentence}."))
    if not found.left:
        raise NotReadyError(f"none of the nodes of {cluster.name} is ready: `hpltune nodes check` tells more")
    searched = options.parallel == 1 and bool(found.speeds)
    then = "the search may leave it out" if searched else "all nodes stay in use"
    for sentence in found.slow_sentences():
        listener(Notice(f"Slow: {sentence}; {then}."))
    more: Mapping[str, Sequence[str]] = dict.fromkeys(sorted(NODE_PARAMETERS), (AUTO,)) if searched else {}
    return replace(
        options,
        node_speeds=found.speeds,
        nodes_left_out=found.verdict.out,
        overrides={**more, **(options.overrides or {})},
    )


@dataclass(frozen=True)
class CheckedNodes:
    """What a check found out about the nodes of a cluster."""

    cluster: Cluster
    verdict: ReadinessVerdict

    @property
    def left(self) -> tuple[str, ...]:
        """The hosts that may be used."""
        return tuple(host for host in self.cluster.hosts if host not in self.verdict.out)

    @property
    def speeds(self) -> dict[str, float] | None:
        """GFLOPS of each host that may be used; None if that of one is not known."""
        measured = self.verdict.results.get(SPEED, {})
        found = {host: round(measured[host], 2) for host in self.left if host in measured}
        return found if found and len(found) == len(self.left) else None

    def findings(self, *severities: Severity) -> list[Finding]:
        """What was found that is so serious."""
        return [finding for finding in self.verdict.findings if finding.severity in severities]

    def slow_sentences(self) -> list[str]:
        """A sentence for each node that is slower than others, or that costs more than it gives."""
        said = [finding.sentence for finding in self.findings(Severity.SLOW)]
        named = {name for finding in self.findings(Severity.SLOW) for name in finding.names}
        speeds = self.speeds or {}
        nodes = tuple(MachineNode(host, 1, speed) for host, speed in speeds.items())
        machine = Machine(len(nodes), 0, {}, nodes=len(nodes), node_list=nodes)
        kept = machine.kept(max(worth_dropping(machine)))
        costly = [node for number, node in enumerate(nodes) if number not in kept and node.name not in named]
        fastest = f"the fastest node {max(speeds.values(), default=0.0):.4g}"
        return [
            *said,
            *(
                f"{node.name} has {node.known_speed:.4g} GFLOPS in DGEMM, {fastest}: as all wait for the slowest, the "
                "others alone should be faster"
                for node in costly
            ),
        ]

    def cautions(self) -> list[str]:
        """What else people should know."""
        odd = [f"Caution: {finding.sentence}." for finding in self.findings(Severity.ODD)]
        more = len(odd) - MOST_SAID
        told = (
            [f"{counted(more, 'more difference')} between nodes: `hpltune nodes check` tells all."] if more > 0 else []
        )
        unknown = (
            [] if self.speeds else ["Caution: the speed of the nodes could not be measured: no BLAS, or no answer."]
        )
        return [*odd[:MOST_SAID], *told, *unknown, *self.verdict.cannot]

    def refuse_bad(self) -> None:
        """Refuse nodes that are silent, compute wrongly, or slow the others.

        Raises:
            NotReadyError: there are such nodes; it names them.
        """
        bad = [*(finding.sentence for finding in self.findings(Severity.OUT)), *self.slow_sentences()]
        if bad:
            on = "`--nodes-check drop` goes on without what is out, and lets the search decide about what is slow"
            raise NotReadyError(f"the nodes of {self.cluster.name} are not ready: {'; '.join(bad)}; {on}")
