"""The settings by name. A new setting is one line here, and a class if none fits."""

import difflib
from collections.abc import Mapping

from ..errors import RefusedError
from .ethtool import Adaptive, Coalescing, Offload, Ring
from .ip_link import Mtu
from .setting import PREFIX, Setting
from .sysctl import Sysctl

_ALL: tuple[Setting, ...] = (
    Mtu(),
    Ring("rx_ring", "rx"),
    Ring("tx_ring", "tx"),
    Adaptive("adaptive_rx", "adaptive-rx"),
    Adaptive("adaptive_tx", "adaptive-tx"),
    Coalescing("rx_usecs", "rx-usecs"),
    Coalescing("rx_frames", "rx-frames"),
    Coalescing("tx_usecs", "tx-usecs"),
    Coalescing("tx_frames", "tx-frames"),
    Offload("sg", "scatter-gather"),
    Offload("tso", "tcp-segmentation-offload"),
    Offload("gso", "generic-segmentation-offload"),
    Offload("gro", "generic-receive-offload"),
    Offload("lro", "large-receive-offload"),
    Sysctl("rmem_max", "net.core.rmem_max", "bytes"),
    Sysctl("wmem_max", "net.core.wmem_max", "bytes"),
    Sysctl("tcp_rmem", "net.ipv4.tcp_rmem", "three"),
    Sysctl("tcp_wmem", "net.ipv4.tcp_wmem", "three"),
    Sysctl("tcp_congestion", "net.ipv4.tcp_congestion_control", "name"),
)
"""The settings in the order of application: first those that reset a NIC, and each before settings it overrules."""

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _ALL}


def setting(name: str) -> Setting:
    """Return the setting of this name.

    Raises:
        RefusedError: there is no such setting; the message suggests the nearest.
    """
    name = name.removeprefix(PREFIX)
    if name in SETTINGS:
        return SETTINGS[name]
    near = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.5)
    hint = f"did you mean {PREFIX}{near[0]}?" if near else f"known are {', '.join(PREFIX + each for each in SETTINGS)}"
    raise RefusedError(f"{PREFIX}{name}: there is no such network setting; {hint}")
