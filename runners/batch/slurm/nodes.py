"""What sinfo prints of partitions and their nodes, and how it is read."""

import math
import re

from ..base import BatchNode, BatchQueue

NODE_FORM, PARTITION_FORM = "%N|%X|%Y|%m|%T|%f|%E", "%P|%a|%l|%D|%s"
"""The fields of a line, as sinfo is asked for them."""
_FLAGS = "*~#!%$@^-+"
"""Flags that sinfo appends to a state: "*" does not respond, "~" is powered off, … (sinfo(1), NODE STATE CODES)."""
_SPAN = re.compile(r"(?:(?P<days>\d+)-)?(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+)")
_ENDLESS = {"infinite", "UNLIMITED"}


def parse_nodes(text: str) -> tuple[BatchNode, ...]:
    """Parse nodes in Slurm's order, each once even if it is in several partitions."""
    found: dict[str, BatchNode] = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split("|", maxsplit=NODE_FORM.count("|"))]
        if len(parts) <= NODE_FORM.count("|") or not all(part.isdecimal() for part in parts[1:4]):
            continue
        name, sockets, cores, memory, state, features, reason = parts
        found.setdefault(name, BatchNode(
            name, int(sockets) * int(cores), int(memory), state.rstrip(_FLAGS),
            () if features == "(null)" else tuple(features.split(",")), "*" not in state,
            "" if reason == "none" else reason,
        ))  # fmt: skip
    return tuple(found.values())


def parse_partitions(text: str) -> tuple[BatchQueue, ...]:
    """Parse partitions in Slurm's order; several lines of one partition are added up."""
    found: dict[str, BatchQueue] = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != PARTITION_FORM.count("|") + 1 or not parts[3].isdecimal():
            continue
        name, most = parts[0].removesuffix("*"), parts[4].rpartition("-")[2]
        before = found[name].nodes if name in found else 0
        found[name] = BatchQueue(
            name, parts[0].endswith("*"), parts[1] == "up", parse_span_s(parts[2]), before + int(parts[3]),
            int(most) if most.isdecimal() else None,
        )  # fmt: skip
    return tuple(found.values())


def parse_span_s(text: str) -> float | None:
    """Parse a duration, as "5:00" or "2-03:00:00", to seconds.

    Returns:
        `math.inf` for no limit; None if it is not known ("NOT_SET", "INVALID", "N/A").
    """
    if text in _ENDLESS:
        return math.inf
    match = _SPAN.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(match[name] or 0) for name in ("days", "hours", "minutes", "seconds"))
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
