"""Which kernels a search may use on nodes with several kinds of CPU."""

from pathlib import Path

from hpl.blas.catalogue import BlasLibrary, Threading
from hpl.blas.probe import Probe
from tuner.machine.kernels import ClusterKernels, CpuKind, KindKernels, busy_sentence_of, common_probes, mixed_sentence

OPENBLAS = BlasLibrary("openblas", "openblas", "1", Path("/lib/openblas.so"), Threading.SERIAL, "", "/lib")
USED = {"auto": "SkylakeX"}


def kind(model: str, node: str, **gflops: float) -> KindKernels:
    probes = [Probe(OPENBLAS, kernel, USED.get(kernel, kernel), rate) for kernel, rate in gflops.items()]
    cpu = CpuKind(model, model, frozenset(), (node,))
    return KindKernels(cpu, {"openblas": tuple(sorted(probes, key=lambda probe: -probe.gflops))} if probes else {}, {})


def common(*kinds: KindKernels) -> list[tuple[str, float]]:
    found = common_probes(kinds).get("openblas", ())
    return [(probe.kernel, probe.gflops) for probe in found]


def test_nodes_of_one_kind_may_use_all_their_kernels() -> None:
    assert common(kind("EPYC", "n1", Zen=60, auto=58, Haswell=40)) == [("Zen", 60), ("auto", 58), ("Haswell", 40)]


def test_a_kernel_that_is_best_on_one_kind_only_leaves_the_choice_to_each_node() -> None:
    kinds = (kind("EPYC", "n1", SkylakeX=81, auto=80, Haswell=50), kind("Xeon", "n2", Haswell=41, auto=40, Zen=30))
    assert common(*kinds) == [("auto", 40)]


def test_a_kernel_that_beats_the_own_choice_on_all_kinds_has_the_rate_of_the_slowest() -> None:
    kinds = (kind("EPYC", "n1", skx=90, auto=35), kind("Xeon", "n2", skx=70, auto=36))
    assert common(*kinds) == [("skx", 70), ("auto", 35)]


def test_a_kind_that_nobody_timed_may_not_be_given_a_kernel() -> None:
    assert common(kind("EPYC", "n1", skx=90, auto=35), kind("Xeon", "n2")) == [("auto", 35)]
    assert common(kind("EPYC", "n1"), kind("Xeon", "n2")) == []


def test_nodes_that_differ_are_told_in_one_sentence() -> None:
    assert mixed_sentence(ClusterKernels((kind("EPYC", "n1", auto=35),))) is None
    said = mixed_sentence(ClusterKernels((kind("EPYC", "n1", auto=35), kind("Xeon", "n2", auto=35))))
    assert said == (
        "The nodes have 2 kinds of CPU (EPYC: n1; Xeon: n2): a library chooses its kernel on each node by itself, "
        "unless one kernel is at least as fast on all of them"
    )


def test_busy_nodes_are_named_in_one_sentence() -> None:
    assert busy_sentence_of(ClusterKernels((kind("EPYC", "n1", auto=35),))) is None
    nodes = ("n1", "n2", "n3")
    busy = [
        CpuKind("EPYC", "EPYC", frozenset(), nodes, frozenset(nodes[first:last])) for first, last in ((1, 2), (0, 3))
    ]
    said = [busy_sentence_of(ClusterKernels((KindKernels(one, {}, {}),))) for one in busy]
    after = "busy (a load of 0.5 a core or more): other programs will cost GFLOPS and repeatability"
    assert said == [f"node n2 is {after}", f"nodes n[1-3] are {after}"]
