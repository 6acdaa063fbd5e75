"""Kernels timed on real nodes over real ssh (two namespaces of this machine), and which a search may use."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from found_here import shared_library
from needs import require_root
from net_lab import HostsLab, other_cpu

from hpl.blas.catalogue import Blas, BlasLibrary, Threading
from hpl.blas.probe import Probe, Timing
from hpl.blas.registry import discover, kernel_survey
from hpl.search_paths import SearchPaths
from runners.hosts.transport import Local, Ssh, Transport
from tuner.machine.kernels import (
    ClusterKernels,
    CpuKind,
    KernelTimer,
    KindKernels,
    busy_sentence_of,
    common_probes,
    mixed_sentence,
)

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
char *openblas_get_config(void) { return "OpenBLAS 9.9.9 DYNAMIC_ARCH"; }
char *openblas_get_corename(void)
{
    char *asked = getenv("OPENBLAS_CORETYPE");
    return asked && !strcmp(asked, "Haswell") ? "Haswell" : asked && !strcmp(asked, "Zen") ? "Zen" : "Katmai";
}
void dgemm_(char *ta, char *tb, int *m, int *n, int *k, double *alpha, double *a, int *lda, double *b, int *ldb,
            double *beta, double *c, int *ldc)
{
    char *asked = getenv("OPENBLAS_CORETYPE");
    if (asked && !strcmp(asked, "Zen"))
        __builtin_trap();
    if (*m > *lda || *k > *ldb)
        return;
    for (int j = 0; j < *n; j++)
        for (int l = 0; l < *k; l++)
            for (int i = 0; i < *m; i++)
                c[j * *ldc + i] += *alpha * a[l * *lda + i] * b[j * *ldb + l];
}
"""
"""Of its kernels Zen is one that crashes."""
FULL = """#!/bin/sh
[ "$(uname -n)" = h1 ] || exec /usr/bin/mktemp "$@"
echo 'no space left' >&2
exit 1
"""


@pytest.fixture
def mine(tmp_path: Path, search: SearchPaths) -> Blas:
    """A small library with the kernels Katmai, which it chooses itself, Haswell, and Zen."""
    return discover(search, {"mine": shared_library(tmp_path / "libraries/libmine.so", SOURCE, "-O3")})[0]


def timed(
    reach: Transport, mine: Blas, search: SearchPaths, nodes: Sequence[str] = ("h1", "h2")
) -> tuple[ClusterKernels, list[str]]:
    asked: list[str] = []
    timer = KernelTimer(reach, (mine,), search, lambda blas, where: asked.append(f"{blas} on {where}"))
    return timer.of_nodes(nodes), asked


def kernels(found: ClusterKernels, number: int = 0) -> set[str]:
    return {probe.kernel for probe in found.kinds[number].probes["mine"]}


def reach_of(lab: HostsLab) -> Ssh:
    return Ssh((*lab.enter("h1"), *lab.ssh))


def test_nodes_with_one_cpu_are_timed_once_and_keep_nothing(
    lab: HostsLab, search: SearchPaths, mine: Blas, tmp_path: Path
) -> None:
    own_tmp = tmp_path / "of nodes"
    own_tmp.mkdir()
    with lab.planted("mktemp", f"#!/bin/sh\nexec /usr/bin/mktemp -d '{own_tmp}/hpltune-nodes.XXXXXX'\n"):
        found, asked = timed(reach_of(lab), mine, search)
    assert asked in (["mine on node h1"], ["mine on node h2"])
    assert [kind.cpu.nodes for kind in found.kinds] == [("h1", "h2")]
    assert kernels(found) == {"auto", "Haswell"}
    assert found.failures == ()
    assert not [line for host in lab.names for line in lab.processes(host) if "probe_child" in line]
    assert not list(own_tmp.glob("hpltune-nodes.*"))


def test_what_a_node_timed_counts_on_all_machines_with_its_cpu(lab: HostsLab, search: SearchPaths, mine: Blas) -> None:
    found, _ = timed(reach_of(lab), mine, search)
    again, _ = timed(reach_of(lab), mine, search)
    assert again.kinds[0].probes == found.kinds[0].probes
    here = kernel_survey(mine, frozenset({"avx2", "fma"}), search, Timing.BUSY)
    assert here == found.kinds[0].probes["mine"]


def test_each_kind_of_cpu_is_timed_by_itself(lab: HostsLab, search: SearchPaths, mine: Blas) -> None:
    with lab.planted("head", other_cpu("Fast One 9000", "avx2 fma")):
        found, asked = timed(reach_of(lab), mine, search)
    assert asked == ["mine on node h1", "mine on node h2"]
    assert [kind.cpu.nodes for kind in found.kinds] == [("h1",), ("h2",)]
    assert found.kinds[1].cpu.model == "Fast One 9000"
    assert kernels(found, 1) == {"auto", "Haswell"}
    assert found.kinds[0].probes != found.kinds[1].probes


