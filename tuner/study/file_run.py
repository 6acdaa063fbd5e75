"""Measures an HPL.dat as it is: one launch of all its configurations, and a record of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hpl.params import Scalar
from results.record import Kind, TrialRecord

from ..clock import RealClock
from ..events import Listener, Notice, TrialEnded, TrialProgress, TrialStarted
from ..stopping import Stopping
from ..trial.evaluate import Evaluator
from ..trial.judge import Failure
from ..trial.pipeline import Planned, begin, launched, records_of, set_aside
from ..trial.plan import TrialPlan, label
from ..trial.records import not_reached, rejected, started
from ..trial.repeat import Launched, Repeater
from .file_book import FileBook

SHOWN_RUNS = 20
"""Of a file with more runs only so many get a line each, and those that do not count; all are stored."""


@dataclass(frozen=True)
class FileRun:
    """An HPL.dat and where it is measured.

    Attributes:
        plan: of the whole file.
        walltime_s: seconds after which a launch is ended.
        kind: of its trials.
        words: what else tells its configurations from others of the study.
    """

    plan: TrialPlan
    book: FileBook
    evaluator: Evaluator
    walltime_s: float
    listener: Listener
    stop: Stopping
    kind: Kind = Kind.RUN
    words: Mapping[str, Scalar] = field(default_factory=dict)

    def measure(self) -> Launched:
        """Launch the file, once more after a lost node came back or somebody changed the network meanwhile.

        Returns:
            The records of the last launch, and the nodes that did not come back.

        Raises:
            TunerError: no run can be started here; the trials stay RUNNING.
            results.errors.ResultsError: the store cannot be written.
        """
        repeater = Repeater(
            self.evaluator.site, lambda sentence: self.listener(Notice(sentence)), self.stop, RealClock()
        )
        return repeater.launch(lambda last: self._launch(last=last))

    def _launch(self, *, last: bool) -> Launched:
        begun = [self._begun(run.words()) for run in self.plan.runs]
        trials = [one for one in begun if isinstance(one, Planned)]
        first = trials[0].begun.number
        self.listener(TrialStarted(first, label(self.plan), None))
        directory, clock = self.book.folder(first), RealClock()
        began_s = clock.now_s()
        result = launched(
            lambda: self.evaluator.evaluate(
                self.plan,
                directory,
                self.walltime_s,
                lambda panel: self.listener(TrialProgress(first, panel.fraction, clock.now_s() - began_s)),
                self.stop,
            )
        )
        if isinstance(result, Failure):
            for one in trials[1:]:
                self.book.commit(not_reached(one.begun))
            failed = self.book.commit(rejected(trials[0].begun, result))
            self.listener(TrialEnded(failed))
            return Launched([failed])
        records = records_of(trials, self.plan, result, directory)
        disturbed = "" if last or result.verdict.cancelled else result.disturbed
        records = [self.book.commit(record) for record in (set_aside(records) if disturbed else records)]
        for index, record in enumerate(records):
            if index < SHOWN_RUNS or not record.ranked:
                alone = replace(self.plan, runs=(self.plan.runs[index],))
                self.listener(TrialStarted(record.number, label(alone), None))
                self.listener(TrialEnded(record))
        return Launched(records, result.lost_nodes, disturbed)

    def _begun(self, words: dict[str, Scalar]) -> Planned[TrialPlan] | TrialRecord:
        """One of the file's configurations, committed as running."""
        params = {**words, **self._layout(), **self.words}
        return begin(self.book, started(self.book.study, params, self.kind, key_of(params)), self.plan)

    def _layout(self) -> dict[str, Scalar]:
        """What the file does not say of its configurations, in the words of a space."""
        plan = self.plan
        return {
            "blas": plan.blas,
            "kernel": plan.kernel,
            "layout": f"{plan.ranks}x{plan.threads}",
            **plan.launch.words(),
            **plan.settings,
        }


def key_of(params: dict[str, Scalar]) -> str:
    """The identity of a configuration that no space has: all that it is."""
    return " ".join(f"{name}={value}" for name, value in params.items())
