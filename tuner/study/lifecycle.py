"""The beginning of a study in the store, a new one or the one that was stopped, and its end where it fails."""

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import Final

from results.errors import NoRoomError, ResultsError
from results.record import Study, StudyNotes, TrialRecord
from results.store.store import Store
from search_spaces.load import space_text

from ..budget import Meter
from ..clock import ToldClock
from ..options import TuneOptions
from ..stopping import Stopping
from ..trial.records import not_reached
from ..words import counted
from .names import counts, create_unnamed, resume_command
from .objective import ranking_of

INTERRUPTED: Final = "interrupted"


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """What a study keeps of the machine it runs on, and is noted at first; names, units and None as in `Study`."""

    host: Mapping[str, object]
    rpeak_gflops: float | None = None
    price_usd: float | None = None
    power_w: float | None = None
    versions: Mapping[str, str]
    notes: StudyNotes = field(default_factory=StudyNotes)


@dataclass(frozen=True)
class BegunStudy:
    """A study that this process works on, and its trials of earlier times.

    Attributes:
        joined: other processes work on it too, on nodes of their own; who began it confirms the winner.
    """

    name: str
    earlier: Sequence[TrialRecord] = ()
    joined: bool = False


def begin(
    store: Store, name: str | None, options: TuneOptions, machine: MachineFacts, text: str | None = None
) -> BegunStudy:
    """Create a study.

    Args:
        name: None takes the first that is free after its space.
        text: TOML of the space; None reads it where the options name it.

    Raises:
        StudyExistsError: the name is taken, if only since a moment ago.
    """
    study = replace(
        _study(name or Path(options.space).stem, options.space, options, machine),
        space_text=space_text(options.space) if text is None else text,
        engine=options.engine,
    )
    return BegunStudy(_begin(store, study, name))


TURNS = "compare"
"""What a study of `hpltune compare --interleaved` has in place of a space's name."""
SIDE = "side"
"""The parameter of its trials that tells the study whose best configuration ran."""
SCALE = "scale"
"""What a study of `hpltune scale` has in place of a space's name."""


def begin_runs(
    store: Store,
    options: TuneOptions,
    machine: MachineFacts,
    of: str | Path,
    like: TrialRecord | None = None,
    name: str | None = None,
) -> str:
    """Create the study of runs that are asked for and not searched, and return its name.

    Args:
        of: the file that is measured, TURNS or SCALE.
        like: the trial that it measures again, or whose launch it has.
        name: None takes "run-FILE-K", "compare-K" or "scale-K".

    Raises:
        StudyExistsError: the name is taken.
    """
    called = f"run-{of.stem}" if isinstance(of, Path) else of
    if like is not None:
        machine = replace(machine, notes=replace(machine.notes, like=f"{like.study}#{like.number}"))
    return _begin(store, _study(name or called, str(of), options, machine), name)


def _begin(store: Store, study: Study, name: str | None) -> str:
    """Store a new study, and return its name; where it was given none, the next free one after its own."""
    if name is None:
        return create_unnamed(store, study)
    store.create_study(study)
    return name


def _study(name: str, space_name: str, options: TuneOptions, machine: MachineFacts) -> Study:
    """A new study without a search space, as `hpltune run` makes them."""
    return Study(
        name=name,
        created_at=datetime.now(UTC),
        space_name=space_name,
        space_text="",
        engine="run",
        options=options.to_json(),
        host=machine.host,
        rpeak_gflops=machine.rpeak_gflops,
        price_usd=machine.price_usd,
        power_w=machine.power_w,
        versions=machine.versions,
        notes=machine.notes,
    )


def go_on(store: Store, name: str, options: TuneOptions, *, run: str) -> BegunStudy:
    """Go on with a stored study; its trials that were running when hpltune was killed are ended.

    Args:
        options: its own, but for the budget, which is stored where it is another now.
        run: what a trial is called in the sentence about one that was killed.

    Raises:
        StudyBusyError: another living process works on it.
    """
    store.abandon_running(name, f"hpltune was killed while this {run} ran")
    stored = store.study(name).options
    if TuneOptions.from_json(stored).budget != options.budget:
        store.set_options(name, {**stored, "budget": options.to_json()["budget"]})
    return BegunStudy(name, store.records(name))


