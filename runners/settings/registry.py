"""The settings of hosts by name, and which of their values some hosts offer.

A new setting is one line here, and a class if none fits. Commands, checks, search spaces, the
glossary, `net show` and the rules of sudo know a setting from here alone.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..errors import RefusedError
from ..hosts.system_facts import SystemFacts
from .net import ALGORITHM, LEAST_MTU, THREE_SIZES, Adaptive, Coalescing, Mtu, Offload, Ring, Sysctl
from .setting import (
    BYTES,
    CHOICE,
    COUNT,
    INTERFACES,
    ON_OFF,
    HostSetting,
    InterfaceChoice,
    LaunchSetting,
    Setting,
    SettingValue,
    Values,
    whole,
)
from .sys import ENVIRONMENT, OF_RANKS, Cores, kernel_values, rank_variable

NETWORK = "net."
"""The family of a name that is recorded without one."""
MOSTLY_ALIKE = 0.7
"""How alike two names are of which one is probably the other, mistyped; of 1 (difflib)."""
FRAMES = whole(1, unit="frames")

_ALL: tuple[Setting, ...] = (
    Mtu(
        "net.mtu",
        whole(LEAST_MTU, 65_535, "bytes"),
        meaning="The largest packet in bytes. Large packets mean fewer packets and less work for the CPU; every NIC "
        "and switch must accept them.",
    ),
    Ring("net.rx_ring", FRAMES, "rx"),
    Ring("net.tx_ring", FRAMES, "tx"),
    Adaptive("net.adaptive_rx", ON_OFF, "adaptive-rx"),
    Adaptive("net.adaptive_tx", ON_OFF, "adaptive-tx"),
    Coalescing(
        "net.rx_usecs",
        COUNT,
        "rx-usecs",
        meaning="How long the NIC holds back an interrupt, in microseconds (throttling). A large value saves CPU time, "
        "but every small message takes longer.",
    ),
    Coalescing("net.rx_frames", COUNT, "rx-frames"),
    Coalescing("net.tx_usecs", COUNT, "tx-usecs"),
    Coalescing("net.tx_frames", COUNT, "tx-frames"),
    Offload("net.sg", ON_OFF, "sg", "scatter-gather"),
    Offload("net.tso", ON_OFF, "tso", "tcp-segmentation-offload"),
    Offload("net.gso", ON_OFF, "gso", "generic-segmentation-offload"),
    Offload("net.gro", ON_OFF, "gro", "generic-receive-offload"),
    Offload("net.lro", ON_OFF, "lro", "large-receive-offload"),
    Sysctl("net.rmem_max", BYTES, "net.core.rmem_max"),
    Sysctl("net.wmem_max", BYTES, "net.core.wmem_max"),
    Sysctl("net.tcp_rmem", THREE_SIZES, "net.ipv4.tcp_rmem"),
    Sysctl("net.tcp_wmem", THREE_SIZES, "net.ipv4.tcp_wmem"),
    Sysctl("net.tcp_congestion", ALGORITHM, "net.ipv4.tcp_congestion_control"),
    Setting(
        "net.nics",
        whole(1, 16),
        meaning="How many NICs of each node a virtual cluster uses. More NICs carry long messages faster.",
    ),
    Setting(
        "net.network",
        Values("the name of a network", r"[\w.+-]+"),
        meaning="Which of a virtual cluster's networks carries the messages.",
    ),
    InterfaceChoice(CHOICE, INTERFACES, meaning="The NICs that MPI uses on each node."),
    *kernel_values(),
    *OF_RANKS,
)
"""In the order of application: first those that reset a NIC, and each before settings it overrules. What is neither of
hosts nor of a launch only virtual clusters have."""

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _ALL}


def is_setting(name: str) -> bool:
    """Return whether a parameter of this name is a setting; there may be none of this name in its family."""
    family, dot, _ = name.partition(".")
    return bool(dot) and any(known.startswith(f"{family}.") for known in SETTINGS)


def full_name(recorded: str) -> str:
    """Return the name of a setting that is recorded without its family."""
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
    known = {name: one for name, one in SETTINGS.items() if isinstance(one, HostSetting | LaunchSetting)}
    if name in known:
        return known[name]
    family, _, bare = name.rpartition(".")
    others = [one for one in known if one.startswith(f"{family}.")] or list(known)
    near = difflib.get_close_matches(bare, [one.rpartition(".")[2] for one in others], n=1, cutoff=MOSTLY_ALIKE)
    hint = f"did you mean {family}.{near[0]}?" if near else f"there are {', '.join(others)}"
    kind = "network setting" if name.startswith(NETWORK) else "setting"
    raise RefusedError(f"{name}: there is no such {kind}; {hint}")


def subject(names: Iterable[str]) -> str:
    """Return what settings with these names belong to, for a sentence."""
    return "network" if all(name.startswith(NETWORK) for name in names) else "settings"


def host_settings() -> Mapping[str, HostSetting]:
    """Return the values that nodes have, in the order of application."""
    return {name: one for name, one in SETTINGS.items() if isinstance(one, HostSetting)}


@dataclass(frozen=True)
class HostsOffer:
    """What the hosts of a study offer.

    Attributes:
        systems: what each host has, by its name; "" is this machine. Empty if the hosts are not known before a run.
    """

    systems: Mapping[str, SystemFacts] = field(default_factory=dict)

    @property
    def first(self) -> SystemFacts | None:
        """What the first host has; for a value that they offer, all give the ranks the same command."""
        return next(iter(self.systems.values()), None)

    def knows(self, name: str) -> bool:
        """Return whether a parameter of this name is a setting."""
        return is_setting(name)

    def why_not(self, name: str, value: SettingValue) -> str | None:
        """Return the sentence why a host cannot have a value, or None."""
        try:
            one = setting(name)
            text = one.text(value)
            for host, system in self.systems.items():
                lack = one.lacks(text, system)
                if lack:
                    return f"{name} = {value} cannot be had on {f'node {host}' if host else 'this machine'}: {lack}"
            if isinstance(one, Cores):
                first = one.chosen(text, self.first)
                for host, system in self.systems.items():
                    if one.chosen(text, system) != first:
                        return (
                            f"{name} = {text}: node {host} has other numbers for its cores than the first node: name "
                            "CPUs, as 0-3"
                        )
        except RefusedError as error:
            return str(error)
        return None

    def worth_trying(self, name: str) -> tuple[SettingValue, ...]:
        """Return the values that are worth trying on all hosts, best guess first."""
        if name not in SETTINGS or not self.systems:
            return ()
        first, *others = (SETTINGS[name].worth_trying(system) for system in self.systems.values())
        return tuple(value for value in first if all(value in other for other in others))

    def cores(self, value: SettingValue) -> int | None:
        """Return how many cores of each host a value of `sys.cores` names; None if it cannot be had."""
        one = setting("sys.cores")
        if not isinstance(one, Cores) or self.why_not(one.name, value) is not None:
            return None
        return len(one.chosen(str(value), self.first))
