"""Makes checks of nodes: plain ones, and any that a store could have to keep."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from record_strategies import any_of, moments, texts

from results.node_check import Finding, GroupRun, NodeCheck, NodeRun, PairRate, Severity
from results.store.node_checks import KeptCheck, NodeCheckState

FIRST_DAY = datetime(2026, 11, 2, 6, 0, tzinfo=UTC)
numbers = st.floats(allow_nan=False, allow_infinity=False)


def a_check(cluster: str = "lab", checked_at: datetime = FIRST_DAY, **changed: Any) -> NodeCheck:
    """Two nodes, one of which is slow."""
    nodes = ("node1", "node2")
    runs = tuple(NodeRun("dgemm-all", node, value) for node, value in zip(nodes, (80.0, 70.0), strict=True))
    pair = PairRate("sorted", "node1", "node2", 1150.0, "eth0", 21.5, 1149.0, 1151.0)
    check = NodeCheck(cluster, checked_at, nodes, facts={"kernel": dict.fromkeys(nodes, "6.8")}, runs=runs)
    return replace(check, pairs=(pair,), pairs_at_once=(replace(pair, latency_us=None),), **changed)


def kept(check: NodeCheck | None = None, *, ready: bool = True, alike: bool = True, **changed: Any) -> KeptCheck:
    """A complete check with one finding where it is not ready."""
    slow = Finding(Severity.SLOW, "slow-node", ("node2",), "dgemm-all", "node2 is slow", 12.5)
    findings = () if ready else (slow,)
    return replace(KeptCheck(check or a_check(), NodeCheckState.COMPLETE, ready, alike, findings), **changed)


runs = any_of(
    NodeRun,
    **dict.fromkeys(("benchmark", "node", "reason"), texts),
    value=st.none() | numbers,
    measurements=st.dictionaries(texts, numbers, max_size=2),
)
pairs = any_of(
    PairRate,
    **dict.fromkeys(("pattern", "one", "other", "network", "problem"), texts),
    **dict.fromkeys(("latency_us", "there", "back"), st.none() | numbers),
    rate=numbers,
)
groups = any_of(
    GroupRun,
    **dict.fromkeys(("order", "reason"), texts),
    nodes=st.lists(texts, max_size=3).map(tuple),
    gflops=st.none() | numbers,
)
checks = any_of(
    NodeCheck,
    cluster=texts,
    checked_at=moments,
    runs=st.lists(runs, max_size=3).map(tuple),
    pairs=st.lists(pairs, max_size=2).map(tuple),
    pairs_at_once=st.lists(pairs, max_size=2).map(tuple),
    groups=st.lists(groups, max_size=2).map(tuple),
)
any_kept = any_of(
    KeptCheck,
    check=checks,
    campaign=st.none() | texts,
    findings=st.lists(any_of(Finding, percent=numbers), max_size=2).map(tuple),
)
