"""What can be set on the network of a host, and what it is now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runners.errors import RefusedError
from runners.hosts.transport import Transport
from runners.network.registry import SETTINGS
from runners.network.script import converse, for_each
from runners.network.setting import PREFIX
from runners.network.survey import look_at, require_interfaces

from .options import chosen_interfaces


@dataclass(frozen=True)
class HostSetting:
    """A setting of a host: its value, or the sentence why there is none."""

    host: str
    interface: str
    setting: str
    value: str | None
    fixed: bool
    reason: str

    def to_json(self) -> dict[str, object]:
        """By name, as a parameter of a space is called."""
        return {**vars(self), "setting": PREFIX + self.setting}


def settings_of_hosts(reach: Transport, hosts: Sequence[str], interface: str | None) -> Mapping[str, list[HostSetting]]:
    """All settings of each host.

    Args:
        interface: as `--interface`; None takes those that are up.

    Raises:
        TunerError, RunnerError: a sentence says which host or interface cannot be asked.
    """
    return for_each(hosts, lambda host: _settings_of(reach, host, interface))


def _settings_of(reach: Transport, host: str, interface: str | None) -> list[HostSetting]:
    node = look_at(reach, host)
    interfaces = chosen_interfaces(interface, node)
    require_interfaces({host: node}, interfaces)
    keys = [(each, name) for name, one in SETTINGS.items() for each in (interfaces if one.per_interface else ("",))]
    told = converse(reach, host, [SETTINGS[name].show(each) for each, name in keys])
    return [_read(host, each, name, one.printed) for (each, name), one in zip(keys, told, strict=True)]


def _read(host: str, interface: str, name: str, printed: str) -> HostSetting:
    try:
        reading = SETTINGS[name].read(printed)
    except RefusedError as error:
        return HostSetting(host, interface, name, None, fixed=False, reason=str(error))
    return HostSetting(host, interface, name, reading.value, fixed=reading.fixed, reason="")
