"""What a node did while a program ran there: what others took of it, and its clock and temperature, in POSIX shell.

The measurements have the names of those of a run of HPL in a study, so that one verdict says of both whether they were
disturbed; here they are of the whole run of a program, not only of HPL's solve.
"""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

from ..hosts.others import MOST_PROGRAMS, TICKS_PER_S
from .sensors import SENSORS, SocketReading, figure, parse_sensors

EVERY_S = 5.0
"""Seconds between two readings of the sensors while a program runs; the first is after one second."""
COUNTERS, SPENT, TOOK = "counters", "spent", "program"
_UNPRINTABLE = re.compile(r"[^ -9;-~]")
"""Also ":", which ends the name of a measurement."""
WATCHED = rf"""
{SENSORS}
spent() {{ # CPU ticks of this shell and of all programs that it has waited for
    own=$1; read -r stat </proc/self/stat; set -- ${{stat##*) }}
    printf 'spent\t%s\t%s\n' "$own" $((${{12}} + ${{13}} + ${{14}} + ${{15}}))
}}
group_files() {{
    while IFS=: read -r _ kinds path; do
        case ",$kinds," in
        ,,) mounts="/sys/fs/cgroup /sys/fs/cgroup/unified" ;;
        *,cpu,*) mounts="/sys/fs/cgroup/cpu /sys/fs/cgroup/$kinds" ;;
        *) continue ;;
        esac
        case $path in *..*) path= ;; esac
        for mount in $mounts; do
            group=${{path%/}}
            while echo "$root$mount$group/cpu.stat"; [ -n "$group" ]; do group=${{group%/*}}; done
        done
    done
}}
counters() {{
    set -- $(group_files <"$root/proc/self/cgroup")
    grep -s -E '^(cpu|pswp|nr_throttled|throttled_)' "$root/proc/stat" "$root/proc/vmstat" "$@" /dev/null |
    awk -v at="$(uptime_s)" '
        function larger(one, other) {{ return one == "" || other + 0 > one ? other + 0 : one }}
        function shown(value, digits) {{ return value == "" ? "" : sprintf("%." digits "f", value) }}
        {{ sub(/^[^:]*:/, "") }}
        $1 == "cpu" {{ busy = $2 + $3 + $4 + $7 + $8; steal = $9 + 0 }}
        $1 ~ /^cpu[0-9]/ {{ cores++ }}
        $1 ~ /^pswp(in|out)$/ {{ swapped += $2 }}
        $1 == "throttled_usec" {{ stopped = larger(stopped, $2 / 1e6) }}
        $1 == "throttled_time" {{ stopped = larger(stopped, $2 / 1e9) }}
        $1 == "nr_throttled" {{ periods = larger(periods, $2) }}
        END {{
            printf "counters\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", at, shown(cores, 0), shown(busy, 0), shown(steal, 0),
                shown(swapped, 0), shown(stopped, 6), shown(periods, 0)
        }}'
}}
programs() {{ # CPU ticks of each process that is not of our group: the program, this shell, and what they started
    read -r stat </proc/self/stat; set -- ${{stat##*) }}
    cat "$root"/proc/[0-9]*/stat 2>/dev/null | awk -v group="$3" '{{
        pid = $1; name = $0; sub(/^[0-9]+ \(/, "", name); rest = name; sub(/\)[^)]*$/, "", name)
        sub(/.*\) /, "", rest); split(rest, figure, " ")
        if (figure[3] != group && figure[12] + figure[13] > 0)
            print pid "/" figure[20], figure[12] + figure[13], name
    }}'
}}
taken() {{
    {{ cat programs; echo; programs; }} | awk '
        NF == 0 {{ later = 1; next }}
        !later {{ before[$1] = $2; next }}
        {{ key = $1; ticks = $2 - before[key]; sub(/^[^ ]* [^ ]* /, ""); took[$0] += ticks }}
        END {{ for (name in took) if (took[name] > 0) printf "program\t%d\t%s\n", took[name], name }}' |
    sort -t "$(printf '\t')" -k 2,2nr | head -n 3
}}
watched() {{
    every=$1; shift
    programs >programs 2>/dev/null
    {{ spent begin; counters; sample; }} >readings 2>/dev/null
    {{ sleep 1; while sample; spent sampler; do sleep "$every"; done; }} >>readings 2>/dev/null & sampler=$!
    renice -n 19 -p "$sampler" >/dev/null 2>&1
    spent start >>readings
    "$@"
    code=$?
    kill "$sampler" 2>/dev/null
    {{ spent end; counters; sample; taken; }} >>readings 2>/dev/null
    return "$code"
}}
"""
"""`watched EVERY PROGRAM ARGUMENTS` runs a program, and writes into the file `readings` what the node did meanwhile.

What others took is the busy time of all CPUs without that of the program, and of the shell that reads the sensors.
"""
RUN_WATCHED = rf"""
root=${{HPLTUNE_SYSTEM_ROOT:-}}
{WATCHED}
watched "$@"
cat readings
exit "$code"
"""
"""A script that runs a program, and prints the readings after its output."""


