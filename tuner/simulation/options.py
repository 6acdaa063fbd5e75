"""Options of simulations, read from what people write, and what simulated hours cost."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.virtual.cluster import VirtualCluster

from ..budget import DOLLARS, NODE_HOURS, Budget
from ..errors import UsageError
from ..options import DEFAULT_SIMULATION_S
from ..units import parse_duration_s, sensible_s

YEARS = 4.0
"""Years over which the price of a machine is written off."""
USD_PER_KWH = 0.25


def usd_per_hour(cluster: VirtualCluster) -> float | None:
    """What an hour of a cluster costs, with the most expensive of its networks; None without price and power."""
    return max(hourly_usd(cluster.price_with(one), cluster.power_with(one)) or 0.0 for one in cluster.networks) or None


def hourly_usd(price_usd: float | None, power_w: float | None) -> float | None:
    """What an hour of a machine of this price and power costs; None where neither is known."""
    return (price_usd or 0.0) / (YEARS * 8766.0) + (power_w or 0.0) / 1000.0 * USD_PER_KWH or None


@dataclass(frozen=True)
class SimulationOptions:
    """The options of a simulation; `cluster` is None where no virtual cluster was named."""

    cluster: Mapping[str, Any] | None
    limit_s: float


def simulation_options(cluster: str | None, jobs: int | None, limit: str | None) -> SimulationOptions:
    """Read what names a virtual cluster, and how it is simulated.

    Raises:
        runners.toml_file.ClusterFileError: the cluster cannot be used.
        TunerError: there is a field of simulations, but no cluster.
    """
    if cluster is None:
        lone = "jobs" if jobs is not None else "limit" if limit is not None else None
        if lone:
            raise UsageError(f"⟦{lone}⟧ is for simulations: name a virtual cluster with ⟦cluster⟧", field=lone)
        return SimulationOptions(None, DEFAULT_SIMULATION_S)
    from runners.virtual.load import load_cluster  # noqa: PLC0415 - only a virtual cluster needs it

    from .cluster import cluster_dict  # noqa: PLC0415 - only a virtual cluster needs it

    limit_s = parse_duration_s(limit, "limit") if limit else DEFAULT_SIMULATION_S
    return SimulationOptions(cluster_dict(load_cluster(cluster)), limit_s)


def time_budget(text: str, cluster: Mapping[str, Any] | None, nodes: int) -> Budget:
    """Read a budget: a time, node-hours, or with a virtual cluster the dollars that its hours cost.

    Args:
        nodes: of a real cluster; a virtual one has its own.

    Raises:
        TunerError: it is none of these, or the cluster file states no cost.
    """
    hours = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*nh\s*", text, re.IGNORECASE)
    if hours:
        if cluster:
            from .cluster import cluster_from  # noqa: PLC0415 - only a virtual cluster needs it

            nodes = len(cluster_from(cluster).node_list)
        wall_s = sensible_s(float(hours[1]) * 3600.0 / nodes, "budget", text)
        return Budget(wall_s=wall_s, unit=NODE_HOURS, hourly=nodes)
    money = re.fullmatch(r"\s*\$?\s*(\d+(?:\.\d+)?)\s*(?:usd|\$)?\s*", text, re.IGNORECASE)
    if money is None or not re.search(r"usd|\$", text, re.IGNORECASE):
        return Budget(wall_s=parse_duration_s(text, "budget"))
    if cluster is None:
        raise UsageError("money is for virtual clusters; write a time, for example 1h30m", field="budget", given=text)
    from .cluster import cluster_from  # noqa: PLC0415 - only a virtual cluster needs it

    found = cluster_from(cluster)
    hourly_usd = usd_per_hour(found)
    if not hourly_usd:
        raise UsageError(f"{found.name} says neither price_usd nor power_w", field="budget", given=text)
    wall_s = sensible_s(float(money[1]) / hourly_usd * 3600.0, "budget", text)
    return Budget(wall_s=wall_s, unit=DOLLARS, hourly=hourly_usd)
