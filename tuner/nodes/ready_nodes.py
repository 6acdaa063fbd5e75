"""`tune --nodes-check`: nodes are asked and measured before a study begins, and bad ones refused or left out."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter

from results.errors import DamagedError
from results.node_check import Finding, Severity
from results.store.node_checks import KeptCheck, NodeCheckState
from results.store.store import Store
from runners.batch.base import BatchSystem
from runners.hosts.cluster import Cluster, stored_cluster
from search_spaces.machine import Machine, MachineNode
from search_spaces.node_order import NODE_PARAMETERS, worth_dropping
from search_spaces.parameters.automatic import AUTO

from ..asks.nodes import NodesAsk
from ..errors import NotReadyError
from ..events import Listener, Notice
from ..machine.real_cluster import REFUSE
from ..options import TuneOptions
from ..stopping import StopRequest
from ..words import counted, listed
from .check import check_target
from .figures import moment
from .reaching import reached_cluster
from .statistics.verdict import ReadinessVerdict

LOOKED_AT = 5
"""Checks that are read, the newest first, until one is found that measured something."""
MOST_SAID = 3
"""Findings, and differences between nodes, that are told one by one."""


def known_slow(options: TuneOptions, store: Store) -> Iterator[Notice]:
    """Yield what is known of nodes that the last kept check of the study's cluster found slow or wrong, and advice.

    A study that checks its nodes, or chooses already how many of them it drops, gets none.
    """
    if options.real_cluster is None or options.nodes_check or "nodes_dropped" in (options.overrides or {}):
        return
    cluster = stored_cluster(options.real_cluster)
    number, kept = _last_measured(store, cluster.name)
    if kept is None:
        return
    used = _used(cluster, kept.check.nodes)
    found = [finding for finding in kept.findings if _matters(finding, used)]
    if not found:
        return
    for finding in found[:MOST_SAID]:
        at = moment(kept.check.checked_at)
        yield Notice(f"check {number} of {at} UTC found: {finding.sentence}.", caution=True)
    if len(found) > MOST_SAID:
        more = counted(len(found) - MOST_SAID, "more finding")
        yield Notice(f"{more}: `hpltune nodes show {number}` tells all.")
    yield Notice(f"All ranks wait for the slowest node. {_advice(cluster, options.parallel)}")


def _last_measured(store: Store, cluster: str) -> tuple[int, KeptCheck | None]:
    """Return the newest check of a real cluster that came to its end and measured its nodes, with its number."""
    for line in store.node_checks.lines(cluster, LOOKED_AT):
        if line.virtual or line.state is not NodeCheckState.COMPLETE:
            continue
        with suppress(DamagedError):
            kept = store.node_checks.read(line.number)
            if kept.check.runs or kept.check.pairs:
                return line.number, kept
    return 0, None


def _used(cluster: Cluster, checked: Sequence[str]) -> set[str]:
    """Return the nodes of a check that a study may use."""
    if cluster.batch is None:
        return set(cluster.hosts).intersection(checked)
    return set(checked).difference(cluster.batch.excluded)


def _matters(finding: Finding, used: set[str]) -> bool:
    """Whether something is wrong with a node that is used; one that was silent is asked again anyway."""
    serious = finding.severity in {Severity.OUT, Severity.SLOW} and finding.what != "silent"
    return serious and not used.isdisjoint(finding.names)


def _advice(cluster: Cluster, parallel: int) -> str:
    """Say what can be done about nodes."""
    again = "`⟦nodes_check⟧ drop` measures them again"
    if cluster.batch:
        return f"{again}, and asks {cluster.batch.words.title} for other nodes than slow ones."
    if parallel > 1:
        return f"{again}; without ⟦parallel⟧ the search can leave slow ones out."
    if all(host in cluster.speeds for host in cluster.hosts):
        return f"`⟦set⟧ nodes_dropped=auto` lets the search leave slow ones out; {again} before."
    return f"{again}, and lets the search leave slow ones out."


SHORT = NodesAsk(repeats=2, benchmarks=("dgemm",))
"""HPL spends nearly all of its time in dgemm; the best of two runs tells which node is slow in seconds."""
SPEED = "dgemm-all"
"""The benchmark that tells how fast a node is in HPL: all of its cores at once."""


def with_ready_nodes(options: TuneOptions, listener: Listener, stop: StopRequest) -> TuneOptions:
    """Check the nodes of a study's cluster, and return its options without bad ones and with the speeds of the others.

    Raises:
        NotReadyError: nodes are bad and are to be refused, or none is left.
        TunerError, HplError, RunnerError: a sentence says what prevents the check.
    """
    cluster = stored_cluster(options.real_cluster or {})
    with reached_cluster(cluster, listener, stop) as target:
        verdict = check_target(target, SHORT, listener, stop).verdict
    found = CheckedNodes(cluster, verdict, frozenset(target.silent))
    for notice in found.cautions():
        listener(notice)
    if options.nodes_check == REFUSE:
        found.refuse_bad()
        return options if cluster.batch else replace(options, node_speeds=found.speeds)
    for finding in found.findings(Severity.OUT):
        listener(Notice(f"Left out: {finding.sentence}."))
    if not found.left:
        raise NotReadyError(f"none of the nodes of {cluster.name} is ready: `hpltune nodes check` tells more")
    if cluster.batch:
        left_out, sentences = found.others_of_batch(cluster.batch, cluster.taken(options.parallel))
        for sentence in sentences:
            listener(Notice(sentence))
        return replace(options, nodes_left_out=left_out)
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
    """What a check found out about the nodes of a cluster.

    Attributes:
        away: nodes that a batch system gives to no job at present, as its administrators want it.
    """

    cluster: Cluster
    verdict: ReadinessVerdict
    away: frozenset[str] = frozenset()

    @property
    def left(self) -> tuple[str, ...]:
        """The nodes that may be used."""
        return tuple(node for node in self.verdict.check.nodes if node not in self.verdict.out)

    @property
    def speeds(self) -> dict[str, float] | None:
        """GFLOPS of each node that may be used; None if that of one is not known."""
        measured = self.verdict.results.get(SPEED, {})
        found = {host: round(measured[host], 2) for host in self.left if host in measured}
        return found if found and len(found) == len(self.left) else None

    def findings(self, *severities: Severity) -> list[Finding]:
        """What was found that is so serious, in nodes that a study may get."""
        return [
            finding
            for finding in self.verdict.findings
            if finding.severity in severities and not self.away.issuperset(finding.names)
        ]

    @property
    def costly(self) -> dict[str, float]:
        """The nodes without which the others alone should be faster, the slowest first, with their GFLOPS.

        None whose runs were all disturbed: a caution tells of it.
        """
        disturbed = self.verdict.check.always_disturbed().get(SPEED, {})
        nodes = tuple(MachineNode(host, 1, speed) for host, speed in (self.speeds or {}).items())
        machine = Machine(len(nodes), 0, {}, nodes=len(nodes), node_list=nodes)
        kept = machine.kept(max(worth_dropping(machine)))
        dropped = {node.name: node.known_speed for number, node in enumerate(nodes) if number not in kept}
        return dict(
            sorted(((name, speed) for name, speed in dropped.items() if name not in disturbed), key=itemgetter(1))
        )

    def slow_sentences(self) -> list[str]:
        """A sentence for each node that is slower than others, or that costs more than it gives."""
        found = self.findings(Severity.SLOW)
        named = {name for finding in found for name in finding.names}
        fastest = f"the fastest node {max((self.speeds or {}).values(), default=0.0):.4g}"
        return [
            *(finding.sentence for finding in found),
            *(
                f"{name} has {speed:.4g} GFLOPS in DGEMM, {fastest}: as all wait for the slowest, the others alone "
                "should be faster"
                for name, speed in self.costly.items()
                if name not in named
            ),
        ]

    def others_of_batch(self, batch: BatchSystem, wanted: int) -> tuple[tuple[str, ...], list[str]]:
        """Choose the nodes that are not to be given: those that are out, and slow ones if others are there.

        Args:
            wanted: nodes that all trials at a time take.

        Returns:
            The nodes, and sentences on slow ones.

        Raises:
            NotReadyError: too few nodes are left, or the cluster file names one that is out.
        """
        title = batch.words.title
        out = tuple(node for node in self.verdict.out if node not in self.away)
        if out and batch.nodes_named_by:
            raise NotReadyError(
                f"{batch.nodes_named_by} of the cluster file names {listed(out)}, which must not be used: take it out"
            )
        if len(self.left) < batch.nodes:
            ready = counted(len(self.left), "node")
            raise NotReadyError(f"a trial takes {counted(batch.nodes, 'node')}, and {ready} of {title} can be used")
        speeds = self.verdict.results.get(SPEED, {})
        slow = sorted({*self.verdict.slow, *self.costly}, key=lambda node: speeds.get(node, 0.0))
        spare = 0 if batch.nodes_named_by else max(0, len(self.left) - wanted)
        sentences = [f"Slow: {sentence}." for sentence in self.slow_sentences()]
        if slow[:spare]:
            sentences.append(f"{title} is asked for other nodes than {listed(slow[:spare])}.")
        if slow[spare:]:
            sentences.append(f"{title} may give {listed(slow[spare:])}, because too few other nodes are there.")
        return (*out, *slow[:spare]), sentences

    def cautions(self) -> Iterator[Notice]:
        """What else people should know."""
        odd = self.findings(Severity.ODD)
        for finding in odd[:MOST_SAID]:
            yield Notice(f"{finding.sentence}.", caution=True)
        if len(odd) > MOST_SAID:
            more = counted(len(odd) - MOST_SAID, "more difference")
            yield Notice(f"{more} between nodes: `hpltune nodes check` tells all.")
        if not self.speeds:
            yield Notice("the speed of the nodes could not be measured: no BLAS, or no answer.", caution=True)
        yield from map(Notice, self.verdict.cannot)

    def refuse_bad(self) -> None:
        """Refuse nodes that are silent, compute wrongly, or slow the others.

        Raises:
            NotReadyError: there are such nodes; it names them.
        """
        bad = [*(finding.sentence for finding in self.findings(Severity.OUT)), *self.slow_sentences()]
        if bad:
            slow = (
                f"asks {self.cluster.batch.words.title} for others than slow ones"
                if self.cluster.batch
                else "lets the search decide about slow ones"
            )
            on = f"`⟦nodes_check⟧ drop` goes on without nodes that are out, and {slow}"
            raise NotReadyError(f"the nodes of {self.cluster.name} are not ready: {'; '.join(bad)}; {on}")
