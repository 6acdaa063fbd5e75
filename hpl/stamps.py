"""The time stamps that HPL prints around its solve, and what they say against the time that it prints.

HPL 2.1 and later read the clock before and after `HPL_pdgesv`, as they read the timer: the matrix is generated before
the first stamp, and checked after the last one, so both tell the same seconds (HPL_pdtest.c). A stamp has neither
fractions nor a time zone, and jumps in the night in which summer time begins or ends.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

STAMP = re.compile(r"HPL_pdgesv\(\) (start|end) time\s+(\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})")
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
