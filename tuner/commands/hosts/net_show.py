"""`hpltune net show`: what can be set on hosts, and what it is now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.report.model import Column, Report, Sentence, Table
from results.store.store import Store
from runners.network.registry import SETTINGS
from runners.network.setting import PREFIX

from ...network.host_settings import HostSetting, settings_of_hosts
from ...network.options import way_to_hosts


@dataclass(frozen=True)
class NetShowRequest:
    """Whose settings to show.

    Attributes:
        hosts: names with commas between; None for this machine.
        interface: names with commas between; None for those that are up.
        ssh: the command that reaches hosts; None for ssh.
    """

    hosts: str | None = None
    interface: str | None = None
    ssh: str | None = None


@dataclass(frozen=True)
class NetShowResult:
    """All settings by host, and the hosts that a killed hpltune left changed."""

    settings: Mapping[str, Sequence[HostSetting]]
    changed: tuple[str, ...]

    def report(self) -> Report:
        """A table for each host."""
        parts: list[Sentence | Table] = [_table(host, shown) for host, shown in self.settings.items()]
        parts += [
            Sentence(f"{host} still has changed settings: `hpltune net restore` restores them.")
            for host in self.changed
        ]
        facts: list[object] = [each.to_json() for shown in self.settings.values() for each in shown]
        return Report("Network", tuple(parts), facts)


def net_show(request: NetShowRequest, store: Store | None) -> NetShowResult:
    """Read all settings of hosts.

    Args:
        store: tells which hosts are changed; None where there is no database yet.

    Raises:
        TunerError, RunnerError: a sentence says which host or interface cannot be asked.
    """
    reach, names = way_to_hosts(request.hosts, request.ssh)
    settings = settings_of_hosts(reach, names, request.interface)
    changed = {row.host for row in (store.network.originals() if store else ())}
    return NetShowResult(settings, tuple(host for host in names if host in changed))


def _table(host: str, shown: Sequence[HostSetting]) -> Table:
    interfaces = list(dict.fromkeys(each.interface for each in shown if each.interface))
    cells = {(each.setting, each.interface): _cell(each) for each in shown}
    columns = tuple(Column(head, words=True) for head in ("setting", *(interfaces or ["host"])))
    rows = []
    for name, one in SETTINGS.items():
        keys = interfaces if one.per_interface else [""]
        if keys:
            filled = [cells[(name, key)] for key in keys]
            rows.append((PREFIX + name, *filled, *[""] * (len(columns) - 1 - len(filled))))
    return Table(f"Network of {host}", columns, tuple(rows))


def _cell(shown: HostSetting) -> str:
    if shown.value is None:
        return f"not here: {shown.reason}"
    return f"{shown.value} (fixed by the driver)" if shown.fixed else shown.value
