"""`hpltune net show`, `net restore` and `net sudoers`: what can be set on hosts, what was, and who may set it."""

import os
import platform
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from results.report.model import Report, Sentence, Table, columns
from results.store.store import Store
from runners.errors import InvalidJobError, RefusedError
from runners.hosts.cluster import load_real_cluster
from runners.hosts.transport import Local, Ssh, Transport, anchored, checked, for_each
from runners.settings.journal import IDENTITY, identity_in
from runners.settings.registry import host_settings
from runners.settings.script import converse
from runners.settings.setting import checked_interface, interfaces_of
from runners.settings.survey import Node, look_at, require_interfaces

from ...errors import TunerError, UsageError
from ...settings.changed_hosts import forget_host, original_of, put_back_changed_hosts
from ...study.trust import may_reach
from ...user_dirs import UserDirs

USER = re.compile(r"%?[A-Za-z_][A-Za-z0-9_.-]{0,31}")
"""A user's name, or a group's after "%": nothing that sudoers would read as something else."""
ALIAS = re.compile(r"%?[A-Z][A-Z0-9_]*|Defaults|\w+_Alias")
"""What sudoers(5) reads as everybody (ALL), as an alias, or as the beginning of another kind of line."""
ELSEWHERE = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
_SPECIAL = re.compile(r"([,:=\\])")
"""Characters that must be escaped in the arguments of a command (sudoers(5))."""


def way_to_hosts(hosts: str | None, ssh: str | None, cluster: Path | None = None) -> tuple[Transport, tuple[str, ...]]:
    """The way to the hosts of `--hosts` or of a cluster's file, and their names; without both this machine.

    Raises:
        TunerError: a name is no host's, or `--ssh` cannot be split into words.
        ClusterFileError: the file cannot be read.
    """
    if cluster is not None:
        found = load_real_cluster(cluster)
        if hosts is not None or ssh is not None or not found.hosts:
            raise UsageError("⟦cluster⟧ names hosts and how they are reached: give it alone", field="cluster")
        return found.reach, found.hosts
    if hosts is None:
        if ssh is not None:
            raise UsageError("⟦ssh⟧ says how hosts are reached: name them with ⟦hosts⟧", field="ssh")
        return Local(), (platform.node(),)
    try:
        names = tuple(dict.fromkeys(checked(name.strip()) for name in hosts.split(",")))
    except InvalidJobError as error:
        raise UsageError(f"{error}; write names with commas between, as h1,h2", field="hosts", given=hosts) from error
    try:
        words = tuple(shlex.split(ssh or "ssh"))
    except ValueError as error:
        raise UsageError(str(error), field="ssh", given=ssh) from error
    if not words:
        raise UsageError('give the program and its options, as ⟦ssh⟧ "ssh -F file"', field="ssh", given="")
    return Ssh(anchored(words, Path.cwd())), names


def chosen_interfaces(interface: str | None, node: Node) -> tuple[str, ...]:
    """The interfaces of `--interface`; without it those of a node that are up and lead out of it.

    Raises:
        TunerError: a name is no interface's.
    """
    if interface is None:
        return tuple(each.name for each in node.interfaces if each.up and not each.loopback)
    try:
        return interfaces_of(interface)
    except InvalidJobError as error:
        raise UsageError(str(error), field="interface", given=interface) from error


@dataclass(frozen=True)
class ShownSetting:
    """A setting of a host: its value, or the sentence why there is none."""

    host: str
    interface: str
    setting: str
    value: str | None
    fixed: bool
    reason: str


def _settings_of(reach: Transport, host: str, interface: str | None) -> list[ShownSetting]:
    """All settings of a host; where it tells of no interface, those of interfaces say so."""
    known, lacking = host_settings(), list[ShownSetting]()
    try:
        node = look_at(reach, host)
    except RefusedError as error:
        names = [name for name, one in known.items() if one.per_interface]
        lacking = [ShownSetting(host, "", name, None, fixed=False, reason=str(error)) for name in names]
        interfaces: tuple[str, ...] = ()
    else:
        interfaces = chosen_interfaces(interface, node)
        require_interfaces({host: node}, interfaces)
    keys = [(each, name) for name, one in known.items() for each in (interfaces if one.per_interface else ("",))]
    told = converse(reach, host, [known[name].show(each) for each, name in keys])
    return lacking + [_read(host, each, name, one.printed) for (each, name), one in zip(keys, told, strict=True)]


def _read(host: str, interface: str, name: str, printed: str) -> ShownSetting:
    try:
        reading = host_settings()[name].read(printed)
    except RefusedError as error:
        return ShownSetting(host, interface, name, None, fixed=False, reason=str(error))
    return ShownSetting(host, interface, name, reading.value, fixed=reading.fixed, reason="")


