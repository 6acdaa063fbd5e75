"""`hpltune net show`: what can be set on hosts, and what it is now."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from results.store.store import Store
from runners.errors import RefusedError
from runners.hosts.transport import Transport
from runners.network.registry import SETTINGS
from runners.network.script import converse, for_each
from runners.network.setting import PREFIX
from runners.network.survey import look_at, require_interfaces

from .options import chosen_interfaces, way


@dataclass(frozen=True)
class Shown:
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


def run_show(
    hosts: str | None, interface: str | None, ssh: str | None, store: Store | None, console: Console, *, as_json: bool
) -> int:
    """Print all settings of hosts.

    Raises:
        TunerError, RunnerError: a sentence says which host or interface cannot be asked.
    """
    reach, names = way(hosts, ssh)
    shown = [each for found in for_each(names, lambda host: _ask(reach, host, interface)).values() for each in found]
    if as_json:
        print(json.dumps([each.to_json() for each in shown], indent=1))
        return 0
    for host in names:
        console.print(_table(host, [each for each in shown if each.host == host]))
    changed = {row.host: row for row in (store.network.originals() if store else ())}
    for host in names:
        if host in changed:
            console.print(f"{host} still has changed settings: `hpltune net restore` restores them.")
    return 0


def _ask(reach: Transport, host: str, interface: str | None) -> list[Shown]:
    node = look_at(reach, host)
    interfaces = chosen_interfaces(interface, node)
    require_interfaces({host: node}, interfaces)
    keys = [(each, name) for name, one in SETTINGS.items() for each in (interfaces if one.per_interface else ("",))]
    told = converse(reach, host, [SETTINGS[name].show(each) for each, name in keys])
    return [_shown(host, each, name, one.printed) for (each, name), one in zip(keys, told, strict=True)]


def _shown(host: str, interface: str, name: str, printed: str) -> Shown:
    try:
        reading = SETTINGS[name].read(printed)
    except RefusedError as error:
        return Shown(host, interface, name, None, fixed=False, reason=str(error))
    return Shown(host, interface, name, reading.value, fixed=reading.fixed, reason="")


def _table(host: str, shown: list[Shown]) -> Table:
    interfaces = list(dict.fromkeys(each.interface for each in shown if each.interface))
    cells: Mapping[tuple[str, str], Shown] = {(each.setting, each.interface): each for each in shown}
    table = Table(title=f"Network of {host}", title_justify="left")
    for head in ("setting", *(interfaces or ["host"])):
        table.add_column(head)
    for name, one in SETTINGS.items():
        places = interfaces if one.per_interface else [""]
        if places:
            table.add_row(PREFIX + name, *(_cell(cells[(name, place)]) for place in places))
    return table


def _cell(shown: Shown) -> str:
    if shown.value is None:
        return f"not here: {shown.reason}"
    return f"{shown.value} (fixed by the driver)" if shown.fixed else shown.value
