"""Names of nodes written shortly, as Slurm writes them: node[001-084]."""

import re
from collections.abc import Iterable, Sequence

_NUMBERED = re.compile(r"(.*?)(\d+)")


def ranges(names: Iterable[str]) -> str:
    """Write names shortly: three or more whose numbers follow each other become one range."""
    runs: list[list[str]] = []
    for name in sorted(names, key=_in_order):
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(_written(run) for run in runs)


def _follows(before: str, name: str) -> bool:
    one, other = _NUMBERED.fullmatch(before), _NUMBERED.fullmatch(name)
    if one is None or other is None or one[1] != other[1]:
        return False
    padded = one[2].startswith("0") or other[2].startswith("0")
    return int(other[2]) == int(one[2]) + 1 and not (padded and len(one[2]) != len(other[2]))


def _in_order(name: str) -> tuple[str, int, str]:
    """Return what names are sorted by: n9 stands before n10."""
    numbered = _NUMBERED.fullmatch(name)
    return (numbered[1], int(numbered[2]), name) if numbered else (name, -1, name)


def _written(run: Sequence[str]) -> str:
    first, last = _NUMBERED.fullmatch(run[0]), _NUMBERED.fullmatch(run[-1])
    if len(run) < 3 or first is None or last is None:
        return ", ".join(run)
    return f"{first[1]}[{first[2]}-{last[2]}]"
