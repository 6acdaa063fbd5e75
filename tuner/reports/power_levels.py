"""What a measurement of the power has, and lacks, of the levels of quality that the Green500 asks for.

Source: EE HPC WG, "Energy Efficient High Performance Computing Power Measurement Methodology", text of 8 November 2024:
tables of aspects 1 (time), 2 (part of the machine), 3 (subsystems) and 4 (where and how well it is measured).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from results.report.model import Table, columns

from ..words import counted

CORE_PHASE_S = 60.0
"""The core phase, which is HPL's own solve, is measured whole; it takes a minute at least."""
INSIDE = {
    "rapl": "only processors and their memory",
    "nvml": "only the GPUs",
    "amdsmi": "only the GPUs",
    "hwmon": "what the board's chips see",
    "pm_counters": "the node behind the conversion of its power",
    "slurm": "what the site's plugin sees",
}
"""Sources that measure downstream of a conversion of power, and what."""
PARTS = {1: ("1/10 of the system", 2.0, 15), 2: ("1/8 of the system", 10.0, 15)}
"""By level the part of the system, kW and nodes, of which the largest is measured, unless all of it is."""
ACCURACY_PERCENT = {1: 5, 2: 2, 3: 1}


@dataclass(frozen=True)
class PowerLevels:
    """A run whose power may have been measured.

    Attributes:
        source: what measured it; "" where nothing did.
        power_w: its mean over the core phase; None where it is not known.
        nodes: how many were measured.
        core_phase_s: seconds of the solve; None where they are not known.
    """

    source: str
    power_w: float | None
    nodes: int
    core_phase_s: float | None

    def table(self) -> Table:
        """Each level with what it would also need."""
        rows = tuple((f"level {level}", "; ".join(self.missing(level))) for level in (1, 2, 3))
        has = (
            f"Measured by {self.source}: the mean power of all {counted(self.nodes, 'node')} over the whole core phase."
            if self.source
            else "Nothing measured the power of this run."
        )
        said = f"{has} hpltune cannot see the rest of the machine, nor how exact the meter is."
        return Table("", columns("level", "would also need"), rows, caption=said)

    def missing(self, level: int) -> list[str]:
        """What a level would also need, in the order of its aspects."""
        return [*self._of_time(level), *self._of_the_machine(level), *self._of_the_meter(level)]

    def _of_time(self, level: int) -> Iterator[str]:
        if not self.source:
            yield "one sample of the power a second, at equal intervals over the whole core phase"
        if self.core_phase_s is None or self.core_phase_s < CORE_PHASE_S:
            took = "" if self.core_phase_s is None else f" (it took {self.core_phase_s:.1f} s)"
            yield f"a core phase of at least a minute{took}"
        if level > 1:
            yield "the average over the full run, from its start to its end"
            yield "at least 10 equal averages within the core phase"
            yield "the power of the idle machine"
        if level > 2:
            yield "energy that the meter integrates all the time, with at most 10 s of the core phase uncovered"

    def _of_the_machine(self, level: int) -> Iterator[str]:
        if level > 2:
            yield "all of the system, with all subsystems that take part, measured"
            return
        part, kilowatts, nodes = PARTS[level]
        power_w = (self.power_w if self.source else None) or 0.0
        wanted = [part]
        wanted += [f"{kilowatts:g} kW"] if power_w < 1000 * kilowatts else []
        wanted += [f"{nodes} nodes"] if self.nodes < nodes else []
        enough = " or 40 kW," if level == 1 and power_w < 40_000 else ""
        yield f"the largest of {', '.join(wanted)},{enough} or the whole system"
        others = "the interconnect" if level == 1 else "all other subsystems that take part"
        yield f"the power of {others}, measured or estimated from above"

    def _of_the_meter(self, level: int) -> Iterator[str]:
        inside = [INSIDE[name] for name in self.source.split("+") if name in INSIDE]
        if inside:
            yield f"a meter upstream of the power supplies, or their loss: {self.source} measures {inside[0]}"
        yield f"a meter that is exact to {ACCURACY_PERCENT[level]} %, as its maker says"
