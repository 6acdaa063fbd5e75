"""Tells at the start of `tune` which nodes an earlier check of the same cluster found slow or wrong."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from results.errors import DamagedError
from results.stats.nodes.finding import Finding, Severity
from results.store.kept_check import KeptCheck, NodeCheckState
from results.store.store import Store
from runners.hosts.cluster import Cluster, stored_cluster

from ...options import TuneOptions
from ...reports.nodes.kept_list import moment
from ...words import counted

LOOKED_AT = 5
"""Checks that are read, the newest first, until one is found that measured something."""
MOST_SAID = 3
"""Findings that are told one by one."""


def known_slow(options: TuneOptions, store: Store) -> Iterator[str]:
    """Yield sentences on nodes that the last kept check of the study's cluster found slow or wrong, and advice.

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
        yield f"Caution: check {number} of {moment(kept.check.checked_at)} UTC found: {finding.sentence}."
    if len(found) > MOST_SAID:
        more = counted(len(found) - MOST_SAID, "more finding")
        yield f"{more}: `hpltune nodes show {number}` tells all."
    yield f"All ranks wait for the slowest node. {_advice(cluster, options.parallel)}"


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
    again = "`«nodes_check» drop` measures them again"
    if cluster.batch:
        return f"{again}, and asks {cluster.batch.words.title} for other nodes than slow ones."
    if parallel > 1:
        return f"{again}; without «parallel» the search can leave slow ones out."
    if all(host in cluster.speeds for host in cluster.hosts):
        return f"`«set» nodes_dropped=auto` lets the search leave slow ones out; {again} before."
    return f"{again}, and lets the search leave slow ones out."