def test_a_node_that_does_not_answer_is_told_and_the_rest_goes_on(
    lab: HostsLab, search: SearchPaths, mine: Blas
) -> None:
    found, _ = timed(reach_of(lab), mine, search, ("gone", "h2"))
    assert [kind.cpu.nodes for kind in found.kinds] == [("h2",)]
    assert kernels(found) == {"auto", "Haswell"}
    assert found.failures == ("node gone: its name is not known: check the host list",)


def test_another_node_of_the_kind_is_asked_if_one_cannot_be(lab: HostsLab, search: SearchPaths, mine: Blas) -> None:
    with lab.planted("mktemp", FULL):
        found, asked = timed(reach_of(lab), mine, search)
    assert kernels(found) == {"auto", "Haswell"}
    assert asked[-1] == "mine on node h2"
    assert all(why.startswith("node h1: files cannot be copied to its /tmp (no space left)") for why in found.failures)


@dataclass(frozen=True)
class Covered:
    """Reaches this machine as a node on which a mount covers up something."""

    mounts: str

    def argv(self, node: str, command: Sequence[str]) -> list[str]:
        del node
        return ["unshare", "--mount", "sh", "-c", f'{self.mounts} && exec "$@"', "sh", *command]


@pytest.fixture
def root() -> None:
    require_root(("unshare", "mount"), "util-linux")


def covered(path: Path, *, by: Path) -> str:
    return f"mount --bind '{by}' '{path}'"


def no_python() -> str:
    pythons = {Path(name).resolve() for name in (sys.executable, shutil.which("python3")) if name}
    return " && ".join(covered(python, by=Path("/bin/false")) for python in pythons)


@pytest.mark.usefixtures("root")
def test_a_library_that_a_node_lacks_is_copied_to_it(search: SearchPaths, mine: Blas) -> None:
    folder = mine.libraries[0].path.parent
    found, _ = timed(Covered(f"mount -t tmpfs none '{folder}'"), mine, search, ("n1",))
    assert kernels(found) == {"auto", "Haswell"}
    assert found.failures == ()


@pytest.mark.usefixtures("root")
def test_another_library_under_the_same_path_has_rates_of_its_own(
    tmp_path: Path, search: SearchPaths, mine: Blas
) -> None:
    here = kernel_survey(mine, frozenset({"avx2", "fma"}), search, Timing.QUIET)
    assert {probe.kernel for probe in here} == {"auto", "Haswell"}
    other = shared_library(tmp_path / "other.so", SOURCE.replace('? "Haswell"', '? "Katmai"'), "-O3")
    found, _ = timed(Covered(covered(mine.libraries[0].path, by=other)), mine, search, ("n1",))
    assert kernels(found) == {"auto"}


@pytest.mark.usefixtures("root")
def test_this_host_stands_for_nodes_with_its_cpu_that_have_no_python(search: SearchPaths, mine: Blas) -> None:
    found, asked = timed(Covered(no_python()), mine, search, ("n1",))
    assert asked[-1] == "mine on this host"
    assert kernels(found) == {"auto", "Haswell"}
    (sentence,) = found.failures
    assert "n1: it has no python3 of version 3.9 or newer): this host has the same CPU and times them" in sentence


@pytest.mark.usefixtures("root")
def test_nodes_with_another_cpu_and_no_python_are_left_to_their_libraries(
    tmp_path: Path, search: SearchPaths, mine: Blas
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Old One\nflags\t\t: sse2\n")
    mounts = f"{no_python()} && {covered(Path('/proc/cpuinfo'), by=cpuinfo)}"
    found, _ = timed(Covered(mounts), mine, search, ("n1",))
    assert not found.kinds[0].probes
    (sentence,) = found.failures
    assert sentence.startswith("no node with Old One could time the BLAS kernels (node n1: it has no python3")
    assert sentence.endswith("): libraries choose theirs there")


@pytest.mark.usefixtures("root")
def test_a_library_that_does_not_load_on_a_node_is_told(tmp_path: Path, search: SearchPaths, mine: Blas) -> None:
    text, file = tmp_path / "text.so", mine.libraries[0].path
    text.write_text("no library")
    found, _ = timed(Covered(covered(file, by=text)), mine, search, ("n1",))
    assert not found.kinds[0].probes
    (sentence,) = found.failures
    assert sentence.startswith(f"node n1: BLAS library {file} does not load")


def test_without_libraries_there_is_nothing_to_say(search: SearchPaths) -> None:
    found = KernelTimer(Local(), (), search, lambda *_: None).of_nodes(("n1",))
    assert (found.kinds, found.failures) == ((), ())


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
