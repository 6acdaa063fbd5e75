"""The trials of a study as this process begins, pays and tells them, all in one thread."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from results.metrics import measured_watts
from results.record import Kind, TrialRecord, TrialState
from results.stats.levels import drift_corrected
from results.stats.noise import Noise, noise_of
from results.stats.ranking import Ranked, rank

from ..budget import Meter
from ..clock import ToldClock
from ..events import TrialEnded
from ..trial.early_stopping import CERTAINTY
from .names import COUNTED, RANKED, SEARCHED, counts, is_compared, trial_folder
from .objective import Objective
from .session import StudyContext, StudySession

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
        if not is_compared(record) or self._overruled(record):
            return
        gflops = record.gflops or 0.0
        self.gflops = max(self.gflops or 0.0, gflops)
        for objective in filter(None, (self.objective, self.objective.against)):
            worth = objective.worth(record.params, gflops, measured_watts(record.measurements))
            best = self._best.get(objective.name)
            if worth > 0 and (best is None or worth > best[0]):
                self._best[objective.name] = (worth, objective.told(record))

    def _overruled(self, record: TrialRecord) -> bool:
        """Whether a trial does not count beside an undisturbed run of its configuration."""
        runs = [] if record.undisturbed else list(self._runs.values())
        return any(one.key == record.key and one.kind in RANKED and one.undisturbed for one in runs)

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
        shown before anything ran twice, so that luck is no bar. A configuration that ran once sets no bar that no other
        reaches, because its run may have been faster by more than the noise. The first run goes to its end, and so does
        a repeat: if only the slow ones were given up, the fast ones would speak for their configuration.

        Args:
            session: says which configurations can run now.
            key: of the configuration that is to run.
        """
        if any(one.by_measured_power for one in filter(None, (self.objective, self.objective.against))):
            return None  # a slow configuration may be the most efficient one
        runs = [record for _, record in sorted(self._runs.items())]
        ranked = session.runnable(rank([record for record in runs if record.kind in RANKED]))
        shown = session.objective.noise_at_first
        measured = drift_corrected(ranked, shown)
        if not measured or any(entry.key == key for entry in measured):
            return None
        noise = noise_of_runs([record for record in runs if record.kind is Kind.SMALL], measured, shown)
        reached = [(noise.one_more(entry.median_gflops, entry.runs, CERTAINTY), entry.runs) for entry in measured]
        second = sorted(gflops for gflops, _ in reached)[-2:][0]
        return max([second, *(gflops for gflops, runs in reached if runs > 1)])


def noise_of_runs(small: Iterable[TrialRecord], measured: Collection[Ranked], shown: float) -> Noise:
    """By how much runs differ: as repeats tell, small ones too, or as is usual and shown before anything ran twice.

    Args:
        small: the small runs of a study.
        measured: the configurations that ran in full, with rates as of the same time.
        shown: noise that the machine has shown before anything ran twice.
    """
    rates: dict[str, list[float]] = defaultdict(list)
    for record in small:
        if record.ranked and record.disturbed is None:
            rates[record.key].append(record.gflops or 0.0)
    logs = [np.log(each) for each in (*rates.values(), *(entry.repeats for entry in measured if entry.repeats))]
    return noise_of(logs, shown)


@dataclass(kw_only=True)
class Ledger:
    """Commits trials, charges the budget for each once, and tells the display.

    Attributes:
        joinable: other processes may work on the study.
        whole: meter of the budget of which this ledger has a share: what is spent counts there too, and the display
            tells what is left of it; None where there is no other.
        learners: hear of each trial after it is committed, before the next is.
        known: numbers of the trials that were begun here, or counted.
    """

    context: StudyContext
    study: str
    meter: Meter
    incumbent: Incumbent
    joinable: bool = True
    whole: Meter | None = None
    learners: Sequence[Callable[[TrialRecord], None]] = ()
    known: set[int] = field(default_factory=set, init=False)
    _others_seen: bool = field(default=False, init=False)
    _ran: set[tuple[Kind, str, float]] = field(default_factory=set, init=False)

    def begin(self, record: TrialRecord) -> int | None:
        """Store that a trial runs, and return its number.

        Returns:
            None where somebody else of this study began it, or the budget's last trial, before.
        """
        number = (
            self.context.store.begin_first(record, self.known, COUNTED, self.meter.budget.trials)
            if self.joinable and record.kind in SEARCHED
            else self.context.store.begin(record)
        )
        if number is None:
            self._others_seen = True
        else:
            self.known.add(number)
        return number

    def is_shared(self) -> bool:
        """Whether other processes work on the study, or did since this session began."""
        self._others_seen = self._others_seen or bool(self.context.store.others(self.study))
        return self._others_seen

    def folder(self, number: int) -> Path:
        """Where a trial runs."""
        return trial_folder(self.context.runs, self.study, number)

    def commit(self, record: TrialRecord) -> TrialRecord:
        """Store what came of a trial, charge the budget, tell the display, and let others learn."""
        if isinstance(self.meter.clock, ToldClock):
            self.meter.clock.sleep(record.cost_s or 0.0)
        self.context.store.finish(record)
        for meter in filter(None, (self.meter, self.whole)):
            meter.charge(record.cost_s or 0.0, trial=counts(record))
        self.incumbent.note(record)
        shown = self.whole or self.meter
        ended = TrialEnded(
            record,
            best=self.incumbent.told,
            spent=shown.spent(),
            left=shown.left(),
            again=self._runs_again(record),
        )
        self.context.listener(ended)
        for learn in self.learners:
            learn(record)
        return record

    def count(self, records: Sequence[TrialRecord]) -> None:
        """Charge the budget for trials of earlier times and of others that have ended, each once."""
        for record in records:
            if record.number in self.known or record.state is TrialState.RUNNING:
                continue
            self.known.add(record.number)
            self._runs_again(record)
            self.meter.charge(record.cost_s or 0.0, trial=counts(record))

    def _runs_again(self, record: TrialRecord) -> bool:
        """Whether the search ran the same before, as much of the same configuration; it has now."""
        same = (record.kind, record.key, record.part)
        again = record.kind in SEARCHED and same in self._ran
        self._ran.add(same)
        return again
