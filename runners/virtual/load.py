"""Loads virtual clusters: the shipped ones, and those in the user's TOML files."""

import difflib
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..toml_file import NO_CLUSTER_FILE, ClusterFileError, parse_table, read_text, validated
from .cluster import VirtualCluster


def shipped() -> tuple[str, ...]:
    """List the names of the clusters that come with hpltune."""
    return tuple(
        sorted(file.name.removesuffix(".toml") for file in _package().iterdir() if file.name.endswith(".toml"))
    )


def cluster_text(name: str) -> tuple[str, str]:
    """Return the path and TOML text of a cluster, given as a shipped name or a file.

    Raises:
        ClusterFileError: there is no such name or file.
    """
    if name in shipped():
        return f"shipped cluster {name}", (_package() / f"{name}.toml").read_text(encoding="utf-8")
    path = Path(name)
    if not path.suffix and not path.exists():
        near = difflib.get_close_matches(name, shipped(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"shipped are {', '.join(shipped())}; or name a TOML file"
        raise ClusterFileError(f"there is no cluster {name}: {hint}")
    return name, read_text(path, NO_CLUSTER_FILE)


def load_cluster(name: str) -> VirtualCluster:
    """Load a cluster by its shipped name or its file.

    Raises:
        ClusterFileError: the file cannot be read, or a key or a figure in it is wrong.
    """
    return parse_cluster(*cluster_text(name))


def parse_cluster(place: str, text: str) -> VirtualCluster:
    """Read the cluster in a TOML text; `place` names the text in errors.

    Raises:
        ClusterFileError: a key or a figure in it is wrong.
    """
    return validated(VirtualCluster, place, parse_table(place, text), text)


def _package() -> Any:
    return files(__package__) / "clusters"
