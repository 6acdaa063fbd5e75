"""What the machine did during a run, as a table for people: figures that belong together on one line, with units."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from results.disturbance import PROGRAM
from results.record import TrialRecord
from results.report.model import Table, facts_table

from ..units import duration, gibibytes
from ..words import counted, listed

if TYPE_CHECKING:
    from ..trial.observers.sensors.contract import FileSensor

STILL_S = 0.1
"""Seconds from which it is told that a rank stood still: all do for moments."""
ENERGY, POWER = "_energy_j", "_power_w"


def machine_did_table(record: TrialRecord) -> Table | None:
    """Build the table of what was measured during a run; None where nothing was."""
    measured = record.measurements
    there = {"", *measured}
    rows = [(row, text) for row, (first, *_), tell in _LINES if first in there and (text := tell(measured))]
    known = set[str]().union(*(names for _, names, _ in _LINES))
    rest = sorted(name for name in measured.keys() - known if not name.endswith((ENERGY, POWER)))
    rest = [name for name in rest if not name.startswith(PROGRAM)]
    for sensor in _sensors() if rest else ():
        words = [tell(measured[name]) for name, tell in sensor.words.items() if name in measured]
        rows += [(sensor.kind, ", ".join(words))] if words else []
        known |= sensor.words.keys()
    rows += [(f"energy ({source})", text) for source, text in _energies(measured)]
    rows += [(name, f"{measured[name]:.6g}") for name in rest if name not in known]
    return facts_table("What the machine did", rows) if rows else None


def _got(measured: Mapping[str, float]) -> str:
    waited = f", and waited {duration(measured['waited_s'])} for a core" if "waited_s" in measured else ""
    still = (
        f", one of which stood still for {duration(measured['still_s'])}"
        if measured.get("still_s", 0.0) >= STILL_S
        else ""
    )
    solve = f" in a solve of {duration(measured['solve_s'])}" if "solve_s" in measured else ""
    most = f"; one of them waited {measured['most_waited']:.0%} of its time" if "most_waited" in measured else ""
    return f"{duration(measured['cpu_s'])} of CPU time{waited}{solve}, all ranks together{still}{most}"


def _switches(measured: Mapping[str, float]) -> str:
    return f"{counted(round(measured['involuntary_switches']), 'time')} another program was given their core"


def _others(measured: Mapping[str, float]) -> str:
    cores = f" of {counted(round(measured['cores']), 'core')}" if "cores" in measured else ""
    if 0 < measured.get("physical_cores", 0.0) < measured.get("cores", 0.0):
        whole = counted(round(measured["physical_cores"]), "core")
        cores = f" of {counted(round(measured['cores']), 'CPU')} on {whole}"
    noticed_s = measured.get("foreign_for_s", 0.0)
    noticed = f", noticeably for {duration(noticed_s)}" if noticed_s else ""
    programs = {name.removeprefix(PROGRAM): used_s for name, used_s in measured.items() if name.startswith(PROGRAM)}
    most = sorted(programs.items(), key=lambda item: -item[1])
    named = f": {', '.join(f'{name} {duration(used_s)}' for name, used_s in most)}" if most else ""
    return f"{duration(measured['foreign_cpu_s'])} of CPU time{cores}{noticed}{named}"


def _throttling(measured: Mapping[str, float]) -> str:
    periods = (
        f" in {counted(round(measured['throttled_periods']), 'period')}" if "throttled_periods" in measured else ""
    )
    return f"held up for {duration(measured['throttled_s'])} of CPU time{periods}"


def _memory(measured: Mapping[str, float]) -> str:
    words = {"major_faults": "major fault", "swap_pages": "swapped page"}
    parts = [counted(round(measured[name]), word) for name, word in words.items() if name in measured]
    if "numa_misses" in measured:
        parts.append(f"{measured['numa_misses']:,.0f} pages of another NUMA node")
    if "huge_page_bytes" in measured:
        parts.append(f"{gibibytes(round(measured['huge_page_bytes']))} in huge pages")
    return ", ".join(parts)


def _network(measured: Mapping[str, float]) -> str:
    words = {"nic_errors": "interface error", "tcp_retransmits": "TCP retransmission"}
    return ", ".join(counted(round(measured[name]), word) for name, word in words.items() if name in measured)


def _energies(measured: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    for name in sorted(measured):
        source = name.removesuffix(ENERGY)
        if source != name:
            power_w = measured.get(f"{source}{POWER}")
            yield source, f"{measured[name]:,.0f} J{'' if power_w is None else f', on average {power_w:,.1f} W'}"


_LINES: tuple[tuple[str, tuple[str, ...], Callable[[Mapping[str, float]], str]], ...] = (
    ("ranks got", ("cpu_s", "waited_s", "most_waited", "still_s", "least_still_s", "solve_s"), _got),
    ("switched", ("involuntary_switches",), _switches),
    ("others took", ("foreign_cpu_s", "foreign_for_s", "cores", "physical_cores"), _others),
    ("hypervisor took", ("steal_s",), lambda got: f"{duration(got['steal_s'])} of CPU time"),
    ("control group", ("throttled_s", "throttled_periods"), _throttling),
    ("memory", ("", "major_faults", "swap_pages", "numa_misses", "huge_page_bytes"), _memory),
    ("network", ("", "nic_errors", "tcp_retransmits"), _network),
)
"""Rows of the table, each with the measurements that it tells: the first must be there, but for "". Those of sensors
tell themselves."""
_KINDS = {
    "what ranks got": ("cpu_s",),
    "what others took": ("foreign_cpu_s",),
    "what the hypervisor took": ("steal_s",),
    "quotas": ("throttled_s",),
    "how long ranks stood still": ("still_s",),
    "swapping and page faults": ("major_faults", "swap_pages"),
    "network errors": ("nic_errors", "tcp_retransmits"),
}
"""What can be measured during a run beside what sensors tell, and the measurements of which one must be there."""


def _sensors() -> "Sequence[FileSensor]":
    from ..trial.observers.sensors.registry import FILE_SENSORS  # noqa: PLC0415 - most runs have no figure of one

    return FILE_SENSORS


def measured_sentence(records: Sequence[TrialRecord]) -> str:
    """Say what was measured of the machine during the runs of a study, and what was not."""
    known = {name for record in records for name in record.measurements}
    sources = sorted(name.removesuffix(POWER) for name in known if name.endswith(POWER))
    measured = [what for what, names in _KINDS.items() if known & set(names)]
    missing = [what for what in _KINDS if what not in measured]
    for sensor in _sensors():
        there = not known.isdisjoint(sensor.words)
        (measured if there else missing).append(sensor.kind if there else f"the {sensor.kind}")
    measured += [f"power (by {', '.join(sources)})"] if sources else []
    if not measured:
        return "Nothing was measured of what the machine did during the runs."
    return f"Measured during the runs: {', '.join(measured)}. {untold(missing, power=bool(sources))}".rstrip()


def untold(kinds: Sequence[str], *, power: bool = True) -> str:
    """Say what a machine does not tell of what disturbs runs, and of their power; "" where it tells all."""
    what = listed([*kinds, *["the power"] * (not power)])
    known = " Where one of these slows a run, nothing shows it." if kinds else ""
    return f"This machine does not tell {what}.{known}" if what else ""


def untold_here() -> str:
    """Say what this machine does not tell by the files that sensors read."""
    return untold(
        [
            f"the {sensor.kind}"
            for sensor in _sensors()
            if not any(any(Path("/").glob(pattern[1:])) for pattern in sensor.globs)
        ]
    )
