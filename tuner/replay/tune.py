"""`hpltune tune --replay`: a study whose runs a table tells."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from results.record import SIMULATOR, TrialRecord
from search_spaces.load import space_text

from ..engines.fidelity import FULL, Rung
from ..errors import TunerError
from ..events import TrialProgress, TrialStarted
from ..options import TuneOptions
from ..simulation.session import Named, ToldMachine, told_study
from ..simulation.study import ToldTrials, VirtualStudy
from ..study.ledger import LearningBook
from ..study.lifecycle import MachineFacts, begin, closing_study, go_on
from ..study.session import StudyContext
from ..trial.judge import Failure
from ..trial.ladder import part_at
from ..trial.pipeline import Planned, TrialBook, launched, planned, records_of
from ..trial.pipeline import begin as begin_trial
from ..trial.records import rejected
from ..tuning.campaign import TuneOutcome
from ..units import duration
from ..words import counted
from .player import Player, ReplayPlan, replay_plan
from .table import ReplayTable


def read_table(replay: Mapping[str, Any]) -> ReplayTable:
    """The table that options name.

    Raises:
        TunerError: it cannot be used, or it was changed since the study with these options began.
    """
    table = ReplayTable.read(Path(replay["table"]))
    if replay.get("sha256") not in {None, table.sha256}:
        raise TunerError(f"{table.path} was changed since this study began: put it back, or begin a new study")
    return table


@dataclass
class ReplayedTrials:
    """Trials that a player plays one after the other.

    Attributes:
        seed: decides with a configuration which of its runs is played.
        named: tells a plan from others in one line.
    """

    player: Player
    book: TrialBook
    context: StudyContext
    seed: int
    named: Named
    jobs: int = 1
    _begun: list[Planned[ReplayPlan]] = field(default_factory=list)

    @property
    def under_way(self) -> int:
        """How many have begun and not ended."""
        return len(self._begun)

    def begin(self, record: TrialRecord, *, rung: Rung = FULL, repeat: int = 0) -> TrialRecord | None:
        """Commit that a trial runs; it is played when its end is waited for.

        Returns:
            The record where it ended at once because the table has no such run, else None.
        """
        table = self.player.table
        plan = planned(lambda: replay_plan(record.params, table, rung, self.seed, repeat))
        new = replace(record, part=part_at(record.params, rung), versions={SIMULATOR: table.simulator})
        trial = begin_trial(self.book, new, plan)
        if isinstance(trial, TrialRecord):
            return trial
        self.context.listener(TrialStarted(trial.begun.number, self.named(trial.plan, trial.begun), None))
        self._begun.append(trial)
        return None

    def end_oldest(self) -> TrialRecord:
        """Play the trial that began first, and commit what came of it."""
        trial = self._begun.pop(0)
        number = trial.begun.number
        directory = self.book.folder(number)

        def on_fraction(fraction: float, elapsed_s: float) -> None:
            self.context.listener(TrialProgress(number, fraction, elapsed_s))

        result = launched(lambda: self.player.play(trial.plan, directory, self.context.stop, on_fraction))
        if isinstance(result, Failure):
            return self.book.commit(rejected(trial.begun, result))
        (record,) = records_of([trial], trial.plan, result, directory)
        return self.book.commit(record)


@contextmanager
def replayed_session(
    name: str | None, options: TuneOptions, table: ReplayTable, context: StudyContext, *, resume: bool
) -> Iterator[VirtualStudy]:
    """A new study of that name, None for a free one, or with `resume` the stored one with all it has learnt.

    Raises:
        SpaceError, ResultsError: a sentence says what prevents the study.
    """
    if resume and name is not None:
        begun = go_on(context.store, name, options, run="replay")
        space = table.space(options.space, options.overrides, context.store.study(name).space_text)
    else:
        replay = {**(options.replay or {}), "sha256": table.sha256}
        text = table.landscape.space if options.whole_table else space_text(options.space)
        space = table.space(options.space, options.overrides, text)
        begun = begin(context.store, name, replace(options, replay=replay), facts_of(options, table), text)
    with closing_study(begun.name, context.store):
        told = ToldMachine(space, table.probes, table.ladder, noisy=table.noisy)
        speed = float((options.replay or {}).get("speed", 0.0))
        with closing(Player(table, speed)) as player:

            def trials(book: LearningBook, named: Named) -> ToldTrials:
                return ReplayedTrials(player, book, context, options.seed, named)

            study = told_study(begun, options, told, context, trials)
            yield replace(study, most_runs=table.runs_of)
        study.session.end()


def facts_of(options: TuneOptions, table: ReplayTable) -> MachineFacts:
    """What a study keeps of the machine that its table is of."""
    return MachineFacts(
        host={
            "backend": "replay",
            "replay": table.name,
            "description": table.landscape.description,
            "nodes": table.nodes,
            "physical_cores": table.machine.cores,
        },
        rpeak_gflops=options.rpeak_gflops,
        price_usd=options.price_usd,
        power_w=options.power_w,
        versions={"hpltune": version("hpltune"), SIMULATOR: table.simulator, "optuna": version("optuna")},
    )


def tune_replayed(
    options: TuneOptions, name: str | None, table: ReplayTable, context: StudyContext, *, resume: bool
) -> TuneOutcome:
    """Run a study on a table.

    Args:
        name: of the study; a new one may be None, which takes a free one.
        resume: go on with the stored one of that name.

    Raises:
        TunerError, SpaceError, ResultsError: a sentence says what prevents the study.
    """
    with replayed_session(name, options, table, context, resume=resume) as study:
        known = table.landscape
        study.session.say(f"Study {study.study}: {options}")
        study.session.say(
            f"Replayed, nothing is measured: {table.name}, {known.description.rstrip('.')}. "
            f"{len(study.space)} of its {counted(len(known.places), 'configuration')} can be asked for; "
            "budget and times are the table's."
        )
        once = sum(len(place.full) == 1 for place in known.places)
        if once and table.noisy:
            ran = f"{counted(once, 'configuration')} of the table ran once"
            study.session.say(f"{ran}, so that nothing tells how much runs of {'it' if once == 1 else 'these'} differ.")
        engine = study.engine(options.engine, options.seed, options.points)
        ended = study.search(engine, options.repeats, to_confirm=options.confirm)
        study.session.say(f"Search stopped: {ended}.")
        run_s = study.session.meter.run_s
        study.session.say(f"On the machine of the table this search would have taken {duration(run_s)} of HPL runs.")
        ranking = study.confirm(options.confirm)
    return TuneOutcome(study=study.study, ranking=ranking, ended=ended, interrupted=study.stopped)
