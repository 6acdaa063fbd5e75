"""Lists of hosts: ranges as Slurm and Flux write them, files with a host on each line, variables of an allocation."""

import os
import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from pathlib import Path

from .host_names import EXPECTED, host_named

MOST_HOSTS = 65_536
"""Hosts that one list may name."""
LARGEST_BYTES = 16 * 2**20
"""Of a file of hosts: PBS and LSF write a host once for each of its cores."""
VARIABLE, FILE = "env:", "file:"
"""What stands before the name of a variable, and before the path of a file of hosts."""
RANGE_FORM = "a range of hosts has numbers in brackets, as node[01-16,20]"
_BRACKETS = re.compile(r"\[([^\][]*)\]")
_SPANS, _PLAIN = re.compile(r"[0-9,/-]+"), re.compile(r"[A-Za-z0-9._-]*")
"""What stands within brackets of a range, and between them."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECTION = re.compile(r"\[([\w.:-]+)\]")
"""The head of a group in an inventory of Ansible."""
_NO_HOSTS = (":vars", ":children")
"""How the groups end whose lines name no hosts."""
_NAMED_LATER = re.compile(r"rank \d+ ?= ?(\S+)|.*\bansible_host ?= ?(\S+)")
"""Lines whose first word is not the host: of a rankfile of Open MPI, and of an inventory that has the address, too."""
_SHOWN = 80
"""Characters of a stranger's text in a sentence."""


def expanded(text: str) -> tuple[str, ...] | None:
    """Return the names of a range, as node[01-04,7], rack[1-2]n[1-8] or node[1-63/2]; None if it is no range.

    Raises:
        ValueError: it is a range that names no host, or too many.
    """
    pieces = _BRACKETS.split(text)
    well_formed = all((_SPANS if at % 2 else _PLAIN).fullmatch(piece) for at, piece in enumerate(pieces))
    if len(pieces) == 1 or not well_formed or text[0] in "[.-":
        return None
    choices = [_numbers(piece) if at % 2 else [piece] for at, piece in enumerate(pieces)]
    if prod(map(len, choices)) > MOST_HOSTS:
        raise ValueError(_TOO_MANY)
    return tuple("".join(parts) for parts in product(*choices))


def _numbers(spans: str) -> list[str]:
    """Return the numbers of one pair of brackets, each with the leading zeros of the first of its span.

    A span has a step, as ClusterShell writes it: 1-63/2.
    """
    parts = re.findall(r"(?:^|,)([0-9]+)(?:-([0-9]+)(?:/0*([1-9][0-9]*))?)?(?=,|$)", spans)
    if len(parts) <= spans.count(","):
        raise ValueError(RANGE_FORM)
    ends = [(len(first), int(first), int(last or first), int(step or 1)) for first, last, step in parts]
    if (
        any(least > most for _, least, most, _ in ends)
        or sum((end[2] - end[1]) // end[3] + 1 for end in ends) > MOST_HOSTS
    ):
        raise ValueError(_TOO_MANY)
    return [f"{number:0{digits}d}" for digits, least, most, step in ends for number in range(least, most + 1, step)]


_TOO_MANY = f"a range rises, and names at most {MOST_HOSTS:,} hosts"


def listed_hosts(text: str, folder: Path, variables: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the hosts that a text of a cluster file names, each once, in order.

    Args:
        text: `env:NAME`, a variable with a list of hosts or with the path of a file of hosts; `file:PATH`; or a list.
        folder: of the cluster file, below which paths are that are not absolute.

    Raises:
        ValueError: a sentence says why it names no hosts.
    """
    if text.startswith(FILE):
        return _of_file(folder / text.removeprefix(FILE), "")
    if not text.startswith(VARIABLE):
        return _distinct(_in_list(text))
    name = text.removeprefix(VARIABLE)
    if not _NAME.fullmatch(name):
        raise ValueError(f'expected the name of a variable, as hosts = "{VARIABLE}PBS_NODEFILE"')
    value = variables.get(name, "").strip()
    if not value:
        how = "empty" if name in variables else "not set"
        raise ValueError(f"the variable {name} is {how}: start hpltune inside a job of the batch system that sets it")
    if "/" in value.partition("[")[0] or os.path.isfile(folder / value):  # noqa: PTH113 - a text that is too long is no path
        return _of_file(folder / value, f", which {name} names,")
    try:
        return _distinct(_in_list(value))
    except ValueError as error:
        raise ValueError(f"{name} is {_shown(value)}: {error}") from error


def _of_file(file: Path, whence: str) -> tuple[str, ...]:
    if file.is_fifo():  # to open it would wait for a writer, for ever
        raise ValueError(f"{_shown(str(file))}{whence} is a pipe: write the hosts into a file")
    try:
        with file.open("rb") as opened:
            read = opened.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a zero byte is a ValueError
        why = getattr(error, "strerror", None) or "it is no path"
        raise ValueError(f"the file {_shown(str(file))}{whence} cannot be read ({why})") from error
    if len(read) > LARGEST_BYTES:
        raise ValueError(f"the file {_shown(str(file))}{whence} is larger than {LARGEST_BYTES // 2**20} MiB")
    hosts, group = dict[str, None](), ""
    for number, line in enumerate(read.decode("utf-8-sig", errors="replace").splitlines(), start=1):
        entry = " ".join(line.partition("#")[0].split())
        head, later = _SECTION.fullmatch(entry), _NAMED_LATER.match(entry)
        group = head[1] if head else group
        if head or not entry or group.endswith(_NO_HOSTS):
            continue
        word = (later[1] or later[2]) if later else entry.split()[0]
        name, colon, slots = word.rpartition(":")  # MPICH and Intel MPI write host:4; an IPv6 address has colons, too
        try:
            host = name if colon and slots.isdecimal() and host_named(word) is None else word
            hosts.update(dict.fromkeys(_entry(host)))
            _require_few(hosts)
        except ValueError as error:
            raise ValueError(f"{_shown(str(file))}, line {number}: {error}") from error
    if not hosts:
        raise ValueError(f"the file {_shown(str(file))}{whence} names no host")
    return tuple(hosts)


def _in_list(text: str) -> Iterator[str]:
    """Yield the hosts of a list with commas or blanks between them; within brackets they are part of a range."""
    start, within = 0, False
    for at, sign in enumerate(f"{text},"):
        if not within and (sign == "," or sign.isspace()):
            yield from _entry(text[start:at]) if at > start else ()
            start = at + 1
        within = sign != "]" and (within or sign == "[")
    if within:
        raise ValueError(RANGE_FORM)


def _entry(text: str) -> tuple[str, ...]:
    names = expanded(text) or (text,)
    for name in names:
        if "[" in name or "]" in name:
            raise ValueError(RANGE_FORM)
        if "@" in name:
            raise ValueError(f"{_shown(name)} names a user: name the host alone, and its user in ~/.ssh/config")
        if host_named(name) is None or name.isdecimal():
            raise ValueError(f"{_shown(name)} is no host: expected {EXPECTED}")
    return tuple(host_named(name) or "" for name in names)


def _distinct(names: Iterator[str]) -> tuple[str, ...]:
    hosts: dict[str, None] = {}
    for name in names:
        hosts[name] = None
        _require_few(hosts)
    if not hosts:
        raise ValueError("it names no host")
    return tuple(hosts)


def _require_few(hosts: Mapping[str, None]) -> None:
    if len(hosts) > MOST_HOSTS:
        raise ValueError(f"more than {MOST_HOSTS:,} hosts")


def _shown(text: str) -> str:
    """Return a stranger's text as a sentence may bear it."""
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return cut if cut.isprintable() else repr(cut)