def watched_command(variables: Sequence[str], program: Sequence[str], every_s: float = EVERY_S) -> tuple[str, ...]:
    """Return a command that runs a program and prints the readings after its output.

    Args:
        variables: as "A=b"; they stand before the command.
    """
    return (*variables, "sh", "-c", RUN_WATCHED, "sh", f"{every_s:g}", *program)


def measured_in(text: str) -> dict[str, float]:
    """Return what a watched program printed of its node, by name; what the node does not tell is absent.

    The names end with ":" and the number of a processor where they are of one of several (`clock_mhz:1`), or the name
    of a program that took CPU time (`foreign_cpu_s:python3`). Clocks are of the time while the program ran;
    `begin_temperature_c` is from before, `temperature_c` the highest one since then.
    """
    counted = _counted(text)
    return {**counted, **(_programs(text) if "foreign_cpu_s" in counted else {}), **_sensed(text)}


_COUNTERS = ("cores", "busy_ticks", "steal_ticks", "swapped", "throttled_s", "periods")
"""What a node counts, in the order in which it prints that behind the time."""


def _counted(text: str) -> dict[str, float]:
    """Return what two readings of the counters tell: before the program, and after it."""
    read: list[tuple[float, dict[str, float | None]]] = []
    spent: dict[str, float] = {}
    for line in text.splitlines():
        kind, *words = line.split("\t")
        if kind == COUNTERS and len(words) == 7 and (at := figure(words[0])) is not None:
            read.append((at, dict(zip(_COUNTERS, map(figure, words[1:]), strict=True))))
        elif kind == SPENT and len(words) == 2 and (ticks := figure(words[1])) is not None:
            spent[words[0]] = ticks
    if len(read) != 2 or read[1][0] <= read[0][0]:
        return {}
    (began_s, before), (ended_s, after) = read
    found: dict[str, float | None] = {
        "solve_s": ended_s - began_s,
        "cores": after["cores"],
        "cpu_s": _ticks(spent.get("start"), spent.get("end")),
        "steal_s": _ticks(before["steal_ticks"], after["steal_ticks"]),
        "swap_pages": _more(before["swapped"], after["swapped"]),
        "throttled_s": _more(before["throttled_s"], after["throttled_s"]),
        "throttled_periods": _more(before["periods"], after["periods"]),
    }
    busy, own = _ticks(before["busy_ticks"], after["busy_ticks"]), _ticks(spent.get("begin"), spent.get("end"))
    if busy is not None and own is not None:
        found["foreign_cpu_s"] = max(0.0, busy - own - spent.get("sampler", 0.0) / TICKS_PER_S)
    return {name: round(value, 3) for name, value in found.items() if value is not None}


def _programs(text: str) -> dict[str, float]:
    """Return the CPU time of the programs of others that took most and still ran at the end."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        kind, *words = line.split("\t", 2)
        if kind == TOOK and len(words) == 2 and len(found) < MOST_PROGRAMS and (ticks := figure(words[0])):
            found[f"foreign_cpu_s:{_UNPRINTABLE.sub('_', words[1])[:15]}"] = ticks / TICKS_PER_S
    return found


def _ticks(before: float | None, after: float | None) -> float | None:
    """Return the seconds between two counts of ticks."""
    more = _more(before, after)
    return None if more is None else more / TICKS_PER_S


def _more(before: float | None, after: float | None) -> float | None:
    """Return how much a counter grew; None where it is not known, or fell, as when the node was booted anew."""
    return after - before if before is not None and after is not None and after >= before else None


def _sensed(text: str) -> dict[str, float]:
    """Return what the sensors showed, of the node and of each of several processors."""
    readings = parse_sensors(text)
    numbers = sorted({number for one in readings for number in one.sockets})
    found = {
        f"{name}:{number}": value
        for number in numbers
        for name, value in _of_one([one.sockets.get(number, SocketReading()) for one in readings]).items()
    }
    return {**_of_one(readings), **(found if len(numbers) > 1 else {})}


def _of_one(readings: Sequence[SocketReading]) -> dict[str, float]:
    """Sum up the readings of a node or a processor: the first is from before the program, the last from after it."""
    if len(readings) < 2:
        return {}
    clocks = [one.mhz for one in readings[1:-1] if one.mhz is not None]
    warm = [one.celsius for one in readings[1:] if one.celsius is not None]
    slowed = _more(readings[0].throttled, readings[-1].throttled)
    found: Mapping[str, float | None] = {
        "clock_mhz": round(fmean(clocks), 1) if clocks else None,
        "lowest_clock_mhz": min(clocks, default=None),
        "begin_temperature_c": readings[0].celsius,
        "temperature_c": max(warm, default=None),
        "throttle_events": slowed,
    }
    return {name: value for name, value in found.items() if value is not None}
