"""Reads what HPL prints: results, residual checks, errors and whether it came to its end.

Written for netlib's 1.0 to 2.3 and for forks: a result line is found by its T/V code, and the rate is the last number
on it, because forks add columns before it. Nothing here raises: a text that was cut off gives what it holds.
"""

import math
import re
from dataclasses import dataclass, replace

from .flops import seconds
from .variant import CODE, SHORT

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf(?:inity)?|nan)"
_RESULT = re.compile(
    rf"^\s*({CODE.pattern}|{SHORT.pattern})\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+"
    rf"({_NUMBER}(?:\s+{_NUMBER})*)(?:\s*\(.*\))?\s*$",
    re.IGNORECASE,
)
_CHECK = re.compile(rf"=\s*({_NUMBER})\s*\.*\s*(PASSED|FAILED)\s*$", re.IGNORECASE)
_ERROR = re.compile(r"^HPL (ERROR|WARNING) from process #\s*(-?\d+)(?:, on line \d+)?,? (?:of|in) function (\w+):?\s*$")
TIME_RESOLUTION_S = 0.005
"""HPL rounds the time to two decimals."""
RATE_TOLERANCE = 0.01
"""Forks print three digits of the rate."""


@dataclass(frozen=True)
class HplResult:
    """One result line with its residual check.

    Attributes:
        code: T/V code.
        time_s: seconds of the solve, to 0.01 s.
        gflops: the rate; infinite or not a number where HPL printed that.
        residual: scaled residual, or None where HPL printed none.
        passed: None where the residual was not checked or the output ends before it.
    """

    code: str
    N: int
    NB: int
    P: int
    Q: int
    time_s: float
    gflops: float
    residual: float | None = None
    passed: bool | None = None

    @property
    def consistent(self) -> bool:
        """Whether the rate fits the flop count and the printed time, within what both are rounded to."""
        if not math.isfinite(self.gflops) or self.gflops <= 0:
            return False
        time_s = seconds(self.N, self.gflops)
        return abs(time_s - self.time_s) <= TIME_RESOLUTION_S + RATE_TOLERANCE * time_s


@dataclass(frozen=True)
class HplOutput:
    """What one standard output of HPL holds.

    Attributes:
        errors: HPL's own error messages, one sentence each.
        finished: the closing line "End of Tests." was printed.
    """

    results: tuple[HplResult, ...]
    errors: tuple[str, ...]
    finished: bool


def parse(text: str) -> HplOutput:
    """Read a standard output, complete or not.

    Args:
        text: everything HPL printed, several launches after one another included.

    Returns:
        The results in the order HPL printed them.
    """
    lines = [_ANSI.sub("", line).rstrip() for line in text.splitlines()]
    results: list[HplResult] = []
    for line in lines:
        result = _result(line)
        if result is not None:
            results.append(result)
            continue
        check = _CHECK.search(line)
        if check and results:
            results[-1] = _checked(results[-1], float(check[1]), check[2].upper() == "PASSED")
    return HplOutput(
        results=tuple(results),
        errors=_errors(lines),
        finished=any(line.strip() == "End of Tests." for line in lines),
    )


def _result(line: str) -> HplResult | None:
    match = _RESULT.match(line)
    if match is None:
        return None
    *_, N, NB, P, Q, numbers = match.groups()
    values = [float(number) for number in numbers.split()]
    if len(values) < 2:
        return None
    return HplResult(match[1], int(N), int(NB), int(P), int(Q), values[0], values[-1])


def _checked(result: HplResult, residual: float, passed: bool) -> HplResult:  # noqa: FBT001 - read off one line
    """Add a check; versions before 2.0 print three, and a run has passed only when all of them did."""
    if result.passed is None:
        return replace(result, residual=residual, passed=passed)
    worst = max((result.residual or 0.0, residual), key=lambda value: math.inf if math.isnan(value) else value)
    return replace(result, residual=worst, passed=result.passed and passed)


def _errors(lines: list[str]) -> tuple[str, ...]:
    """Messages of `HPL_pwarn.c` and `HPL_pabort.c`: `>>> MESSAGE <<<`, the latter with `Abort ...` behind it."""
    errors: list[str] = []
    for number, line in enumerate(lines):
        head = _ERROR.match(line.strip())
        if head is None:
            continue
        said = lines[number + 1].strip() if number + 1 < len(lines) else ""
        message = said.removeprefix(">>>").partition("<<<")[0].strip()
        errors.append(f"{message or 'no message'} ({head[3]})")
    return tuple(dict.fromkeys(errors))
