"""Designs: variants of a cluster, read from a TOML file, and what `hpltune predict` finds for each."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from results.metrics import Merit
from results.stats.ranking import Ranked
from runners.toml_file import parse_table, read_text, validated
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import cluster_text

from ..errors import UsageError
from ..machine.peak import model_above_peak
from .cluster import equipment_of

OWN_KEYS = ("name", "base", "network", "blas")
OF_ALL_NODES = ("price_usd", "power_w")
"""Figures that a cluster file may state for all nodes together; they do not fit a design with other nodes."""
MOST_DESIGNS = 200
"""In one file: each is a study of its own, and a page of more is not read."""


@dataclass(frozen=True)
class Design:
    """One cluster to judge.

    Attributes:
        network: the only network of its search; None takes the cluster's first.
        blas: the only BLAS of its search; None lets the search choose one.
        dropped: figures that the base states for all its nodes, left out because this design has other nodes.
    """

    name: str
    cluster: VirtualCluster
    network: str | None
    blas: str | None
    dropped: tuple[str, ...] = ()

    @property
    def network_used(self) -> str:
        """The network that the design names, or the cluster's first."""
        return self.network or self.cluster.default_network


def read_designs(file: Path) -> tuple[Design, ...]:
    """Read the designs of a TOML file: `base` names a cluster, each [[design]] says what is different.

    Raises:
        TunerError: the file has no design, more than MOST_DESIGNS, or two designs of the same name.
        runners.toml_file.ClusterFileError: the file cannot be read, or a design is no possible cluster; the message
            names the design and the key.
    """

    def cluster(name: str) -> str:
        path = file.parent / name
        return str(path) if path.suffix and path.is_file() else name

    where = str(file)
    table = parse_table(where, read_text(file))
    unknown = [key for key in table if key not in {"base", "design"}]
    rows = table.get("design")
    if unknown:
        raise UsageError(
            f'{where}: {unknown[0]} is not known here; a file of designs has base = "…" and [[design]] tables'
        )
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{where} has no [[design]] table")
    if len(rows) > MOST_DESIGNS:
        raise UsageError(f"{where} has {len(rows)} designs: split it into parts of at most {MOST_DESIGNS}")
    base_of = cache(lambda name: cluster_text(cluster(name)))
    designs = [
        _design(f"{where}, design {number}", number, row, table.get("base"), base_of)
        for number, row in enumerate(rows, start=1)
    ]
    names = Counter(design.name for design in designs)
    repeated = next((name for name, times in names.items() if times > 1), None)
    if repeated is not None:
        raise UsageError(f"{where}: two designs are called {repeated}")
    return tuple(designs)


def _design(
    where: str, number: int, row: Mapping[str, Any], base: Any, base_of: Callable[[str], tuple[str, str]]
) -> Design:
    start = row.get("base", base)
    if not isinstance(start, str):
        raise UsageError(f'{where}: say what it is a variant of: base = "kronos", a shipped cluster or a file')
    own = {key: row[key] for key in OWN_KEYS if key in row}
    if isinstance(own.get("blas"), dict):
        del own["blas"]
    wrong = next((key for key, value in own.items() if not isinstance(value, str)), None)
    if wrong is not None:
        raise UsageError(f"{where}: {wrong} = {own[wrong]}: expected a text")
    name = own.get("name", f"design {number}")
    origin, text = base_of(start)
    table = parse_table(origin, text)
    merged = merge(table, {key: value for key, value in row.items() if key not in own})
    other_nodes = merged.get("nodes") != table.get("nodes")
    dropped = tuple(key for key in OF_ALL_NODES if other_nodes and key in table and key not in row)
    cluster = validated(VirtualCluster, f"{where} ({name})", {key: merged[key] for key in merged if key not in dropped})
    for key, known in (("network", cluster.networks), ("blas", cluster.blas)):
        chosen = own.get(key)
        if chosen is not None and chosen not in known:
            raise UsageError(f"{where} ({name}): {key} = {chosen}: {cluster.name} has {', '.join(known)}")
    return Design(name, cluster, own.get("network"), own.get("blas"), dropped)


def merge(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change some keys of a table; a table of changes for a list of tables changes each table of the list."""
    merged = dict(table)
    for key, change in changes.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(change, dict):
            merged[key] = merge(old, change)
        elif isinstance(change, dict) and isinstance(old, list) and all(isinstance(entry, dict) for entry in old):
            merged[key] = [merge(entry, change) for entry in old]
        else:
            merged[key] = change
    return merged


@dataclass(frozen=True)
class Prediction:
    """A design and the best configuration found for it.

    Attributes:
        study: the study that found it.
        merit: the figures of merit of the nodes that the configuration uses.
    """

    design: Design
    study: str
    best: Ranked
    merit: Merit

    @property
    def gflops(self) -> float:
        """The tuned rate, Rmax."""
        return self.best.expected_gflops

    @property
    def nodes(self) -> int:
        """The number of nodes of the design."""
        return len(self.design.cluster.node_list)

    @property
    def nodes_used(self) -> int:
        """The number of nodes that the best configuration uses."""
        return equipment_of(self.design.cluster).used(self.best.params).nodes

    @property
    def rpeak_gflops(self) -> float:
        """Rpeak of all nodes of the design."""
        return self.design.cluster.rpeak_gflops

    @property
    def price_usd(self) -> float | None:
        """The price of the design with its network; None where it is not known."""
        return self.design.cluster.price_with(self.design.network_used)

    @property
    def power_w(self) -> float | None:
        """The power of the design with its network; None where it is not known."""
        return self.design.cluster.power_with(self.design.network_used)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Price or power, where the base cluster has one for other nodes and the design has none of its own."""
        return tuple(name for name in self.design.dropped if getattr(self, name) is None)

    @property
    def above_peak(self) -> str | None:
        """Why the rate is above 100 % of peak, as one sentence; None where it is not."""
        return model_above_peak(self.merit.percent_of_peak)
