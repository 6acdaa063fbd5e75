"""`hpltune doctor --cluster`: what the nodes of a cluster say of themselves, filled into its file."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Table as TomlTable

from hpl.blas.catalogue import Blas
from hpl.blas.registry import discover
from hpl.build.toolchain import Mpi
from hpl.errors import HplError
from hpl.programs.registry import obtain
from hpl.rpeak import detect
from hpl.search_paths import SearchPaths
from results.node_check import ranges
from results.report.model import Report, Sentence, Table, columns
from runners.batch.base import BatchFacts, BatchSystem
from runners.containers.contract import Container
from runners.errors import RefusedError, RunnerError
from runners.forwarded import load_modules
from runners.hosts.cluster import Cluster, load_real_cluster
from runners.hosts.host_facts import host_facts
from runners.hosts.node_facts import NodeSays, ask_nodes, own_networks
from runners.readiness.networks import ways_between
from runners.settings.registry import host_settings
from runners.settings.script import outcome_of_each
from runners.settings.survey import require_right
from runners.toml_file import GIB

from ...errors import TunerError
from ...machine.batch_nodes import batch_faults
from ...machine.cluster_nodes import AskNodes, ask_cluster, not_brought
from ...machine.containers import container_of
from ...machine.interfaces import interfaces_between, rdma_ports, through_batch_system, unused_ports
from ...machine.kernels import ClusterKernels, KernelTimer, KindKernels, mixed_sentence
from ...machine.mpi_start import Start
from ...machine.node_checks import common_blas, foreign_cpu, needed_on_nodes, node_cautions, node_faults, said_together
from ...machine.nodes_start import StartOnNodes, all_have, one_each, refused_on_nodes, start_on_nodes
from ...machine.survey import usable_mpis
from ...options import TuneOptions
from ...preflight.contract import RunPlan
from ...preflight.looking import Preflight, look
from ...trial.workbench import require_usable
from ...units import duration, gibibytes
from ...user_dirs import UserDirs
from ...user_files import write_text
from .doctor import kernel_facts, kernel_sentence, kernel_table, verdict

Fact = float | list[str]
TimeKernels = Callable[[Cluster, Sequence[str], Sequence[Blas]], ClusterKernels]
"""Times the kernels of BLAS libraries on nodes by name."""
MTU = host_settings()["net.mtu"]
"""The setting by which the doctor asks whether sudo lets us set the others, too."""
USED = 0.95
"""Part of the memory free now that is written down: what is free changes from day to day."""


@dataclass(frozen=True)
class HostLibraries:
    """What this host, from which ranks are started, has to run HPL with.

    Attributes:
        mpi: the library that a study takes; None where this host has none.
        other_mpis: further ones.
        container: the image in which ranks run.
        faults: why a study cannot even begin to ask the nodes.
    """

    mpi: Mpi | None
    blas: tuple[Blas, ...]
    other_mpis: tuple[Mpi, ...] = ()
    container: Container | None = None
    faults: tuple[str, ...] = ()

    @classmethod
    def found(cls, user_dirs: UserDirs, cluster: Cluster) -> "HostLibraries":
        """Look for them as a study does."""
        search, options = SearchPaths(user_dirs.prefix, user_dirs.cache), TuneOptions(real_cluster=cluster.table())
        wanted: dict[str, Callable[[], object]] = {
            "mpis": lambda: usable_mpis(search),
            "source": lambda: obtain(search),
            "words": lambda: require_usable(options, cluster),
            "container": lambda: container_of(options, cluster, user_dirs),
        }
        found, faults = dict[str, Any](), dict[str, str]()
        for name, look_for in wanted.items():
            try:
                found[name] = look_for()
            except (HplError, TunerError, RunnerError) as error:
                faults[name] = str(error)
        mpi, *others = found.get("mpis", [None])
        told = tuple(why for name, why in faults.items() if name != "mpis")
        return cls(mpi, tuple(discover(search, {})), tuple(others), found.get("container"), told)


@dataclass(frozen=True)
class ClusterDoctorResult:
    """What the doctor saw of a cluster.

    Attributes:
        file: describes it; `cluster` is its name.
        table: the nodes, for people.
        nodes: the same for scripts.
        filled: what was written into the cluster's file.
        missing: why a study cannot begin on all nodes, a sentence each.
        sentences: what else people want to know.
        facts: the same for scripts.
        kernels: rates of BLAS kernels by kind of CPU.
    """

    file: Path
    cluster: str
    table: Table
    nodes: Sequence[Mapping[str, object]]
    filled: Mapping[str, Fact]
    missing: tuple[str, ...]
    advice: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    kernels: tuple[KindKernels, ...] = ()

    def report(self) -> Report:
        """What is missing or that nothing is, advice, the nodes, and what was filled in."""
        filled = (f"Filled in: {name} = {value} under [node] of {self.file}" for name, value in self.filled.items())
        parts: tuple[Sentence | Table, ...] = (
            *verdict(self.advice, self.missing, "hpltune tune ⟦cluster⟧"),
            self.table,
            *(kernel_table(kind.probes, _kind_words(kind)) for kind in self.kernels if kind.probes),
            *map(Sentence, (*self.sentences, *filled)),
        )
        facts = {
            "cluster": self.cluster,
            "nodes": list(self.nodes),
            "filled": dict(self.filled),
            "missing": list(self.missing),
            "advice": list(self.advice),
            "kernels": [
                {"cpu": kind.cpu.model, "nodes": list(kind.cpu.nodes), "blas": kernel_facts(kind.probes)}
                for kind in self.kernels
            ],
            **self.facts,
        }
        return Report(self.table.title, parts, facts)


def doctor_cluster(
    file: Path,
    user_dirs: UserDirs,
    *,
    libraries: HostLibraries | None = None,
    ask: AskNodes = ask_nodes,
    time_kernels: TimeKernels | None = None,
    start: StartOnNodes = start_on_nodes,
) -> ClusterDoctorResult:
    """Ask the nodes of a cluster file, and fill in what the file does not say yet.

    Args:
        libraries: those of this host; None looks for them.
        ask: how nodes are asked that are reached by ssh.
        time_kernels: how kernels are timed there; None times them as a study does.
        start: how ranks are started there with each MPI library.
    """
    cluster = load_real_cluster(file)
    load_modules(cluster.modules)
    libraries = libraries or HostLibraries.found(user_dirs, cluster)
    if cluster.batch:
        found = _of_batch(file, cluster, cluster.batch, libraries.mpi)
    else:
        found, says = _of_nodes(file, cluster, user_dirs, libraries, ask, start)
        timed = (time_kernels or _timing(user_dirs))(cluster, [node.node for node in says], libraries.blas)
        found = _with_kernels(found, timed)
    return replace(found, missing=(*libraries.faults, *found.missing))


def _timing(user_dirs: UserDirs) -> TimeKernels:
    search = SearchPaths(user_dirs.prefix, user_dirs.cache)
    return lambda cluster, nodes, blas: KernelTimer(cluster.reach, blas, search, lambda *_: None).of_nodes(nodes)


def _with_kernels(found: ClusterDoctorResult, timed: ClusterKernels) -> ClusterDoctorResult:
    """Add the rates of kernels, and advice about them."""
    mixed = mixed_sentence(timed)
    better = [
        f"{_kind_words(kind)}: {sentence}"
        for kind in timed.kinds
        for name, probes in kind.probes.items()
        if not mixed and (sentence := kernel_sentence(name, probes))
    ]
    return replace(
        found, kernels=timed.kinds, advice=(*found.advice, *timed.failures, *better, *([mixed] if mixed else []))
    )


def _kind_words(kind: KindKernels) -> str:
    return f"{kind.cpu.model} ({ranges(kind.cpu.nodes)})"


@dataclass(frozen=True)
class _Starts:
    """How ranks were started on nodes with each MPI library, that of a study first."""

    nodes: Sequence[str]
    made: Mapping[Mpi, Start]

    @property
    def refused(self) -> list[str]:
        """Why libraries start none, a sentence each."""
        return [refused_on_nodes(mpi, self.nodes, start) for mpi, start in self.made.items() if start.why_not]

    @property
    def well(self) -> list[str]:
        """Which libraries start some, a sentence each."""
        return [
            f"{mpi.name} {mpi.version} starts {one_each(self.nodes)} in {start.took_s:.1f} s"
            f"{f', and sends messages through {start.layer}' if start.layer else ''}."
            for mpi, start in self.made.items()
            if not start.why_not
        ]

    def facts(self) -> list[object]:
        """The same for scripts."""
        return [
            {"mpi": mpi.name, "version": mpi.version, "seconds": round(start.took_s, 2)}
            | {"why_not": start.why_not, "layer": start.layer}
            for mpi, start in self.made.items()
        ]


def _of_nodes(
    file: Path, cluster: Cluster, user_dirs: UserDirs, libraries: HostLibraries, ask: AskNodes, start: StartOnNodes
) -> tuple[ClusterDoctorResult, list[NodeSays]]:
    """Return what is known of the nodes, and what those said that answer."""
    mpi, blas, shared = libraries.mpi, libraries.blas, user_dirs.shared
    needed = needed_on_nodes(cluster, blas)
    says, silent = ask_cluster(cluster, shared, mpi.mpirun if mpi else None, needed, ask)
    faults = list(node_faults(cluster, says, mpi, shared))
    missing, advice = [*silent, *faults], []
    filled: Mapping[str, Fact] = {}
    looked = Preflight()
    between = interfaces_between(cluster, says, own_networks())
    starts = _Starts([node.node for node in says], {})
    closed, narrow, unknown = ways_between(cluster.reach, cluster.hosts, starts.nodes, between.names)
    missing += narrow
    if says and mpi is not None and not faults:
        made = {mpi: start(mpi, cluster, says, between.names, user_dirs, closed)}
        others = () if closed and made[mpi].why_not else libraries.other_mpis
        able = [one for one in others if all_have(cluster.reach, starts.nodes, one.mpirun)]
        made |= {one: start(one, cluster, says, between.names, user_dirs, closed) for one in able}
        starts = replace(starts, made=made)
        missing += starts.refused[:1] if made[mpi].why_not else []
        advice += starts.refused[1:] if made[mpi].why_not else starts.refused
    if says:
        common, lacking = common_blas(blas, says, needed)
        foreign = foreign_cpu(cluster, says, host_facts(detect().cores).cpu_model)
        missing += not_brought(cluster, libraries.container, says)
        missing += [*([] if common else ["no BLAS library is on all nodes"]), *([foreign] if foreign else [])]
        advice += [*(f"{sentence}; a study leaves it out" for sentence in lacking), *node_cautions(cluster, says)]
        advice += [between.sentence] if between.doubtful else []
        advice += filter(None, [unused_ports(cluster, rdma_ports(says))])
        advice += _not_settable(cluster, says, between.names)
        cores = cluster.node.cores or min(node.cores for node in says)
        plan = RunPlan(cores, nodes=len(says), interfaces=between.names, here=False)
        looked = look(plan, user_dirs.data, cluster.reach, starts.nodes, slow=True)
        advice += looked.warnings
        filled = _fill(file, cluster, _facts(cluster, says))
    found = ClusterDoctorResult(
        file,
        cluster.name,
        _node_table(cluster, says),
        [
            asdict(
                node,
                dict_factory=lambda pairs: {
                    name: sorted(value) if isinstance(value, frozenset) else value for name, value in pairs
                },
            )
            for node in says
        ],
        filled,
        tuple(missing),
        tuple(advice),
        sentences=(
            f'Programs are copied to the nodes, below {cluster.stage_folder} (stage = "copy").'
            if cluster.copies
            else 'All nodes must see the folders of hpltune (stage = "shared").',
            *([f"{between.sentence}."] if between.sentence and not between.doubtful else []),
            *starts.well,
            *unknown,
        ),
        facts={
            "stage": cluster.stage,
            "mpi_interfaces": list(between.names),
            "starts": starts.facts(),
            "preflight": looked.to_json(),
        },
    )
    return found, says


def _not_settable(cluster: Cluster, says: Sequence[NodeSays], interfaces: Sequence[str]) -> list[str]:
    """Say on which nodes this user may not write settings; no setting is written."""
    name = next(iter(interfaces or says[0].networks or says[0].interfaces), "")
    wanted = {(name, MTU.name): MTU.apply(name, 1500)} if name else {}
    asked = outcome_of_each([node.node for node in says], lambda node: require_right(cluster.reach, node, wanted))
    refused = {node: str(why) for node, why in asked.items() if isinstance(why, RefusedError)}
    return [f"{sentence}; only studies of settings need that" for sentence in said_together(refused)]


def _of_batch(file: Path, cluster: Cluster, batch: BatchSystem, mpi: Mpi | None) -> ClusterDoctorResult:
    facts = batch.facts()
    sizes = [(node.cores, node.memory_bytes) for node in facts.usable()]
    missing = tuple(batch_faults(batch, facts, cluster.node.cores, mpi))
    limited = through_batch_system(cluster, mpi.name) if mpi else None
    return ClusterDoctorResult(
        file,
        cluster.name,
        _batch_table(cluster, facts),
        [asdict(node) for node in facts.nodes],
        _fill(file, cluster, _sizes(sizes)) if sizes else {},
        missing,
        sentences=(*_batch_sentences(batch, facts, mpi), *([f"{limited}."] if limited else [])),
        facts=_batch_json(batch, facts, mpi),
    )


def _batch_table(cluster: Cluster, facts: BatchFacts) -> Table:
    rows = []
    for node in facts.nodes:
        state = f"{node.state}: {node.reason}" if node.reason and not node.usable else node.state
        rows.append((node.name, str(node.cores), gibibytes(node.memory_bytes), state, " ".join(node.features)))
    title = f"{cluster.name}: {len(facts.usable())} of {len(facts.nodes)} nodes can run jobs"
    return Table(title, columns("node", "cores", "memory", "state", "features"), tuple(rows))


def _batch_sentences(batch: BatchSystem, facts: BatchFacts, mpi: Mpi | None) -> Iterator[str]:
    """What a user wants to know of queue, nodes and MPI."""
    longest = batch.words.max_time
    for asked in facts.asked:
        most = f"no {longest}" if asked.limit_s in {None, math.inf} else f"{longest} {duration(asked.limit_s or 0.0)}"
        yield f"{batch.words.queue.capitalize()} {asked.name}: {'up' if asked.up else 'DOWN'}, {most}."
    if facts.asked:
        yield f"Time limit of an allocation: {duration(facts.time_limit_s(batch))}."
        yield f"Nodes by state: {', '.join(f'{count} {state}' for state, count in facts.by_state().items()) or 'none'}."
    if mpi is None:
        return
    ways = [f'"mpirun" ({mpi.mpirun}, which all nodes must have)']
    own = facts.launcher
    ways += [f'"{own.name}" ({own.option}={own.needed[mpi.name]})'] if own and own.ways and own.starts(mpi.name) else []
    yield f"MPI: {mpi.name} {mpi.version}; launcher can be {' or '.join(ways)}; it is {json.dumps(batch.launcher)}."


def _batch_json(batch: BatchSystem, facts: BatchFacts, mpi: Mpi | None) -> dict[str, object]:
    own = facts.launcher
    by_itself = {f"{own.name}_mpi": own.needed[mpi.name] if mpi and own.starts(mpi.name) else None} if own else {}
    return {
        f"{batch.words.queue}s": [
            {"name": asked.name, "up": asked.up, "max_time_s": None if asked.limit_s == math.inf else asked.limit_s}
            for asked in facts.asked
        ],
        "time_limit_s": facts.time_limit_s(batch),
        "nodes_by_state": dict(facts.by_state()),
        "launcher": batch.launcher,
        **by_itself,
        "mpi_types": list(own.ways) if own else [],
    }


def _facts(cluster: Cluster, says: Sequence[NodeSays]) -> dict[str, Fact]:
    """What all nodes have; their peak only where they have this host's CPU."""
    sizes = _sizes([(node.cores, node.memory_bytes) for node in says])
    peak = detect()
    alike = {node.model for node in says} == {host_facts(peak.cores).cpu_model}
    rpeak_gflops = peak.gflops / peak.cores * (cluster.node.cores or sizes["cores"]) if alike else 0.0
    shared = [name for name in says[0].interfaces if all(name in node.interfaces for node in says)]
    return {**sizes, "rpeak_gflops": round(rpeak_gflops, 1), "interfaces": shared}