def elapsed_s(records: Sequence[TrialRecord]) -> float:
    """Wall seconds during which at least one of these trials ran; those that ran at the same time count once."""
    runs = sorted((record.started_at, record.ended_at) for record in records if record.started_at and record.ended_at)
    spent_s, until = 0.0, None
    for began, ended in runs:
        if until is None or ended > until:
            spent_s += (ended - (began if until is None else max(began, until))).total_seconds()
            until = ended
    return spent_s


def withdraw(store: Store, name: str, folder: Path) -> None:
    """Leave nothing of a study that is refused after its first runs.

    Args:
        folder: where its trials ran.

    Raises:
        StudyBusyError: another living process works on it.
    """
    store.delete_study(name, campaigns=False)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def closing_study(name: str, store: Store, stop: Stopping | None = None) -> Iterator[None]:
    """Leave nothing behind that looks as if it were running: an error cancels what this process runs of a study.

    One before its first trial removes the study. Where somebody ended it, or there was no space, the error gets a note
    how to go on, unless others do.

    Args:
        name: a study that this process works on already.
        stop: without an error the study is complete, or interrupted after a request; None where the block ends it.
    """
    try:
        yield
    except BaseException as error:
        with suppress(ResultsError):
            for number in store.left_behind(name, frozenset()):
                store.finish(not_reached(store.get(name, number)))
            if store.records(name) or store.others(name):
                store.end_study(name, INTERRUPTED)
            else:
                store.delete_study(name, campaigns=False)
            ended = not isinstance(error, Exception)
            if (ended or lacks_space(error)) and store.study(name).space_text and not store.others(name):
                error.add_note(f"{resume_command(name, store)} goes on{'' if ended else ' once there is room'}")
        raise
    if stop is not None:
        store.end_study(name, INTERRUPTED if stop.requested else "complete")


def lacks_space(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, is that something could not be written for want of space."""
    while error is not None:
        if isinstance(error, NoRoomError) or (isinstance(error, OSError) and error.errno in {ENOSPC, EDQUOT, EFBIG}):
            return True
        error = error.__cause__
    return False


def completion_notice(store: Store, study: Study, options: TuneOptions, db: str, *, named: bool) -> str | None:
    """The sentences why nothing of a stored study is left to run, and what to do; None where it goes on.

    Args:
        options: its own, or with another budget.
        db: as commands name the database.
        named: the user named it; else the newest that was stopped is told too.
    """
    if study.state != "complete" or not ranking_of(store, study):
        return None
    records = store.records(study.name)
    if options.budget != TuneOptions.from_json(study.options).budget:
        spent_s = elapsed_s(records) if options.on_machines else sum(record.cost_s or 0.0 for record in records)
        meter = Meter(options.budget, ToldClock(), spent_wall_s=spent_s)
        for record in records:
            meter.charge(record.cost_s or 0.0, trial=counts(record))
        if not (meter.out_of_trials() or meter.out_of_time(0.0)):
            return None
    name = shlex.quote(study.name)
    trials = sum(map(counts, records))
    stopped = [one.name for one in store.studies() if one.space_text and one.state == INTERRUPTED]
    longer = f"`hpltune tune ⟦resume⟧ ⟦study⟧ {name}{db} ⟦trials⟧ {2 * trials}`"
    return "\n".join(
        [
            (
                f"Study {study.name} is complete, with {counted(trials, 'trial')} of its search, "
                f"so nothing was run ({options})."
            ),
            f"`hpltune best {name}{db}` shows what it found.",
            f"With a larger ⟦budget⟧, ⟦trials⟧ or ⟦run_time⟧ it goes on, for example {longer}.",
            *(f"Study {one} was stopped: {resume_command(one, store)} goes on." for one in stopped[-1:] if not named),
        ]
    )
