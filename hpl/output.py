"""Reads the output of HPL: results, residual checks, errors, the times of phases, and whether it ran to its end.

It reads netlib's HPL 1.0 to 2.3 and forks. It recognises a result line by its T/V code and reads it word by word, so
the time it takes grows only with the length of the text. Nothing here raises: from an incomplete text it reads as much
as there is.

HPL prints up to six lines behind a result line, each the time of the rank that took longest for that phase:
rfact (the recursive factorisation of panels; within it pfact, and within that mxswp, the search of pivots with their
exchange), update (of the rest of the matrix; within it laswp, the exchange of rows) and "up tr sv" (the triangular
solve). Source: HPL_pdtest.c.

HPL 2.1 and later print time stamps around `HPL_pdgesv`, where they read the timer: the matrix is generated before the
first stamp, and checked after the last one, so both tell the same seconds. A stamp has neither fractions nor a time
zone, and jumps in the night in which summer time begins or ends.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from .sizing import seconds
from .variant import is_code

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What colours a terminal, or moves in it."""
_ERROR = re.compile(r"^HPL (?:ERROR|WARNING) from process #\s*-?\d+(?:, on line \d+)?,? (?:of|in) function (\w+):?$")
_GPU_ERROR = re.compile(
    r"(?:HPL ERROR: ?|(?=(?:Error: )?(?:CUDA|CUDART|CUBLAS|NVSHMEM|HIP|rocblas)\b.{0,40}\b(?:error|failed)\b))(\S.*)",
    re.IGNORECASE,
)
"""An error of a program for GPUs, in one line."""
LONGEST_LINE = 1000
"""Characters; HPL's own lines have 80, and no fork prints a longer one that matters."""
LARGEST_INT = 2**31 - 1
"""HPL counts in C's int."""
MORE_COLUMNS = 2
"""Columns of whole numbers that a fork may print before N: AMD's prints one, SWP."""
TIME_RESOLUTION_S = 0.005
"""HPL rounds the time to two decimals."""
RATE_TOLERANCE = 0.01
"""Forks print three digits of the rate."""
LARGEST_RESIDUAL = 16.0
"""HPL's own threshold, and that of the TOP500; a larger one in HPL.dat makes no result right."""

LEAST_RESIDUAL = 1e-9
"""Residual, without a unit, below which no solution in double precision is: those of HPL are near 0.001, and of the
largest runs in the world above 1e-6."""
LEAST_S = 1e-5
"""Seconds that no solve takes: ranks need as long to say that they begin. HPL prints 0.00 s for all below 0.005 s."""
SHORTEST_S = 0.1
"""HPL's time from which its rate tells something: of a shorter one the rounding alone is 5 % or more."""
EPS = 2.0**-53
"""The relative precision of double precision, as HPL prints it: 1.110223e-16."""
LARGEST_EPS = 2.1 * EPS
"""Where a processor cuts digits off in place of rounding, it is twice as large."""

