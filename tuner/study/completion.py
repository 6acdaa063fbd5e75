"""A study that is complete is not gone on with, unless it is given more than it has spent."""

import shlex

from results.record import Study
from results.store.store import Store

from ..budget import Meter
from ..clock import ToldClock
from ..options import TuneOptions
from ..words import counted
from .kinds import counts
from .lifecycle import elapsed_s
from .objective import ranking_of

INTERRUPTED = "interrupted"


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
    longer = f"`hpltune tune «resume» «study» {name}{db} «trials» {2 * trials}`"
    return "\n".join(
        [
            (
                f"Study {study.name} is complete, with {counted(trials, 'trial')} of its search, "
                f"so nothing was run ({options})."
            ),
            f"`hpltune best {name}{db}` shows what it found.",
            f"With a larger «budget», «trials» or «run_time» it goes on, for example {longer}.",
            *([] if named else _stopped(store, db)),
        ]
    )


def _stopped(store: Store, db: str) -> list[str]:
    """The newest study that was stopped before its end."""
    names = [study.name for study in store.studies() if study.space_text and study.state == INTERRUPTED]
    if not names:
        return []
    return [f"Study {names[-1]} was stopped: `hpltune tune «resume» «study» {shlex.quote(names[-1])}{db}` goes on."]
