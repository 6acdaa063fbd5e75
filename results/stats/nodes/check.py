"""What a check of the nodes of a cluster found: facts, results of benchmarks, and rates between pairs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .group_run import GroupRun
from .pair_rate import PairRate


@dataclass(frozen=True)
class NodeBenchmark:
    """A benchmark that runs on each node by itself.

    Attributes:
        name: "stream-triad-1", "dgemm", "hpl", …
        title: in words.
        part: of the machine that it loads: "memory", "processor" or "all".
    """

    name: str
    title: str
    unit: str
    part: str
    higher_is_better: bool = True


BENCHMARKS: Mapping[str, NodeBenchmark] = {
    one.name: one
    for one in (
        *(
            NodeBenchmark(f"stream-{kernel}-{cores}", f"STREAM {kernel}, {words}", "MB/s", "memory")
            for cores, words in (("1", "one core"), ("all", "all cores"))
            for kernel in ("copy", "scale", "add", "triad")
        ),
        NodeBenchmark("dgemm-1", "DGEMM, one core", "GFLOPS", "processor"),
        NodeBenchmark("dgemm-all", "DGEMM, all cores", "GFLOPS", "processor"),
        NodeBenchmark("fft-1", "FFT, one core", "GFLOPS", "memory"),
        NodeBenchmark("random-access-1", "RandomAccess, one core", "GUP/s", "memory"),
        NodeBenchmark("hpl", "HPL on the node", "GFLOPS", "all"),
    )
}
"""In the order of growing complexity: what comes first explains what comes later."""


@dataclass(frozen=True)
class NodeRun:
    """One run of a benchmark on one node.

    Attributes:
        value: in the unit of the benchmark; None where the run gave none.
        accurate: its result was checked, and is right.
        reason: why it does not count; "" if it does.
    """

    benchmark: str
    node: str
    value: float | None
    accurate: bool = True
    reason: str = ""

    @property
    def counts(self) -> bool:
        """Return whether the run gave a right result."""
        return self.value is not None and self.accurate


@dataclass(frozen=True)
class SoakSample:
    """A node at one moment while HPL ran there again and again; None where it has no such sensor.

    Attributes:
        at_s: seconds since the first run began on this node.
        gflops: of the run that ended then; None between the ends of runs.
        mhz: mean clock of its CPUs.
        celsius: of the hottest sensor of its processors.
        throttled: times that heat slowed a core down since the node started.
        load: mean number of processes that want to run, over a minute.
    """

    node: str
    at_s: float
    gflops: float | None = None
    mhz: float | None = None
    celsius: float | None = None
    throttled: float | None = None
    load: float | None = None


@dataclass(frozen=True)
class NodeCheck:
    """All that a check found out.

    Attributes:
        nodes: in the order of the cluster's file; those that did not answer are in `silent`.
        silent: why a node did not answer, or was lost in the middle.
        classes: the class of each node: nodes of one class should be alike.
        facts: the value of each fact by node.
        runs: all runs of all benchmarks.
        pairs: rates between two nodes, one pair at a time; `pairs_at_once` while all pairs of a pattern send.
        switches: the switch of each node, where the cluster's file tells.
        groups: runs of HPL on groups of nodes.
        soak: of a burn-in: rates, clocks and temperatures over time, node by node.
    """

    cluster: str
    checked_at: datetime
    nodes: tuple[str, ...]
    silent: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    runs: tuple[NodeRun, ...] = ()
    pairs: tuple[PairRate, ...] = ()
    pairs_at_once: tuple[PairRate, ...] = ()
    switches: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[GroupRun, ...] = ()
    soak: tuple[SoakSample, ...] = ()

    def results(self) -> dict[str, dict[str, float]]:
        """Return for each benchmark that ran the best result of each node that counts, simple benchmarks first.

        The best of several runs is the least disturbed one.
        """
        found: dict[str, dict[str, float]] = {run.benchmark: {} for run in self.runs}
        for run in self.runs:
            if run.counts and run.value is not None:
                better = max if BENCHMARKS[run.benchmark].higher_is_better else min
                own = found[run.benchmark]
                own[run.node] = better(own.get(run.node, run.value), run.value)
        return {name: found[name] for name in BENCHMARKS if name in found}
