"""The settings of hosts by name. A new setting is one line here, and a class if none fits.

Commands, checks, search spaces, the glossary, `net show` and the rules of sudo know a setting from here alone.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import RefusedError
from .net import ALGORITHM, THREE_SIZES, Adaptive, Coalescing, Mtu, Offload, Ring, Sysctl
from .setting import BYTES, HostSetting, InterfaceChoice, Setting, Values, whole
from .sys import (
    ENVIRONMENT,
    BlisPartition,
    Cores,
    MallocHugePages,
    NumaPolicy,
    OmpWait,
    RankVariable,
    kernel_values,
    rank_variable,
)

NETWORK = "net."
"""The family of a name without one: `net probe --with mtu=9000`, and what older versions have recorded."""
_THROTTLING = (
    "How long the NIC holds back an interrupt, in microseconds (throttling). A large value saves CPU time, but every "
    "small message takes longer."
)


@dataclass(frozen=True)
class VirtualSetting(Setting):
    """A setting that only virtual clusters have."""

    name: str
    values: Values
    meaning: str = ""


_ALL: tuple[Setting, ...] = (
    Mtu(),
    Ring("net.rx_ring", "rx"),
    Ring("net.tx_ring", "tx"),
    Adaptive("net.adaptive_rx", "adaptive-rx"),
    Adaptive("net.adaptive_tx", "adaptive-tx"),
    Coalescing("net.rx_usecs", "rx-usecs", meaning=_THROTTLING),
    Coalescing("net.rx_frames", "rx-frames"),
    Coalescing("net.tx_usecs", "tx-usecs"),
    Coalescing("net.tx_frames", "tx-frames"),
    Offload("net.sg", "sg", feature="scatter-gather"),
    Offload("net.tso", "tso", feature="tcp-segmentation-offload"),
    Offload("net.gso", "gso", feature="generic-segmentation-offload"),
    Offload("net.gro", "gro", feature="generic-receive-offload"),
    Offload("net.lro", "lro", feature="large-receive-offload"),
    Sysctl("net.rmem_max", "net.core.rmem_max", BYTES),
    Sysctl("net.wmem_max", "net.core.wmem_max", BYTES),
    Sysctl("net.tcp_rmem", "net.ipv4.tcp_rmem", THREE_SIZES),
    Sysctl("net.tcp_wmem", "net.ipv4.tcp_wmem", THREE_SIZES),
    Sysctl("net.tcp_congestion", "net.ipv4.tcp_congestion_control", ALGORITHM),
    VirtualSetting(
        "net.nics",
        whole(1, 16),
        "How many NICs of each node a virtual cluster uses. More NICs carry long messages faster.",
    ),
    VirtualSetting(
        "net.network",
        Values("the name of a network", r"[\w.+-]+"),
        "Which of a virtual cluster's networks carries the messages.",
    ),
    InterfaceChoice(),
    *kernel_values(),
    MallocHugePages(),
    OmpWait(),
    BlisPartition(),
    Cores(),
    NumaPolicy(),
    RankVariable(),
)
"""In the order of application: first those that reset a NIC, and each before settings it overrules."""

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _ALL}


def is_setting(name: str) -> bool:
    """Return whether a parameter of this name is a setting; there may be none of this name in its family."""
    family, dot, _ = name.partition(".")
    return bool(dot) and any(known.startswith(f"{family}.") for known in SETTINGS)


def full_name(recorded: str) -> str:
    """Return the name of a setting that is recorded, or was given to `net probe`, without its family."""
    return recorded if "." in recorded else NETWORK + recorded


def recorded_name(name: str) -> str:
    """Return the name by which notes and databases know a setting: those of networks have no family there."""
    return name.removeprefix(NETWORK)


def setting(name: str) -> Setting:
    """Return the setting of real hosts with this name.

    Raises:
        RefusedError: there is no such setting; the message suggests the nearest. Or hpltune sets the variable itself.
    """
    if name.startswith(ENVIRONMENT):
        return rank_variable(name)
    known = {name: one for name, one in SETTINGS.items() if not isinstance(one, VirtualSetting)}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    kind = "network setting" if name.startswith(NETWORK) else "setting"
    raise RefusedError(f"{name}: there is no such {kind}; {hint}")


def subject(names: Iterable[str]) -> str:
    """Return what settings with these names belong to, for a sentence."""
    return "network" if all(name.startswith(NETWORK) for name in names) else "settings"


def host_settings() -> Mapping[str, HostSetting]:
    """Return the values that nodes have, in the order of application."""
    return {name: one for name, one in SETTINGS.items() if isinstance(one, HostSetting)}