PHASES = ("rfact", "pfact", "mxswp", "update", "laswp", "up tr sv")
"""In the order in which HPL prints them."""
_EPS = re.compile(r"relative machine precision \(eps\) is taken to be\s+(\S+)$")
_TESTS = re.compile(r"(\d{1,9}) tests? completed and (passed|failed)\b")
_SECTION = re.compile(r"(Begin|End) of (\w+) section")
CLOSING = "End of Tests."
BEGIN = re.compile(r"T/V\s*:\s*Wall time")
"""The line that every launch prints once, below the names of the program."""
_LINE = re.compile(rf"(?:\+ )?Max aggregated wall time ({'|'.join(PHASES)})[ .]*: +(\d{{1,12}}\.\d\d)")
STAMP = re.compile(r"HPL\w*_p\w*gesv\w*\(\) (start|end) time\s+(\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})")
BANNER = re.compile(
    r"(?:HPLinpack|HPL-[\w-]+|rocHPL[\w-]*|AMD Zen HPL)(?:\s+v?\d\S*|(?:\s+[A-Za-z-]+){1,3}?(?:\s+v?\d\S*)?(?=\s+--\s))"
)
"""The name and version that a program prints before its parameters."""
_MIXED_NAME = re.compile(r"HPL-?MxP|HPL-?AI\b|mixed[ -]precision", re.IGNORECASE)
_REFINED = re.compile(
    r"\b(?:iter(?:ation)?|refinement)\b.*\bresid\w*\s*[:=]\s*[-+.\d]"
    r"|\bresidual norm\b.*\b(?:iteration|GMRES)\b.*[:=]\s*[-+.\d]"
    r"|\b(?:GMRES|refinement)\b[\w ]*\biter(?:ation)?s?\b\s*[:=]\s*\d",
    re.IGNORECASE,
)
"""What a program prints before a row, or between a row and its check, when it refines a solution of lower precision:
the residual of each iteration, or how many there were."""
_MIXED_ROW = re.compile(
    r"(?!HPL_pdgesv\b)HPL\w*_p\w*gesv\w*\(\) (?:start|end) time|.*\b(?:PASSED|FAILED)\s+\d+\s*\("
    r"|.*\b(?:PASSED|FAILED)\b.*(?:\d\s*iter|\biterations\s*[:=]\s*\d|\bGMRES\b)|Max aggregated wall time Iter Refine"
)
"""What only mixed precision prints behind a row: another function in the stamps (Intel's HPL_psgesv, AMD's
HPLMXP_pdgesv), a count of iterations with the verdict, or the time of the refinement."""
_MXP = re.compile(
    r"\*+ test \d+ of \d+ starts|(\*+ HPL[- ]?(?:MxP|AI) Result|HPL[_-]AI\s+W[RC]\w+\s+\d)", re.IGNORECASE
)
"""Begins a test of NVIDIA's HPL-MxP, or its result, which has no row, or one with its name before it."""
MIXED_PRECISION = (
    "mixed precision is not HPL. It factorises the matrix with short numbers and refines the solution, so its rate is "
    "not comparable with one of HPL"
)
CLOCKS_APART = timedelta(days=1)
"""By which a time stamp may be off from UTC: it has no time zone, and none is further away than 14 hours."""
SLACK_S = 2.0
"""Seconds that stamps may be off: each is cut to a second, and ranks do not begin and end in one moment."""
SLACK = 0.01
"""Part of the time that stamps may be off besides: one clock is corrected while the other goes on."""
MINUTE_S = 60.0
"""Seconds that they may be off where both are of a full minute: such a clock may count minutes only."""
SUMMER_TIME_S = (-3600.0, -1800.0, 1800.0, 3600.0)
"""Seconds by which a clock jumps when summer time begins or ends; it does so between midnight and four."""
NIGHT_ENDS = 4


@dataclass(frozen=True)
class Stamps:
    """When a solve started and ended, as its program printed it, without a time zone."""

    start: datetime
    end: datetime

    @property
    def apart_s(self) -> float:
        """Seconds from the start to the end; negative where the end comes first."""
        return (self.end - self.start).total_seconds()

    def contradiction(self, time_s: float) -> str:
        """Say how they contradict the time that HPL printed; "" where they do not, or may not."""
        if self.start > datetime.now(UTC).replace(tzinfo=None) + CLOCKS_APART:
            return f"its time stamp, {_clock(self.start)}, is of a day that is still to come"
        if self._fit(self.apart_s, time_s):
            return ""
        told = f"its time stamps, {_clock(self.start)} and {_clock(self.end, self.start.date())}"
        if self.apart_s < 0:
            return f"{told}, say that it ended before it started"
        return f"HPL says that it took {time_s:.2f} s, but {told}, are {self.apart_s:.0f} s apart"

    def may_follow(self, before: "Stamps", time_s: float) -> bool:
        """Whether a solve with these stamps may have started after another one that took so many seconds."""
        later_s = (self.start - before.start).total_seconds()
        return later_s >= time_s or before._fit(later_s, time_s)  # noqa: SLF001 - of its own class

    def _fit(self, apart_s: float, time_s: float) -> bool:
        """Whether so many seconds by the stamps may be those of the time, in view of what else moves a clock."""
        minutes = MINUTE_S if self.start.second == self.end.second == 0 else 0.0
        slack_s = SLACK_S + SLACK * time_s + minutes
        return any(abs(apart_s + jump_s - time_s) <= slack_s for jump_s in (0.0, *self._jumps_s(time_s)))

    def _jumps_s(self, time_s: float) -> tuple[float, ...]:
        """Seconds by which the clock may have jumped meanwhile: none where no part of the night was in it."""
        ended = self.start + timedelta(seconds=min(time_s, timedelta(days=365).total_seconds()))
        by_night = self.start.hour < NIGHT_ENDS or ended.date() != self.start.date()
        return SUMMER_TIME_S if by_night else ()