def net_show(
    store: Store | None, hosts: str | None, interface: str | None, ssh: str | None, cluster: Path | None = None
) -> Report:
    """Report all settings by host, and the hosts that a killed hpltune left changed.

    Args:
        store: tells which hosts are changed; None where there is no database yet.
        hosts: names with commas between; None for this machine.
        interface: names with commas between; None for those that are up.
        ssh: the command that reaches hosts; None for ssh.
        cluster: the file of a cluster, whose hosts they are.

    Raises:
        TunerError, RunnerError: a sentence says which host or interface cannot be asked.
    """
    reach, names = way_to_hosts(hosts, ssh, cluster)
    settings = for_each(names, lambda host: _settings_of(reach, host, interface))
    recorded = [original_of(row) for row in (store.network.originals() if store else ()) if row.host in names]
    asked = tuple(dict.fromkeys(each.host for each in recorded))
    ids = for_each(asked, lambda host: identity_in(converse(reach, host, [IDENTITY])[0].printed))
    changed = {each.host for each in recorded if each.found_on(*ids[each.host]) == "here"}
    known, all_shown = host_settings(), [each for shown in settings.values() for each in shown]
    untold = (each.reason for each in all_shown if known[each.setting].per_interface and not each.interface)
    parts: list[Sentence | Table] = [_table(host, shown) for host, shown in settings.items()]
    parts += [Sentence(f"{reason}.") for reason in dict.fromkeys(untold)]
    left = (host for host in names if host in changed)
    parts += [Sentence(f"{host} still has changed settings: `hpltune net restore` restores them.") for host in left]
    return Report("Network", tuple(parts), [vars(each) for each in all_shown])


def _table(host: str, shown: Sequence[ShownSetting]) -> Table:
    interfaces = list(dict.fromkeys(each.interface for each in shown if each.interface))
    cells = {(each.setting, each.interface): _cell(each) for each in shown}
    heads = columns("setting", *(interfaces or ["host"]))
    rows = []
    for name, one in host_settings().items():
        keys = interfaces if one.per_interface else [""]
        if keys:
            filled = [cells[(name, key)] for key in keys]
            rows.append((name, *filled, *[""] * (len(heads) - 1 - len(filled))))
    return Table(f"Settings of {host}", heads, tuple(rows))


def _cell(shown: ShownSetting) -> str:
    if shown.value is None:
        return f"not here: {shown.reason}"
    return f"{shown.value} (fixed by the driver)" if shown.fixed else shown.value


@dataclass(frozen=True)
class NetRestoreResult:
    """Sentences about what was put back or forgotten, and about what is still changed."""

    done: tuple[str, ...]
    left: tuple[str, ...]

    def report(self) -> Report:
        """Both, or that there was nothing."""
        sentences = (*self.done, *self.left) or ("Nothing is to be put back.",)
        facts = {"done": list(self.done), "left": list(self.left)}
        return Report("Network restored", tuple(map(Sentence, sentences)), facts)


def net_restore(
    store: Store,
    hosts: tuple[str, ...] = (),
    ssh: tuple[str, ...] = (),
    *,
    force: bool = False,
    forget: str | None = None,
) -> NetRestoreResult:
    """Put hosts back, those that answer.

    Args:
        hosts: are looked at, too, whichever database and user they were changed with.
        ssh: the tokens that reach `hosts`; none for this machine.
        force: also what was changed from another machine, whose hpltune may still run.
        forget: a host that is gone, of which what is recorded is dropped instead; None for none.

    Raises:
        TunerError: nothing is recorded of a host to be forgotten.
    """
    if forget is not None:
        return NetRestoreResult((forget_host(store, forget),), ())
    ways = partial(may_reach, store, UserDirs.of_user(to_read=True))
    done, left = put_back_changed_hosts(store, ways, force=force, hosts=hosts, ssh=ssh)
    return NetRestoreResult(tuple(done), tuple(left))


def rules(user: str, interface: str | None) -> str:
    """Write a file for /etc/sudoers.d: it allows exactly the commands that `hpltune` runs as root.

    Args:
        user: a name, or "%" and the name of a group.
        interface: as `--interface`; None takes those of this machine.

    Raises:
        TunerError: that is no user's or group's name, or there is no interface.
    """
    if ALIAS.fullmatch(user):
        everybody = "all users" if user.endswith("ALL") else "something else than a user"
        raise UsageError(f"sudo reads that as {everybody}: name one user, or a group as %hpc", field="user", given=user)
    if not USER.fullmatch(user):
        raise UsageError("that is no user's name; a group is written as %hpc", field="user", given=user)
    interfaces = chosen_interfaces(interface, look_at(Local(), "here"))
    if not interfaces:
        raise TunerError("this machine has no interface that leads out of it: name those of the nodes with ⟦interface⟧")
    lines = [
        "# What `hpltune` runs as root to tune a network. On every node: /etc/sudoers.d/hpltune, mode 0440.",
        "# Needs sudo 1.9.10 or newer. Check it with: visudo -c -f FILE",
        *([f"# Every member of the group {user[1:]} may run these commands."] if user.startswith("%") else []),
        *(f"{user} ALL=(root) NOPASSWD: {program} ^{arguments}$" for program, arguments in _commands(interfaces)),
    ]
    return "\n".join(lines) + "\n"


def _commands(interfaces: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for one in host_settings().values():
        for interface in interfaces if one.per_interface else ("",) if one.needs_root else ():
            name = re.escape(checked_interface(interface)) if interface else ""
            program, arguments = one.rule(name)
            path = ":".join((os.environ.get("PATH", os.defpath), *ELSEWHERE))
            found.append(
                (shutil.which(program, path=path) or f"{ELSEWHERE[0]}/{program}", _SPECIAL.sub(r"\\\1", arguments))
            )
    return found
