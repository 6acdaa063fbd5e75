"""The heat of processors: their temperature, and how often the hardware slowed them down for it."""

from collections.abc import Iterator, Mapping, Sequence

from hpl.witness import NodeSeries

from ....words import counted
from .contract import FileSensor, SensorLine

MILLI = 1e-3
COLDEST_C, HOTTEST_C = -50.0, 150.0
"""Outside these a sensor tells nothing real."""


class Temperature(FileSensor):
    """The highest temperature of a processor; of another part of the board where no processor tells its own."""

    globs = (
        *(
            f"/sys/bus/{bus}/drivers/{driver}/*/hwmon/hwmon*/temp*_input"
            for bus, driver in (("platform", "coretemp"), ("pci", "k10temp"), ("pci", "zenpower"))
        ),
        "/sys/class/thermal/thermal_zone*/temp",
    )
    kind = "temperature"
    words = {"temperature_c": "at most {:.0f} °C".format}  # noqa: RUF012

    def measure(self, series: Sequence[NodeSeries]) -> Mapping[str, float]:
        """Return the highest temperature of any node, in degrees Celsius."""
        highest_c = max((degrees_c for _, degrees_c in _real_c(series)), default=None)
        return {} if highest_c is None else {"temperature_c": highest_c}

    def line(self, series: Sequence[NodeSeries]) -> SensorLine | None:
        """Return the highest temperature of a node at each time."""
        highest_c: dict[float, float] = {}
        for time_s, degrees_c in _real_c(series):
            highest_c[time_s] = max(degrees_c, highest_c.get(time_s, degrees_c))
        times_s = tuple(sorted(highest_c))
        values = tuple(highest_c[time_s] for time_s in times_s)
        return SensorLine("Highest temperature", "°C", times_s, values) if times_s else None


def _real_c(series: Sequence[NodeSeries]) -> Iterator[tuple[float, float]]:
    """Yield times and temperatures of what counts, without what tells nothing real."""
    own = {of_file.host for of_file in series if "hwmon" in of_file.name}
    for of_file in series:
        if "hwmon" in of_file.name or of_file.host not in own:
            yield from (
                (time_s, MILLI * value)
                for time_s, value in zip(of_file.times_s, of_file.values, strict=True)
                if COLDEST_C < MILLI * value < HOTTEST_C and value != 0.0
            )


class ThrottleEvents(FileSensor):
    """How often Intel's processors slowed down because they were too hot."""

    globs = tuple(
        f"/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/{part}_throttle_count" for part in ("core", "package")
    )
    kind = "throttling for heat"
    words = {"throttle_events": lambda times: f"slowed down {counted(round(times), 'time')}"}  # noqa: RUF012

    def measure(self, series: Sequence[NodeSeries]) -> Mapping[str, float]:
        """Return the events of all cores; of packages, which all their CPUs tell, those of the one with most."""
        cores, packages = 0.0, dict.fromkeys([of_file.host for of_file in series], 0.0)
        for of_file in series:
            risen = max(0.0, of_file.values[-1] - of_file.values[0])
            if "package" in of_file.name:
                packages[of_file.host] = max(packages[of_file.host], risen)
            else:
                cores += risen
        return {"throttle_events": cores + sum(packages.values())} if series else {}