def stamp_of(line: str) -> tuple[str, datetime] | None:
    """Read a line: "start" or "end", and the time; None where the line is another."""
    found = STAMP.match(line)
    if found is None:
        return None
    try:
        return found[1], datetime.strptime(" ".join(found[2].split()), "%a %b %d %H:%M:%S %Y")
    except ValueError:
        return None


def _clock(moment: datetime, day: date | None = None) -> str:
    """Write a time, without its day where that is known already."""
    return f"{moment:%H:%M:%S}" if moment.date() == day else f"{moment:%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True)
class HplResult:
    """One result line with its residual check.

    Attributes:
        code: T/V code.
        time_s: seconds of the solve, to 0.01 s; 0 where HPL printed none that can be.
        gflops: the rate; infinite or NaN where HPL printed that.
        residual: the scaled residual, or None where HPL printed none.
        passed: HPL's word about the residual; None where it was not checked, or where the output ends before it.
        phases_s: seconds of each phase by its name in `phases.PHASES`, of the rank that took longest for it; empty
            where the program was compiled without these timers.
        eps: the relative precision that its residual is scaled by; None where it was not printed.
        mixed: whether the lines of its launch, before it or behind it are those of a benchmark in mixed precision.
        stamps: when it started and ended; None where that was not printed, or where lines of several runs are mixed.
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
    phases_s: Mapping[str, float] = field(default_factory=dict, hash=False)
    eps: float | None = None
    stamps: Stamps | None = None
    mixed: bool = False

    @property
    def consistent(self) -> bool:
        """Whether the rate fits the flop count and the printed time, within the rounding of both."""
        if not math.isfinite(self.gflops) or self.gflops <= 0:
            return False
        time_s = seconds(self.N, self.gflops)
        return time_s >= LEAST_S and abs(time_s - self.time_s) <= TIME_RESOLUTION_S + RATE_TOLERANCE * time_s

    def why_not(self, threshold: float | None = None) -> str:
        """Say why it does not count as it stands; "" where it does. This alone decides, for runs and imports alike.

        The number of the residual has to be below HPL's threshold, whatever word stands behind it: a program that was
        compiled with -ffast-math prints "nan ...... PASSED", and a threshold of 1e9 passes any solution.

        Args:
            threshold: of HPL.dat; None where it is not known.
        """
        wrong = MIXED_PRECISION if self.mixed else self._unsolved(threshold)
        if wrong:
            return wrong
        if not self.consistent:
            return f"{self.gflops} GFLOPS do not fit {self.time_s} s at N={self.N}"
        return "" if self.stamps is None else self.stamps.contradiction(self.time_s)

    def _unsolved(self, threshold: float | None) -> str:
        """Say why it is no solution, or not shown to be one; "" where it is."""
        if self.passed is None:
            return "there is no residual check for it"
        if not self.passed:
            return f"the residual check FAILED ({self.residual})"
        if self.eps is not None and not 0 < self.eps <= LARGEST_EPS:
            single = ", that of single precision" if math.isclose(self.eps, 2.0**-24, rel_tol=0.01) else ""
            told = f"its residual is scaled by a precision (eps) of {self.eps:.3g}{single}"
            return f"{told}: only that of double precision, {EPS:.3g}, counts"
        if not self.residual or not LEAST_RESIDUAL <= self.residual < math.inf:
            tiny = self.residual is not None and 0 < self.residual < LEAST_RESIDUAL
            no = "residual of double precision" if tiny else "number above 0"
            return f"its residual is {self.residual}, which is no {no}, so the word PASSED says nothing"
        largest = LARGEST_RESIDUAL if threshold is None else min(threshold, LARGEST_RESIDUAL)
        if self.residual >= largest:
            asked = f" (the threshold of HPL.dat is {threshold:g})" if threshold and threshold > largest else ""
            return f"its residual is {self.residual:g}, not below {largest:g}, although HPL says PASSED{asked}"
        return ""


@dataclass(frozen=True)
class HplOutput:
    """The content of one standard output of HPL.

    Attributes:
        errors: HPL's own error messages, one sentence each.
        finished: whether HPL printed its closing line "End of Tests.".
        passed_told, failed_told: how many tests passed and failed by its last lines; None where it does not say it.
        mixed_without_row: how many results of mixed precision it has that are no rows of a table.
        mixed_begun: whether what it began last is a benchmark in mixed precision.
    """

    results: tuple[HplResult, ...]
    errors: tuple[str, ...]
    finished: bool
    passed_told: int | None = None
    failed_told: int | None = None
    mixed_without_row: int = 0
    mixed_begun: bool = False


def parse(text: str) -> HplOutput:
    """Read the standard output of HPL, complete or not.

    Args:
        text: everything HPL printed, in one launch or in several.

    Returns:
        The results in the order HPL printed them.
    """
    reader = OutputReader()
    for line in lines(text):
        reader.read(line)
    return reader.output()


@dataclass
class OutputReader:
    """What was read so far.

    Attributes:
        told: how many tests passed and failed by the last lines, by these words, and how many results are "mixed".
        heads: the words of the last head of a table.
        checkable: whether the last result may get what follows: it stands in this table.
        jumbled: whether the line before it was a result without a check or a stamp, as where ranks print at once.
        moments: the time stamps of the last result, by their words.
        eps: the precision that the launch told.
        failing: the function in HPL's last line of an error, whose message is the next line; "" after another line.
        mixed_by: what says that the next row is of mixed precision: the banner of its "launch", one that is "next", and
            "iterations" since the last row.
        section: of the HPC Challenge, of which only HPL's is read; "" outside.
    """

    results: list[HplResult] = field(default_factory=list)
    errors: dict[str, None] = field(default_factory=dict)
    finished: bool = False
    told: dict[str, int] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    checkable: bool = False
    jumbled: bool = False
    moments: dict[str, datetime] = field(default_factory=dict)
    eps: float | None = None
    failing: str = ""
    mixed_by: set[str] = field(default_factory=set)
    section: str = ""

    def read(self, line: str) -> None:
        """Read a line of any kind."""
        words = line.split()
        self._read_error(line)
        if words[:1] == ["T/V"] and "N" in words:
            self.heads, self.checkable = words, False
        elif (result := _result(words, self.heads)) is not None:
            self.jumbled = self.checkable and self.results[-1].passed is None and not self.moments
            self.results.append(replace(result, eps=self.eps, mixed=bool(self.mixed_by)))
            self.checkable, self.moments = True, {}
            self.mixed_by -= {"iterations"}
        elif not (self.checkable and self._read_of_result(line)):
            self._read_of_launch(line)

    def output(self) -> HplOutput:
        """Return what was read."""
        self._read_error("no message")
        return HplOutput(
            results=tuple(self.results),
            errors=tuple(self.errors),
            finished=self.finished,
            passed_told=self.told.get("passed"),
            failed_told=self.told.get("failed"),
            mixed_without_row=self.told.get("mixed", 0),
            mixed_begun=bool(self.mixed_by),
        )

    def _read_error(self, line: str) -> None:
        """Read an error of HPL's, whose message is the line behind it, or one of a program for GPUs."""
        if self.failing:
            message = line.removeprefix(">>>").partition("<<<")[0].strip()
            self.errors[f"{message or 'no message'} ({self.failing})"] = None
        error, of_gpu = _ERROR.match(line), _GPU_ERROR.match(line)
        self.failing = error[1] if error else ""
        if of_gpu:
            too_large = (
                "the memory of a GPU is too small for this N: "
                if re.search("out ?of ?memory", line, re.IGNORECASE)
                else ""
            )
            self.errors[f"{too_large}{of_gpu[1]}"] = None

    def _read_of_result(self, line: str) -> bool:
        """Read what is said of the last result; return whether the line is such a one."""
        last = self.results[-1]
        refined = last.passed is None and _REFINED.search(line) is not None
        if refined or _MIXED_ROW.match(line):
            last = self.results[-1] = replace(last, mixed=True)
        if (phase := phase_of(line)) is not None:
            self.results[-1] = replace(last, phases_s={**last.phases_s, phase[0]: phase[1]})
        elif (check := _check(line)) is not None:
            self.results[-1] = _checked(last, *check)
        elif (stamp := stamp_of(line)) is not None:
            self.moments.setdefault(*stamp)
            if len(self.moments) == 2 and not self.jumbled:
                self.results[-1] = replace(last, stamps=Stamps(**self.moments))
        else:
            return refined
        return True

    def _read_of_launch(self, line: str) -> None:
        """Read what the program says of itself, or at its end."""
        if line == CLOSING:
            self.finished = True
            self.mixed_by -= {"next", "iterations"}
        elif BEGIN.match(line):
            self.eps, self.checkable, self.mixed_by = None, False, {"launch"} if "next" in self.mixed_by else set()
        elif (eps := eps_of(line)) is not None:
            self.eps = eps
        elif mxp := _MXP.match(line):
            self.told["mixed"], self.checkable = self.told.get("mixed", 0) + bool(mxp[1]), False
            self.mixed_by -= {"iterations"}
        elif section := _SECTION.match(line):
            self.section = section[2] if section[1] == "Begin" else ""
        elif (tests := _TESTS.match(line)) and self.section in {"", "HPL"}:
            self.told[tests[2]] = self.told.get(tests[2], 0) + int(tests[1])
        elif BANNER.match(line) and _MIXED_NAME.search(line):
            self.mixed_by |= {"next"}
        elif _REFINED.search(line):
            self.mixed_by |= {"iterations"}


