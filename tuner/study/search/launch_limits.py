"""How long a launch should and may take, and what it must reach; learnt from every trial of the study."""

from dataclasses import dataclass

from hpl.witness import parse_panels
from results.record import Invalidity, Kind, TrialRecord

from ...engines.fidelity import Rung
from ...trial.early_stopping import EarlyStopping
from ...trial.time_limit import limit_s, outlasted_sentence
from ..incumbent import Incumbent, incumbent_lower_bound
from ..session import StudySession
from .run_time import RunTimeEstimate


@dataclass(frozen=True, kw_only=True)
class LaunchLimits:
    """The limits of launches on a real machine.

    Attributes:
        unknown_s: seconds after which a launch is ended of which it is not known yet what it should take.
        every_rate: no run is stopped early, because each rate is wanted.
    """

    session: StudySession
    incumbent: Incumbent
    run_time: RunTimeEstimate
    early_stopping: EarlyStopping
    unknown_s: float
    every_rate: bool = False

    def should_take_s(self, rung: Rung) -> float | None:
        """Seconds that a launch of one run should take; None while no run has told."""
        return self.run_time.should_take_s(rung)

    def limit_s(self, expected_s: float | None) -> float:
        """Seconds after which a launch that begins now is ended.

        Args:
            expected_s: what it should take, or None.
        """
        return limit_s(expected_s, self.session.meter.remaining_s(), self.unknown_s)

    def lower_bound(self, key: str) -> float | None:
        """The GFLOPS that a run of a configuration must be able to reach; None where it has to go to its end."""
        return None if self.every_rate else incumbent_lower_bound(self.session, key)

    def learn(self, record: TrialRecord) -> None:
        """Take in a trial that has ended; what was ended by its limit may have been given too little."""
        self.run_time.learn(record)
        if record.kind is not Kind.SEARCH:
            return
        if record.ranked and record.gflops:
            self.early_stopping.learn(parse_panels(record.errors_text), record.gflops)
        if record.invalidity is Invalidity.TIMEOUT and self.incumbent.gflops is None:
            self._raise_run_time(record.cost_s or 0.0)

    def _raise_run_time(self, cost_s: float) -> None:
        raised = self.run_time.raise_to(cost_s, self._fits)
        if raised is not None and self._fits(self.run_time.full_s):
            given_s = self.limit_s(self.run_time.expected_s)
            self.session.say(outlasted_sentence(self.session.space.largest_n, given_s, raised=raised))

    def _fits(self, run_s: float) -> bool:
        return self.session.meter.out_of_time(run_s) is None
