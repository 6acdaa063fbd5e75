"""Variants of a cluster, as a file of designs describes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.toml_file import parse_table, read_text
from runners.virtual.cluster import VirtualCluster
from runners.virtual.load import checked_cluster, cluster_text

from ..errors import TunerError

OWN_KEYS = ("name", "base", "network", "blas")


@dataclass(frozen=True)
class Design:
    """One cluster to judge.

    Attributes:
        network, blas: the ones its search is held to; None leaves the BLAS to the search, and takes the first network.
    """

    name: str
    cluster: VirtualCluster
    network: str | None
    blas: str | None


def read_designs(file: Path) -> tuple[Design, ...]:
    """The designs of a TOML file: `base` names a cluster, each [[design]] what is different.

    Raises:
        TunerError: the file has no design, or two of one name.
        runners.toml_file.ClusterFileError: it cannot be read, or a design is no possible cluster; the message names it
            and the key.
    """
    table = parse_table(str(file), read_text(file))
    unknown = [key for key in table if key not in {"base", "design"}]
    rows = table.get("design")
    if unknown:
        raise TunerError(
            f'{file}: {unknown[0]} is not known here; a file of designs has base = "…" and [[design]] tables'
        )
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise TunerError(f"{file} has no [[design]] table")
    designs = [_design(file, number, row, table.get("base")) for number, row in enumerate(rows, start=1)]
    names = [design.name for design in designs]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise TunerError(f"{file}: two designs are called {double}")
    return tuple(designs)


def _design(file: Path, number: int, row: Mapping[str, Any], base: Any) -> Design:
    place = f"{file}, design {number}"
    start = row.get("base", base)
    if not isinstance(start, str):
        raise TunerError(f'{place}: say what it is a variant of: base = "kronos", a shipped cluster or a file')
    name = row.get("name", f"design {number}")
    if not isinstance(name, str):
        raise TunerError(f"{place}: name = {name}: expected a text")
    path = file.parent / start
    where, text = cluster_text(str(path) if path.suffix and path.is_file() else start)
    changes = {key: value for key, value in row.items() if key not in OWN_KEYS}
    merged = merge(parse_table(where, text), changes)
    cluster = checked_cluster(f"{place} ({name})", merged)
    for key, known in (("network", cluster.networks), ("blas", cluster.blas)):
        chosen = row.get(key)
        if chosen is not None and chosen not in known:
            raise TunerError(f"{place} ({name}): {key} = {chosen}: {cluster.name} has {', '.join(known)}")
    return Design(name, cluster, row.get("network"), row.get("blas"))


def merge(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A table with changes laid over it; a table laid over a list of tables changes every one of them."""
    merged = dict(table)
    for key, change in changes.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(change, dict):
            merged[key] = merge(old, change)
        elif isinstance(old, list) and isinstance(change, dict):
            merged[key] = [merge(entry, change) for entry in old]
        else:
            merged[key] = change
    return merged
