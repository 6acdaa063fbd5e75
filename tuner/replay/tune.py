"""`hpltune tune --replay`: a study whose runs a table tells."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from results.record import SIMULATED_TABLE, SIMULATOR
from search_spaces.load import space_text

from ..clock import ToldClock
from ..errors import TunerError
from ..options import TuneOptions
from ..study.campaign import TuneOutcome, tuned
from ..study.lifecycle import MachineFacts, begin, closing_study, go_on
from ..study.session import StudyContext
from ..study.sized_study import SiteFacts, SizedStudy, sized_study
from ..units import duration
from ..words import counted
from .player import Player
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


@contextmanager
def replayed_session(
    name: str | None, options: TuneOptions, table: ReplayTable, context: StudyContext, *, resume: bool
) -> Iterator[SizedStudy]:
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
    player = Player(table, float((options.replay or {}).get("speed", 0.0)), options.seed)
    with closing_study(begun.name, context.store, context.stop), closing(player):
        known = SiteFacts(
            probes=table.probes,
            ladder=table.ladder,
            noisy=table.noisy,
            most_runs=table.runs_of,
            told_clock=ToldClock(),
        )
        yield sized_study(begun, options, space, [player], known, context)


def facts_of(options: TuneOptions, table: ReplayTable) -> MachineFacts:
    """What a study keeps of the machine that its table is of."""
    return MachineFacts(
        host={
            "backend": "replay",
            "replay": table.name,
            "description": table.landscape.description,
            "nodes": table.landscape.nodes,
            "physical_cores": table.landscape.machine.cores,
            **({SIMULATED_TABLE: True} if table.landscape.simulated else {}),
        },
        rpeak_gflops=options.rpeak_gflops,
        price_usd=options.price_usd,
        power_w=options.power_w,
        versions={"hpltune": version("hpltune"), SIMULATOR: table.simulator, "optuna": version("optuna")},
    )


def tune_replayed(options: TuneOptions, name: str | None, context: StudyContext, *, resume: bool) -> TuneOutcome:
    """Run a study on a table.

    Args:
        name: of the study; a new one may be None, which takes a free one.
        resume: go on with the stored one of that name.

    Raises:
        TunerError, SpaceError, ResultsError: a sentence says what prevents the study.
    """
    with context.stop.preparing():
        table = read_table(options.replay or {})
    known = table.landscape
    with replayed_session(name, options, table, context, resume=resume) as study:
        say = study.session.say
        say(f"Study {study.session.study}: {options}")
        say(
            f"Replayed, nothing is measured: {table.name}, {known.description.rstrip('.')}. "
            f"{len(study.session.space)} of its {counted(len(known.places), 'configuration')} can be asked for; "
            "budget and times are the table's."
        )
        once = sum(len(place.full) == 1 for place in known.places)
        if once and table.noisy:
            ran, them = counted(once, "configuration"), "it" if once == 1 else "these"
            say(f"{ran} of the table ran once, so that nothing tells how much runs of {them} differ.")
        took = "On the machine of the table this search would have taken"
        return tuned(study, options, lambda run_s: f"{took} {duration(run_s)} of HPL runs.")
