"""The best of a study so far, and what another configuration must reach to become it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from results.record import Kind, TrialRecord
from results.stats.levels import drift_corrected
from results.stats.noise import Noise, noise_of
from results.stats.ranking import Ranked, rank

from ..trial.early_stopping import CERTAINTY
from .kinds import RANKED, is_compared
from .objective import Objective
from .session import StudySession

_KEPT = RANKED | {Kind.SMALL}
"""Kinds of trials that tell what the best reaches, and by how much runs differ."""


@dataclass
class Incumbent:
    """The highest rate so far, the best by each objective, and the runs that say what the best reaches once more.

    Attributes:
        gflops: None before the first rate that is compared.
    """

    objective: Objective
    gflops: float | None = None
    _best: dict[str, tuple[float, str]] = field(default_factory=dict, init=False)
    _runs: dict[int, TrialRecord] = field(default_factory=dict, init=False)

    def note(self, record: TrialRecord) -> None:
        """Take in a trial that has ended."""
        self.remember([record])
        if not is_compared(record):
            return
        gflops = record.gflops or 0.0
        self.gflops = max(self.gflops or 0.0, gflops)
        for objective in filter(None, (self.objective, self.objective.against)):
            worth, best = objective.worth(record.params, gflops), self._best.get(objective.name)
            if best is None or worth > best[0]:
                self._best[objective.name] = (worth, objective.told(record))

    def remember(self, records: Iterable[TrialRecord]) -> None:
        """Take in trials of earlier times, none of which need be the best of those that can run now."""
        for record in records:
            if record.kind in _KEPT and record.ranked:
                self._runs[record.number] = replace(record, output="", errors_text="", hpl_dat="")

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

    def lower_bound(self, session: StudySession, key: str) -> float | None:
        """The GFLOPS that one more run of some configuration reaches; None where the configuration runs to its end.

        It holds with CERTAINTY, for a noise as repeats tell, small ones too, or as is usual and as the machine has
        shown before anything ran twice, so that luck is no bar. The first run goes to its end, and so does a repeat: if
        only the slow ones were given up, the fast ones would speak for their configuration.

        Args:
            session: says which configurations can run now.
            key: of the configuration that is to run.
        """
        runs = [record for _, record in sorted(self._runs.copy().items())]
        ranked = session.runnable(rank([record for record in runs if record.kind in RANKED]))
        shown = session.objective.noise_at_first
        measured = drift_corrected(ranked, shown)
        if not measured or any(entry.key == key for entry in measured):
            return None
        noise = noise_of_runs([record for record in runs if record.kind is Kind.SMALL], measured, shown)
        return max(noise.one_more(entry.median_gflops, entry.runs, CERTAINTY) for entry in measured)


def noise_of_runs(small: Iterable[TrialRecord], measured: Collection[Ranked], shown: float) -> Noise:
    """By how much runs differ: as repeats tell, small ones too, or as is usual and shown before anything ran twice.

    Args:
        small: the small runs of a study.
        measured: the configurations that ran in full, with rates as of the same time.
        shown: noise that the machine has shown before anything ran twice.
    """
    rates: dict[str, list[float]] = defaultdict(list)
    for record in small:
        if record.ranked:
            rates[record.key].append(record.gflops or 0.0)
    logs = [np.log(each) for each in (*rates.values(), *(entry.gflops for entry in measured))]
    return noise_of(logs, shown)
