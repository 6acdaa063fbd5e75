"""What some hosts offer of settings: which values they can have, and which are worth trying."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import RefusedError
from ..hosts.system_facts import SystemFacts
from .registry import SETTINGS, is_setting, setting
from .setting import SettingValue
from .sys import Cores


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
                return self._why_not_alike(one, text)
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
        one = setting(Cores.name)
        if not isinstance(one, Cores) or self.why_not(one.name, value) is not None:
            return None
        return len(one.chosen(str(value), self.first))

    def _why_not_alike(self, one: Cores, value: str) -> str | None:
        first = one.chosen(value, self.first)
        for host, system in self.systems.items():
            if one.chosen(value, system) != first:
                numbers = "has other numbers for its cores than the first node: name CPUs, as 0-3"
                return f"{one.name} = {value}: node {host} {numbers}"
        return None