def _sizes(nodes: Sequence[tuple[int, int]]) -> dict[str, float]:
    """The least cores and the least memory of nodes.

    Args:
        nodes: cores and free bytes of each.
    """
    memory_bytes = min(memory_bytes for _, memory_bytes in nodes)
    return {"cores": min(cores for cores, _ in nodes), "memory_gib": round(USED * memory_bytes / GIB, 1)}


def _fill(file: Path, cluster: Cluster, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Write those facts that the file does not say; comments and everything else in it stay."""
    new = {name: value for name, value in facts.items() if value and getattr(cluster.node, name) is None}
    if not new:
        return {}
    document = tomlkit.parse(file.read_text(encoding="utf-8-sig"))
    if "node" not in document:
        document["node"] = tomlkit.table()
    node = document["node"]
    if not isinstance(node, TomlTable):
        raise TunerError(f"{file}: write node as a table [node], so that it can be filled in")
    for name, value in new.items():
        node[name] = value
    write_text(file, tomlkit.dumps(document))
    return new


def _node_table(cluster: Cluster, says: Sequence[NodeSays]) -> Table:
    rows = tuple(
        (
            node.node,
            str(node.cores),
            gibibytes(node.memory_bytes),
            node.model,
            " ".join(node.interfaces),
            node.mpi or "none",
        )
        for node in says
    )
    title = f"{cluster.name}: {len(says)} of {len(cluster.hosts)} nodes answer"
    return Table(title, columns("node", "cores", "memory", "CPU", "interfaces", "MPI"), rows)