def lines(text: str) -> Iterator[str]:
    """Yield the lines without colours and outer white space; a line too long for HPL is yielded empty."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        for line in text[begin:end].splitlines():
            yield ANSI.sub("", line).strip() if len(line) <= LONGEST_LINE else ""
        begin = end


def _result(words: Sequence[str], heads: Sequence[str]) -> HplResult | None:
    """Read the result in a line: code, N, NB, P, Q, time and rate, with other columns between and after them.

    Args:
        heads: the words of the table's head; empty where it was not printed.
    """
    if not words or not is_code(words[0]):
        return None
    column_in_head = heads.index("N") if heads else 1
    columns = dict.fromkeys((column_in_head, *range(1, 2 + MORE_COLUMNS)))
    results = [result for at in columns if (result := _from_column(words, at, heads)) is not None]
    return next((result for result in results if result.consistent), results[0] if results else None)


def _from_column(words: Sequence[str], at: int, heads: Sequence[str]) -> HplResult | None:
    """Read the result in a line whose word at index `at` is N.

    The rate is in the column that the head names. Without a head, or where that rate does not fit the time, it is in
    the last column that fits. HPL-MxP prints another number after the rate, and HPL-GPU the CPU's time before it.
    """
    whole = [_whole(word) for word in words[1 : at + 4]]
    if len(whole) < at + 3 or None in whole:
        return None
    N, NB, P, Q = (number or 0 for number in whole[at - 1 :])
    numbers = []
    for word in words[at + 4 :]:
        number = _number(word)
        if number is None:
            break
        numbers.append(number)
    next_word = words[at + 4 + len(numbers) : at + 5 + len(numbers)]
    if len(numbers) < 2 or (next_word and not next_word[0].startswith("(")):
        return None
    time_s = numbers[0] if 0 <= numbers[0] < math.inf else 0.0
    read = [HplResult(words[0], N, NB, P, Q, time_s, rate) for rate in numbers[1:]]
    headed = heads.index("Gflops") - at - 5 if "Gflops" in heads else -1
    first = [read[headed]] if 0 <= headed < len(read) else []
    return next((result for result in (*first, *reversed(read)) if result.consistent), first[0] if first else read[-1])


def _whole(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) < 11 and int(word) <= LARGEST_INT else None


def _number(word: str) -> float | None:
    """Read a double as C prints it, `nan` and `inf` included; None where the word is no number."""
    if "_" in word or not word.isascii():
        return None
    try:
        return float(word)
    except ValueError:
        return None


def _check(line: str) -> tuple[float, bool] | None:
    """Read the residual and whether it passed: `…*N)=   0.0045 ...... PASSED`; forks may add words."""
    words = re.sub(r"\.\.+", " ", line.rpartition("=")[2]).split() if "=" in line else []
    if len(words) < 2 or words[1].upper() not in {"PASSED", "FAILED"}:
        return None
    residual = _number(words[0])
    return None if residual is None else (residual, words[1].upper() == "PASSED")


def eps_of(line: str) -> float | None:
    """Read the relative precision that HPL says to compute with; None where the line is another."""
    found = _EPS.search(line)
    return None if found is None else _number(found[1])


def _checked(result: HplResult, residual: float, passed: bool) -> HplResult:  # noqa: FBT001 - read off one line
    """Add a residual check; versions before 2.0 print three, and the worst counts, first one that failed."""
    if result.passed is None:
        return replace(result, residual=residual, passed=passed)
    checks = (result.passed, result.residual or 0.0), (passed, residual)
    passed, residual = max(checks, key=lambda one: (not one[0], math.inf if math.isnan(one[1]) else one[1]))
    return replace(result, residual=residual, passed=passed)


def proves(residual: float | None, *, scaled: bool = True) -> bool:
    """Tell whether a residual that passed is a number that shows a right solution.

    Args:
        scaled: by the precision, as HPL's is; that of HPCG is not, and as small as the precision.
    """
    return residual is not None and (LEAST_RESIDUAL if scaled else LEAST_RESIDUAL**2) <= residual < LARGEST_RESIDUAL


def phase_of(line: str) -> tuple[str, float] | None:
    """Read a line: the name of the phase and its seconds, to 0.01 s; None where the line is another."""
    found = _LINE.fullmatch(line)
    return (found[1], float(found[2])) if found else None


def contradictions(results: Sequence[HplResult], passed_told: int | None) -> list[str]:
    """Say of each run that a launch printed why it does not count; "" where nothing speaks against it.

    Args:
        results: all that the launch printed, in its order.
        passed_told: how many tests passed by its last lines; None where it does not say it.
    """
    passed = sum(result.passed is True for result in results)
    if passed_told is not None and passed > passed_told:
        rows = "1 result passes" if passed == 1 else f"{passed} results pass"
        return [f"{rows} in this output, but its last lines say that {passed_told} passed"] * len(results)
    return _overlaps(results)


def _overlaps(results: Sequence[HplResult]) -> list[str]:
    """Say which runs went on at once by their time stamps: a launch computes one after another."""
    dated = [(number, result) for number, result in enumerate(results) if result.stamps is not None]
    said = [""] * len(results)
    for (before, first), (number, second) in pairwise(dated):
        if first.stamps is None or second.stamps is None or second.stamps.may_follow(first.stamps, first.time_s):
            continue
        later_s = (second.stamps.start - first.stamps.start).total_seconds()
        when = f"{later_s:.0f} s after" if later_s >= 0 else f"{-later_s:.0f} s before"
        sentence = (
            f"a launch computes one run after another, but by the time stamps one started {when} another "
            f"that took {first.time_s:.2f} s"
        )
        said[before] = said[before] or sentence
        said[number] = sentence
    return said
