"""The best of a study so far, and what another configuration must reach to become it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from results.record import Kind, TrialRecord
from results.stats.levels import drift_corrected
from results.stats.noise import Noise, noise_of
from results.stats.ranking import Ranked, rank

from ..trial.early_stopping import CERTAINTY
from .kinds import RANKED, is_compared
from .objective import Objective
from .session import StudySession


@dataclass
class Incumbent:
    """The highest rate so far, and the best by each objective.

    Attributes:
        gflops: None before the first rate that is compared.
    """

    objective: Objective
    gflops: float | None = None
    _best: dict[str, tuple[float, str]] = field(default_factory=dict, init=False)

    def note(self, record: TrialRecord) -> None:
        """Take in a trial that has ended."""
        if not is_compared(record):
            return
        gflops = record.gflops or 0.0
        self.gflops = max(self.gflops or 0.0, gflops)
        for objective in filter(None, (self.objective, self.objective.against)):
            worth, best = objective.worth(record.params, gflops), self._best.get(objective.name)
            if best is None or worth > best[0]:
                self._best[objective.name] = (worth, objective.told(record))

    def replace_by(self, records: Sequence[TrialRecord]) -> None:
        """Forget the best so far; the best of these is it."""
        self.gflops = None
        self._best.clear()
        for record in records:
            self.note(record)

    @property
    def told(self) -> str | None:
        """The best by each objective, with its unit; None before the first."""
        return ", ".join(told for _, told in self._best.values()) or None


def incumbent_lower_bound(session: StudySession, key: str) -> float | None:
    """The GFLOPS that one more run of some configuration reaches; None where the configuration is to run to its end.

    It holds with CERTAINTY, for a noise as repeats tell, small ones too, or as is usual and as the machine has shown
    before anything ran twice, so that luck is no bar. The first run goes to its end, and so does a repeat: if only the
    slow ones were given up, the fast ones would speak for their configuration.

    Args:
        key: of the configuration that is to run.
    """
    ranked = session.runnable(rank(session.records(RANKED)))
    measured = drift_corrected(ranked, session.objective.noise_at_first)
    if not measured or any(entry.key == key for entry in measured):
        return None
    noise = noise_of_runs(session, measured)
    return max(noise.one_more(entry.median_gflops, entry.runs, CERTAINTY) for entry in measured)


def noise_of_runs(session: StudySession, measured: Sequence[Ranked]) -> Noise:
    """By how much runs differ: as repeats tell, small ones too, or as is usual and shown before anything ran twice.

    Args:
        measured: the configurations that ran in full, with rates as of the same time.
    """
    small: dict[str, list[float]] = defaultdict(list)
    for record in session.records((Kind.SMALL,)):
        if record.ranked:
            small[record.key].append(record.gflops or 0.0)
    logs = [np.log(rates) for rates in (*small.values(), *(entry.gflops for entry in measured))]
    return noise_of(logs, session.objective.noise_at_first)
