"""Writes the paths of an SVG file in fewer letters: numbers to a hundredth of a point, lines along the axes shortly."""

import re

_PATH = re.compile(r' d="([^"]*)"')
_NUMBER = r"-?\d+(?:\.\d+)?"
_STEP = re.compile(rf"([MLz])\s*(?:({_NUMBER})\s+({_NUMBER}))?\s*")
_STRAIGHT = re.compile(rf"(?:{_STEP.pattern})*")


def short_paths(svg: str) -> str:
    """Return an SVG file whose paths of straight lines are written shortly; what they draw stays the same."""
    return _PATH.sub(lambda found: f' d="{_short(found[1])}"', svg)


def _short(path: str) -> str:
    if not _STRAIGHT.fullmatch(path.strip()):
        return " ".join(path.split())
    said, begun, at = list[str](), ("0", "0"), ("0", "0")
    for letter, x, y in _STEP.findall(path):
        to = (_hundredths(x), _hundredths(y)) if x else begun
        if letter == "M":
            said.append(f"M{to[0]} {to[1]}")
            begun = to
        elif letter == "L":
            said.append(_line(at, to))
        else:
            if at == begun and said[-1][0] != "M":
                said.pop()
            said.append("z")
        at = to
    return "".join(said)


def _line(at: tuple[str, str], to: tuple[str, str]) -> str:
    if at[1] == to[1]:
        return f"H{to[0]}"
    return f"V{to[1]}" if at[0] == to[0] else f"L{to[0]} {to[1]}"


def _hundredths(number: str) -> str:
    return f"{round(float(number), 2) + 0.0:.2f}".rstrip("0").rstrip(".")
