"""Durations and prices as people write and read them."""

import math
import re

from runners.price import price_usd

from .errors import UsageError

LEAST_TOLD_S = 0.0005
"""Seconds below which nobody needs to know how few they are."""
LONGEST_S = 100 * 365 * 86400.0
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_COMMA = re.compile(r"\d+,\d+[smhd]")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_duration_s(text: str, field: str) -> float:
    """Seconds meant by `text`: "90s", "5m", "1h30m", "2d".

    Args:
        text: what the user wrote.
        field: of what was asked that it was given to.

    Raises:
        TunerError: it is not a duration, or not a sensible one.
    """
    cleaned = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", cleaned):
        raise UsageError("a duration needs a unit: write for example 90s, 5m or 1h30m", field=field, given=text)
    parts = _PART.findall(cleaned)
    if not parts or "".join(number + unit for number, unit in parts) != "".join(cleaned.split()):
        if _COMMA.fullmatch(cleaned):
            raise UsageError(f"write it with a point: {cleaned.replace(',', '.')}", field=field, given=text)
        raise UsageError("not a duration; write for example 90s, 5m or 1h30m", field=field, given=text)
    return sensible_s(sum(float(number) * _UNITS_S[unit] for number, unit in parts), field, text)


def parse_price_usd(text: str | None, field: str = "price") -> float | None:
    """US dollars meant by `text`: "1200", "1200.50", "$1200"; None for None.

    Raises:
        TunerError: it is no price in US dollars, or not above zero.
    """
    if text is None:
        return None
    try:
        return price_usd(text)
    except ValueError as error:
        raise UsageError(str(error), field=field, given=text) from error


def parse_percent(text: str, field: str) -> float:
    """A percentage above 0 that the user wrote, with or without its sign: "1%", "0.5 %", "2".

    Args:
        field: of what was asked that it was given to.

    Raises:
        UsageError: it is none, or not above 0 and at most 100.
    """
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not 0 < percent <= 100:
        raise UsageError("write a percentage above 0 and at most 100, such as 1%", field=field, given=text)
    return percent


def sensible_s(seconds: float, field: str, given: str) -> float:
    """A duration that somebody can mean.

    Raises:
        TunerError: it is none, or more than a life.
    """
    if not 0 < seconds <= LONGEST_S:
        raise UsageError("a duration must be above zero and at most a hundred years", field=field, given=given)
    return seconds


def duration(seconds: float) -> str:
    """A short reading of `seconds`: "0.44 s", "8.4 s", "5 min 10 s", "2 h 05 min"."""
    if seconds < 0.995:
        return f"{seconds:.2g} s" if seconds >= LEAST_TOLD_S else "0 s"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest_s = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s:02d} s" if rest_s else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def dollars(usd: float) -> str:
    """US dollars to the cent, and less than ten cents with two digits that say something."""
    if usd <= 0 or usd >= 0.1:
        return f"${usd:,.2f}"
    return f"${usd:.{1 - math.floor(math.log10(usd))}f}".rstrip("0")


def compact(seconds: float) -> str:
    """At least `seconds`, as an option takes it, in whole seconds, minutes or tenths of an hour: "9s", "13m"."""
    if seconds <= 90:
        return f"{math.ceil(seconds)}s"
    return f"{math.ceil(seconds / 60)}m" if seconds <= 5400 else f"{math.ceil(seconds / 360) / 10:g}h"


def gibibytes(count: int) -> str:
    """Bytes in GiB with one decimal, as `free -h` shows memory."""
    return f"{count / 2**30:.1f} GiB"


def sizes(*counts: int) -> list[str]:
    """Bytes in GiB, or in MiB where one is below that, with as many decimals as tell them apart."""
    power, unit = (30, "GiB") if min(counts) >= 2**30 else (20, "MiB")
    texts: list[str] = []
    for decimals in range(1, 10):
        texts = [f"{count / 2**power:,.{decimals}f} {unit}" for count in counts]
        if len(set(texts)) == len(set(counts)):
            break
    return texts


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?")


def parse_bytes(text: str, field: str) -> int:
    """Bytes meant by "256GiB", "256G" or "1.5TiB"; "256GB" is decimal, 256,000,000,000 bytes.

    Raises:
        UsageError: it is no size, or it has no unit.
    """
    found = None if re.search("[KMGT]b$", text.strip()) else _SIZE.fullmatch(text.strip().lower())
    if found is None or not found[2]:
        raise UsageError(
            "write a size with its unit, in MiB, GiB or TiB, such as 256GiB (Gb is bits)", field=field, given=text
        )
    if float(found[1]) <= 0:
        raise UsageError("a size must be more than 0, such as 256GiB", field=field, given=text)
    return int(float(found[1]) * (1000 if found[3] == "b" else 1024) ** " kmgt".index(found[2]))
