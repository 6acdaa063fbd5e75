"""What programs take of nodes now, measured over a second; asked by one POSIX shell script, also of this machine."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..process_tree import FIND
from .hearing import CommandResult
from .transport import Local, Transport, say_all

HERE = "this machine"
"""The name of the only node where no cluster is asked."""
TICKS_PER_S = 100.0
"""Steps of /proc/stat in a second: USER_HZ, which Linux keeps at 100 for all programs (`man 7 time`)."""
LIMIT_S = 15.0
MOST_PROGRAMS = 3
_LOOK = (
    f"own=$(echo $({FIND}))"
    r"""
look() {
    head -n 1 /proc/stat; grep -c '^cpu[0-9]' /proc/stat
    { stat -c '%n %U' /proc/[0-9]*; cat /proc/[0-9]*/stat; } 2>/dev/null | awk -v me="$(id -un)" -v own="$own" '
    BEGIN {
        split(own, files, " "); for (one in files) { split(files[one], part, "/"); user[part[3]] = "=" }
    } /^\/proc\// {
        if (!(substr($1, 7) in user)) user[substr($1, 7)] = $2 == me ? "-" : $2
        next
    } {
        pid = $1; name = $0; sub(/^[0-9]+ \(/, "", name); end = name; sub(/\)[^)]*$/, "", name)
        sub(/.*\) /, "", end); split(end, figure, " ")
        if (figure[12] + figure[13] > 0) print pid, figure[12] + figure[13], (pid in user ? user[pid] : "-"), name
    }'
}
look; echo; sleep 1; look
"""
)
"""Of all CPUs, and of each process that took any time: its number, time, user and name; our own user is "-", and "=" is
a process of job $1, which may outlive its end for a moment."""
_PROCESS = re.compile(r"(\d{1,9}) (\d{1,15}) (\S{1,32}) (.{0,64})")


@dataclass(frozen=True)
class OthersLoad:
    """What programs took of a node during a second.

    Attributes:
        cores: CPUs of the node, at least 1.
        busy: CPUs that were busy on average.
        programs: names of those that took most, the first most; those of another user as "xhpl of ada".
    """

    cores: int
    busy: float
    programs: tuple[str, ...] = ()

    @property
    def part(self) -> float:
        """The part of the node that was busy."""
        return self.busy / self.cores

    def __str__(self) -> str:
        """Write what was taken, as "0.8 of 2 cores, mostly python3 and cc1"."""
        mostly = f", mostly {' and '.join(self.programs)}" if self.programs else ""
        return f"{self.busy:.2g} of {self.cores} core{'' if self.cores == 1 else 's'}{mostly}"


def others_on(reach: Transport | None, nodes: Sequence[str], job: str = "") -> Mapping[str, OthersLoad]:
    """Measure what is taken of nodes for a second, all at the same time; what does not tell is left out.

    Args:
        reach: None for this machine alone, of which this process does not count.
        job: whose processes do not count either; "" for none.
    """
    asked, own = (nodes, frozenset[int]()) if reach else ([HERE], frozenset({os.getpid()}))
    said = say_all(reach or Local(), asked, ("sh", "-c", _LOOK, "look", job), timeout_s=LIMIT_S)
    found = {node: parse_load(one.stdout, own) for node, one in said.items() if isinstance(one, CommandResult)}
    return {node: load for node, load in found.items() if load is not None}


def parse_load(text: str, own: frozenset[int] = frozenset()) -> OthersLoad | None:
    """Read what the script printed; None where it is not that.

    Args:
        own: processes that do not count.
    """
    first, _, second = text.partition("\n\n")
    before, after = _look(first), _look(second)
    if before is None or after is None or after.all_ticks <= before.all_ticks:
        return None
    ours, others = Counter[str](), Counter[str]()
    for pid, (ticks, name) in after.processes.items():
        counted = ours if pid in own or not name else others
        counted[name] += max(0, ticks - before.processes.get(pid, (0, name))[0])
    lasted = (after.all_ticks - before.all_ticks) / after.cores
    busy = max(0, after.busy_ticks - before.busy_ticks - ours.total()) / lasted
    most = tuple(name for name, ticks in others.most_common(MOST_PROGRAMS) if ticks > 0.01 * lasted)
    return OthersLoad(after.cores, min(busy, after.cores), most)


@dataclass(frozen=True)
class _Look:
    """Ticks since the node was booted: of all CPUs, of busy ones, and of processes with names, "" for our job's."""

    cores: int
    all_ticks: int
    busy_ticks: int
    processes: Mapping[int, tuple[int, str]]


def _look(text: str) -> _Look | None:
    head, *rest = text.strip().splitlines() or [""]
    figures = head.split()[1:9]
    cores = rest[0].strip() if rest else ""
    if not head.startswith("cpu ") or len(figures) < 5 or not all(one.isdecimal() for one in [*figures, cores]):
        return None
    ticks = [int(one) for one in figures]
    processes = {}
    for line in rest[1:]:
        if match := _PROCESS.fullmatch(line):
            name, user = ("".join(one for one in text if " " <= one <= "~")[:32] for text in (match[4], match[3]))
            processes[int(match[1])] = (int(match[2]), {"-": name, "=": ""}.get(user, f"{name} of {user}"))
    return _Look(
        max(1, int(cores)),
        sum(ticks),
        sum(ticks) - (ticks[3] + ticks[4]) - (ticks[7] if len(ticks) > 7 else 0),
        processes,
    )
