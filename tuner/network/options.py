"""Reads the options of `hpltune net`: hosts, the way to them, interfaces and settings."""

import platform
import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

from hpl.params import Scalar
from runners.errors import InvalidJobError, RunnerError
from runners.hosts.transport import Local, Ssh, Transport, anchored, checked
from runners.network.registry import setting
from runners.network.setting import CHOICE, interfaces_of
from runners.network.survey import Node

from ..errors import UsageError


def way_to_hosts(hosts: str | None, ssh: str | None) -> tuple[Transport, tuple[str, ...]]:
    """The way to the hosts of `--hosts`, and their names; without `--hosts` this machine.

    Raises:
        TunerError: a name is no host's, or `--ssh` cannot be split into words.
    """
    if hosts is None:
        if ssh is not None:
            raise UsageError("«ssh» says how hosts are reached: name them with «hosts»", field="ssh")
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
        raise UsageError('give the program and its options, as «ssh» "ssh -F file"', field="ssh", given="")
    return Ssh(anchored(words, Path.cwd())), names


def chosen_interfaces(interface: str | None, node: Node) -> tuple[str, ...]:
    """The interfaces of `--interface`; without it those of a node that are up and lead out of it.

    Raises:
        TunerError: a name is no interface's.
    """
    if interface is None:
        return node.wired()
    try:
        return interfaces_of(interface)
    except InvalidJobError as error:
        raise UsageError(str(error), field="interface", given=interface) from error


def setting_combinations(with_: Sequence[str]) -> list[Mapping[str, Scalar]]:
    """All combinations of the values of `--with NAME=V[,V]`; without it one that changes nothing.

    Raises:
        TunerError: there is no such setting, or a value is not legal.
    """
    choices: dict[str, list[str]] = {}
    for one in with_:
        name, equals, values = one.partition("=")
        name = name.strip().removeprefix("net.")
        given = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not given:
            raise UsageError("write NAME=VALUE[,VALUE], as «with» mtu=1500,9000", field="with", given=one)
        try:
            given = [value if name == CHOICE else setting(name).text(value) for value in given]
            for value in given if name == CHOICE else ():
                interfaces_of(value)
        except RunnerError as error:
            raise UsageError(str(error), field="with", given=one) from error
        choices.setdefault(name, []).extend(given)
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
