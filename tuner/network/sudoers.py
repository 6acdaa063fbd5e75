"""Writes the sudo rules that a user needs who is not root."""

import re
import shutil
from collections.abc import Sequence

from runners.hosts.transport import Local
from runners.network.registry import SETTINGS
from runners.network.setting import checked_interface
from runners.network.survey import look_at

from ..errors import TunerError, UsageError
from .options import chosen_interfaces

USER = re.compile(r"%?[A-Za-z_][A-Za-z0-9_.-]{0,31}")
"""A user's name, or a group's after "%": nothing that sudoers would read as something else."""
ALIAS = re.compile(r"%?[A-Z][A-Z0-9_]*|Defaults|\w+_Alias")
"""What sudoers(5) reads as everybody (ALL), as an alias, or as the beginning of another kind of line."""
ELSEWHERE = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
_SPECIAL = re.compile(r"([,:=\\])")
"""Characters that must be escaped in the arguments of a command (sudoers(5))."""


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
        raise TunerError("this machine has no interface that leads out of it: name those of the nodes with «interface»")
    lines = [
        "# What `hpltune` runs as root to tune a network. On every node: /etc/sudoers.d/hpltune, mode 0440.",
        "# Needs sudo 1.9.10 or newer. Check it with: visudo -c -f FILE",
        *([f"# Every member of the group {user[1:]} may run these commands."] if user.startswith("%") else []),
        *(f"{user} ALL=(root) NOPASSWD: {program} ^{arguments}$" for program, arguments in _commands(interfaces)),
    ]
    return "\n".join(lines) + "\n"


def _commands(interfaces: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for one in SETTINGS.values():
        for interface in interfaces if one.per_interface else ("",):
            name = re.escape(checked_interface(interface)) if interface else ""
            program, arguments = one.rule(name)
            found.append((_path(program), _SPECIAL.sub(r"\\\1", arguments)))
    return found


def _path(program: str) -> str:
    return shutil.which(program) or shutil.which(program, path=":".join(ELSEWHERE)) or f"{ELSEWHERE[0]}/{program}"
