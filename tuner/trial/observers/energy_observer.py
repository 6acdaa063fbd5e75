"""Measures the energy of each solve by all sources that tell the power of its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from hpl.witness import PowerSeries
from runners.job import Job

from ...events import Listener
from .contract import LaunchObserver, Measurements, SolveTime, WatchedLaunch
from .energy.contract import PowerSourceError
from .energy.meters import PowerMeters
from .energy.sampling import Sampler


@dataclass
class EnergyObserver(LaunchObserver):
    """Measures the energy of each solve of a launch by all sources."""

    meters: PowerMeters
    listener: Listener
    _samplers: list[Sampler] = field(default_factory=list, init=False)
    _power: list[PowerSeries] = field(default_factory=list, init=False)

    @classmethod
    def of(cls, launch: WatchedLaunch) -> Self | None:
        """Only where something tells the power."""
        if launch.meters is None or not launch.meters.sources:
            return None
        return cls(launch.meters, launch.listener)

    def begin(self, job: Job, nodes: Sequence[str]) -> None:
        """Begin to read what tells of all nodes of the job."""
        del nodes
        self._samplers = [Sampler(source, job.nodes) for source in self.meters.usable(job.nodes)]
        for sampler in self._samplers:
            sampler.start()

    def end(self, solves: Sequence[SolveTime]) -> Sequence[Measurements]:
        """Tell the energy of each run whose begin and end are known."""
        for sampler in self._samplers:
            sampler.stop()
        for sampler in self._samplers:
            sampler.join()
        found: list[dict[str, float]] = [{} for _ in solves]
        for sampler in self._samplers:
            name = sampler.source.name
            for number, (solve, told) in enumerate(zip(solves, found, strict=True)):
                if solve.began_s is None or solve.ended_s is None:
                    continue
                try:
                    energy_j = sampler.energy_j(solve.began_s, solve.ended_s)
                    times_s, watts = sampler.power_w(solve.began_s, solve.ended_s) if energy_j is not None else ((), ())
                except PowerSourceError as error:
                    self.meters.say_once(self.listener, name, str(error))
                    continue
                if energy_j is not None:
                    told[f"{name}_energy_j"] = energy_j
                    told[f"{name}_power_w"] = energy_j / (solve.ended_s - solve.began_s)
                    self._power.append(PowerSeries(number, name, times_s, watts))
            if sampler.hangs:
                self.meters.note_hung(name)
        return found

    def lines(self) -> Sequence[str]:
        """Return the power of each run over its time, by each source whose energy could be told."""
        return [series.line() for series in self._power if series.times_s]
