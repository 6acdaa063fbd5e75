"""Reads clock, temperature and load of a node while something runs there, in POSIX shell only."""

from collections.abc import Sequence
from dataclasses import dataclass

SAMPLE = "sample"
_HOTTEST_C = 150.0
"""A sensor that shows more is none."""
SENSORS = r"""
uptime_s() { read -r up rest </proc/uptime; echo "$up"; }
clock_mhz() {
    cat "$root"/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq 2>/dev/null |
        awk '{sum += $1} END {if (NR) printf "%.0f\n", sum / NR / 1000; exit !NR}' ||
        awk '/^cpu MHz/ {sum += $4; count++} END {if (count) printf "%.0f\n", sum / count}' "$root/proc/cpuinfo"
}
hottest_c() {
    {
        for chip in "$root"/sys/class/hwmon/hwmon*; do
            case $(cat "$chip/name") in
            *coretemp* | k10temp | zenpower | *cpu* | *soc*) cat "$chip"/temp*_input ;;
            esac
        done
        for zone in "$root"/sys/class/thermal/thermal_zone*; do
            case $(cat "$zone/type") in
            *pkg_temp* | *cpu* | *CPU* | *soc*) cat "$zone/temp" ;;
            esac
        done
    } 2>/dev/null | awk '$1 / 1000 > most {most = $1 / 1000} END {if (most > 0) printf "%.1f\n", most}'
}
throttled() {
    cat "$root"/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count 2>/dev/null |
        awk '{sum += $1} END {if (NR) print sum}'
}
sample() {
    load=$(cut -d' ' -f1 "$root/proc/loadavg")
    printf 'sample\t%s\t%s\t%s\t%s\t%s\n' "$(uptime_s)" "$(clock_mhz)" "$(hottest_c)" "$(throttled)" "$load"
}
"""
"""Functions of a script; `sample` prints one line. "$root" stands before /sys and /proc and is empty on a real node.
Only sensors of processors count: a disk may be hotter."""


@dataclass(frozen=True)
class SensorReading:
    """What the sensors of a node showed at one moment; None where it has no such sensor.

    Attributes:
        up_s: seconds since the node started.
        mhz: mean clock of its CPUs.
        celsius: of the hottest sensor of its processors.
        throttled: times that heat slowed a core down since the node started.
        load: mean number of processes that want to run, over a minute.
    """

    up_s: float
    mhz: float | None = None
    celsius: float | None = None
    throttled: float | None = None
    load: float | None = None


def parse_sensors(text: str) -> list[SensorReading]:
    """Read the lines that `sample` prints; others are left out."""
    rows = (line.split("\t") for line in text.splitlines())
    return [one for row in rows if len(row) == 6 and row[0] == SAMPLE and (one := _reading(row[1:])) is not None]


def _reading(words: Sequence[str]) -> SensorReading | None:
    up_s, mhz, celsius, throttled, load = map(_figure, words)
    if up_s is None:
        return None
    return SensorReading(up_s, mhz or None, celsius if celsius and celsius < _HOTTEST_C else None, throttled, load)


def _figure(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0.0 <= value < float("inf") else None
