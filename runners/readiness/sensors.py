"""Reads clock, temperature and load of a node while something runs there, in POSIX shell and awk only."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

SAMPLE, SOCKET = "sample", "socket"
_HOTTEST_C = 150.0
"""A sensor that shows more is none."""
MOST_SOCKETS = 64
"""Of a node that are told; the largest have 32."""
SENSORS = r"""
uptime_s() { read -r up rest </proc/uptime; echo "$up"; }
sample() {
    cpus=$root/sys/devices/system/cpu
    set -- "$cpus"/cpu[0-9]*/cpufreq/scaling_cur_freq
    [ -e "$1" ] || set -- "$root/proc/cpuinfo"
    grep -s '' "$cpus"/cpu[0-9]*/topology/physical_package_id "$root"/sys/devices/system/node/node[0-9]*/cpulist \
        "$@" "$cpus"/cpu[0-9]*/thermal_throttle/core_throttle_count \
        "$root"/sys/class/hwmon/hwmon*/name "$root"/sys/class/hwmon/hwmon*/device/numa_node \
        "$root"/sys/class/hwmon/hwmon*/temp*_label "$root"/sys/class/hwmon/hwmon*/temp*_input \
        "$root"/sys/class/thermal/thermal_zone*/type "$root"/sys/class/thermal/thermal_zone*/temp \
        "$root/proc/loadavg" /dev/null |
    awk -v at="$(uptime_s)" '
        function clocks(cpu, mhz) {
            if (mhz > 0) { sum[package[cpu]] += mhz; count[package[cpu]]++; all += mhz; clocked++ }
        }
        function heats(socket, celsius) {
            if (celsius > 0 && celsius < 150) {
                if (celsius > most) most = celsius
                if (socket != "" && celsius > hottest[socket]) hottest[socket] = celsius
            }
        }
        function shown(value, known, digits) { return known ? sprintf("%." digits "f", value) : "" }
        {
            colon = index($0, ":"); value = substr($0, colon + 1)
            n = split(substr($0, 1, colon - 1), part, "/")
            file = part[n]; above = part[n - 1]; cpu = substr(part[n - 2], 4)
        }
        file == "physical_package_id" && value ~ /^[0-9]+$/ { package[cpu] = value; sockets[value] = 1 }
        file == "cpulist" && value ~ /^[0-9]/ { first[substr(above, 5)] = value + 0 }
        file == "scaling_cur_freq" { clocks(cpu, value / 1000) }
        file == "cpuinfo" { split(value, pair, ":") }
        file == "cpuinfo" && value ~ /^processor/ { cpu_now = pair[2] + 0 }
        file == "cpuinfo" && value ~ /^cpu MHz/ { clocks(cpu_now, pair[2] + 0) }
        file == "core_throttle_count" {
            slowed[package[cpu]] += value; counts[package[cpu]] = 1; slow += value; counted = 1
        }
        file == "name" { chip[above] = value }
        file == "numa_node" { near[part[n - 2]] = value }
        file ~ /^temp.*_label$/ && value ~ /^Package id [0-9]+$/ { named[above] = substr(value, 12) }
        file ~ /^temp.*_input$/ && value / 1000 < 150 && value / 1000 > warm[above] { warm[above] = value / 1000 }
        file == "type" { zone[above] = value }
        file == "temp" && zone[above] ~ /pkg_temp|cpu|CPU|soc/ { zones[above] = value / 1000 }
        file == "loadavg" { split(value, loads, " ") }
        END {
            for (socket in sockets) { only = socket; known_sockets++ }
            if (known_sockets != 1) only = ""
            for (device in warm) {
                if (chip[device] !~ /coretemp|k10temp|zenpower|cpu|soc/) continue
                socket = only
                if (device in near && near[device] in first) socket = package[first[near[device]]]
                if (device in named && named[device] in sockets) socket = named[device]
                heats(socket, warm[device])
            }
            for (device in zones) heats(only, zones[device])
            printf "sample\t%s\t%s\t%s\t%s\t%s\n", at, shown(all / (clocked ? clocked : 1), clocked, 0),
                shown(most, most, 1), shown(slow, counted, 0), loads[1]
            for (socket in sockets)
                printf "socket\t%s\t%s\t%s\t%s\t%s\n", at, socket,
                    shown(sum[socket] / (count[socket] ? count[socket] : 1), count[socket], 0),
                    shown(hottest[socket], hottest[socket], 1), shown(slowed[socket], counts[socket], 0)
        }'
}
"""
"""Functions of a script; `sample` prints a line of the node and one of each socket. "$root" stands before /sys and
/proc and is empty on a real node. Only sensors of processors count: a disk may be hotter. A chip of sensors tells its
socket by its label (coretemp: "Package id 1") or by the NUMA node that it belongs to (k10temp)."""


@dataclass(frozen=True)
class SocketReading:
    """What the sensors of one processor showed at one moment; None where it has no such sensor.

    Attributes:
        mhz: mean clock of its CPUs.
        celsius: of its hottest sensor.
        throttled: times that heat slowed a core of it down since the node started.
    """

    mhz: float | None = None
    celsius: float | None = None
    throttled: float | None = None


@dataclass(frozen=True)
class SensorReading(SocketReading):
    """What the sensors of a node showed at one moment; None where it has no such sensor.

    Attributes:
        up_s: seconds since the node started.
        load: mean number of processes that want to run, over a minute.
        sockets: of each processor, where the node tells which CPU belongs to which; by the kernel's number.
    """

    up_s: float = 0.0
    load: float | None = None
    sockets: Mapping[int, SocketReading] = field(default_factory=dict)


def parse_sensors(text: str) -> list[SensorReading]:
    """Read the lines that `sample` prints, in the order of time; others are left out."""
    found: list[SensorReading] = []
    for line in text.splitlines():
        kind, *words = line.split("\t")
        if len(words) != 5:
            continue
        up_s, *more = map(figure, words)
        if kind == SAMPLE and up_s is not None:
            mhz, celsius, throttled, load = more
            found.append(SensorReading(mhz or None, _celsius(celsius), throttled, up_s, load))
        elif kind == SOCKET and found and words[1].isdecimal() and len(words[1]) < 6:
            number, mhz, celsius, throttled = more
            if up_s == found[-1].up_s and number is not None and len(found[-1].sockets) < MOST_SOCKETS:
                own = SocketReading(mhz or None, _celsius(celsius), throttled)
                found[-1] = replace(found[-1], sockets={**found[-1].sockets, int(number): own})
    return sorted(found, key=lambda one: one.up_s)


def _celsius(value: float | None) -> float | None:
    return value if value and value < _HOTTEST_C else None


def figure(word: str) -> float | None:
    """Return a number of zero or more that a node printed; None where it is none."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0.0 <= value < float("inf") else None
