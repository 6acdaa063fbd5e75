"""`hpltune doctor --cluster`: what the nodes of a cluster say of themselves, filled into its file."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import tomlkit
from rich.console import Console
from rich.table import Table
from tomlkit.items import Table as TomlTable

from hpl.blas.registry import discover
from hpl.build.toolchain import Mpi
from hpl.errors import HplError
from hpl.peak.rpeak import detect
from hpl.search_paths import SearchPaths
from runners.hosts.cluster import Cluster, SlurmTable, load_real_cluster
from runners.hosts.host_facts import host_facts
from runners.hosts.node_facts import NodeSays
from runners.toml_file import GIB

from ..errors import TunerError
from ..machine.cluster_nodes import asked, cautions_of, common_blas, faults, foreign_cpu, library_files
from ..machine.inventory import usable_mpis
from ..machine.slurm_facts import BY_SRUN, SlurmFacts, ask_slurm, slurm_faults
from ..units import duration, gibibytes
from ..user_dirs import UserDirs
from ..user_files import write_text

Fact = float | list[str]
USED = 0.95
"""Part of the memory free now that is written down: what is free changes from day to day."""


def examine_cluster(file: Path, places: UserDirs, console: Console, *, as_json: bool) -> int:
    """Ask the nodes of a cluster file, show what they say, and fill in what the file does not say yet.

    Returns:
        0 when a study could begin on all of them, else 1.
    """
    cluster = load_real_cluster(file)
    if cluster.slurm:
        return _examine_slurm(file, cluster, cluster.slurm, _mpi(places), console, as_json=as_json)
    mpi = _mpi(places)
    blas = discover(SearchPaths(places.prefix, places.cache), {})
    says, silent = asked(cluster, places.shared, mpi.mpirun if mpi else None, library_files(blas))
    missing, advice = [*silent, *faults(cluster, says, mpi, places.shared)], []
    filled: Mapping[str, Fact] = {}
    if says:
        common, lacking = common_blas(blas, says)
        foreign = foreign_cpu(cluster, says, host_facts(detect().cores).cpu_model)
        missing += [*([] if common else ["no BLAS library is on all nodes"]), *([foreign] if foreign else [])]
        advice = [*(f"{sentence}; a study leaves it out" for sentence in lacking), *cautions_of(cluster, says)]
        filled = _fill(file, cluster, _facts(cluster, says))
    if as_json:
        return _print_json(cluster, [asdict(node) for node in says], filled, missing, advice)
    console.print(_table(cluster, says))
    return _conclude(file, console, filled, missing, advice)


def _examine_slurm(
    file: Path, cluster: Cluster, table: SlurmTable, mpi: Mpi | None, console: Console, *, as_json: bool
) -> int:
    facts = ask_slurm(table)
    nodes, usable = facts.nodes, facts.usable()
    missing = list(slurm_faults(cluster, table, facts, mpi))
    sizes = [(node.cores, node.memory_bytes) for node in usable]
    filled = _fill(file, cluster, _sizes(sizes)) if sizes else {}
    if as_json:
        return _print_json(
            cluster, [asdict(node) for node in nodes], filled, missing, more=_slurm_json(table, facts, mpi)
        )
    shown = Table(title=f"{cluster.name}: {len(usable)} of {len(nodes)} nodes can run jobs", title_justify="left")
    for heading in ("node", "cores", "memory", "state", "features"):
        shown.add_column(heading)
    for node in nodes:
        state = f"{node.state}: {node.reason}" if node.reason and not node.usable else node.state
        shown.add_row(node.name, str(node.cores), gibibytes(node.memory_bytes), state, " ".join(node.features))
    console.print(shown)
    for sentence in _slurm_sentences(table, facts, mpi):
        console.print(sentence)
    return _conclude(file, console, filled, missing)


def _slurm_sentences(table: SlurmTable, facts: SlurmFacts, mpi: Mpi | None) -> Iterator[str]:
    """What a user wants to know of partition, nodes and MPI."""
    for part in facts.asked:
        most = "no MaxTime" if part.limit_s in {None, math.inf} else f"MaxTime {duration(part.limit_s or 0.0)}"
        yield f"Partition {part.name}: {'up' if part.up else 'DOWN'}, {most}."
    if facts.asked:
        yield f"Time limit of an allocation: {duration(facts.time_limit_s(table))}."
        yield f"Nodes by state: {', '.join(f'{count} {state}' for state, count in facts.by_state().items()) or 'none'}."
    if mpi is None:
        return
    ways = [f'"mpirun" ({mpi.mpirun}, which all nodes must have)']
    ways += [f'"srun" (--mpi={BY_SRUN[mpi.name][0]})'] if facts.mpi_types and facts.can_srun(mpi.name) else []
    yield f"MPI: {mpi.name} {mpi.version}; launcher can be {' or '.join(ways)}; it is {json.dumps(table.launcher)}."


def _slurm_json(table: SlurmTable, facts: SlurmFacts, mpi: Mpi | None) -> dict[str, object]:
    return {
        "partitions": [
            {"name": part.name, "up": part.up, "max_time_s": None if part.limit_s == math.inf else part.limit_s}
            for part in facts.asked
        ],
        "time_limit_s": facts.time_limit_s(table),
        "nodes_by_state": dict(facts.by_state()),
        "launcher": table.launcher,
        "srun_mpi": None if mpi is None or not facts.can_srun(mpi.name) else BY_SRUN[mpi.name][0],
        "mpi_types": list(facts.mpi_types),
    }


def _print_json(
    cluster: Cluster,
    nodes: Sequence[Mapping[str, object]],
    filled: Mapping[str, Fact],
    missing: Sequence[str],
    advice: Sequence[str] = (),
    more: Mapping[str, object] | None = None,
) -> int:
    said: dict[str, object] = {"cluster": cluster.name, "nodes": nodes, "filled": filled, "missing": missing}
    said |= {"advice": advice, **(more or {})}
    print(json.dumps(said, indent=1))
    return 1 if missing else 0


def _conclude(
    file: Path, console: Console, filled: Mapping[str, Fact], missing: Sequence[str], advice: Sequence[str] = ()
) -> int:
    for name, value in filled.items():
        console.print(f"Filled in: {name} = {value} under [node] of {file}")
    for sentence in advice:
        console.print(f"Advice: {sentence}.")
    for sentence in missing:
        console.print(f"Missing: {sentence}", style="red")
    if not missing:
        console.print("Everything that `hpltune tune --cluster` needs is here.", style="green")
    return 1 if missing else 0


def _mpi(places: UserDirs) -> Mpi | None:
    try:
        return usable_mpis(SearchPaths(places.prefix, places.cache))[0]
    except (HplError, TunerError):
        return None


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


def _table(cluster: Cluster, says: Sequence[NodeSays]) -> Table:
    table = Table(title=f"{cluster.name}: {len(says)} of {len(cluster.hosts)} nodes answer", title_justify="left")
    for heading in ("node", "cores", "memory", "CPU", "interfaces", "MPI"):
        table.add_column(heading)
    for node in says:
        interfaces = " ".join(node.interfaces)
        table.add_row(
            node.node, str(node.cores), gibibytes(node.memory_bytes), node.model, interfaces, node.mpi or "none"
        )
    return table
