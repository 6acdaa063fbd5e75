"""The outbox: what happened in campaigns, a row for each event, written in the transaction of what it tells.

Ids grow in the order in which transactions end, in all processes: whoever writes events does so alone until its
transaction has ended. So whoever has read up to an id has missed nothing before it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, delete, exists, func, insert, select, tuple_, update

from ..errors import DamagedError, ResultsError, UnknownStudyError
from ..record import SMALLER_RUNS, TrialRecord, TrialState
from .contenders import best_rate
from .database import Database
from .lease import Lease
from .rows import json_text, trial_of
from .schema import CAMPAIGNS, EVENTS, STUDIES, TRIALS
from .service.campaign_entry import GOES_ON, WAITS, LiveState, QueueState, live_state
from .study_list import STUDY_STANDING

KEPT, PRUNED_EACH = 500_000, 10_000
"""Events that are kept at least, besides the last one of each campaign that is there; after how many older ones go."""
_IN_TURN = 0x68706C6576656E74
"""The advisory lock of those who write events: "hplevent" in ASCII."""
_NEWEST = (
    select(
        select(func.max(EVENTS.c.id)).scalar_subquery(),
        *(EVENTS.c[name] for name in ("state", "ended", "failed", "machine_s", "best_gflops", "best_trial")),
    )
    .where(EVENTS.c.campaign == bindparam("name"))
    .order_by(EVENTS.c.id.desc())
    .limit(1)
)
"""The newest id of all, and where a campaign stands; made once, because each trial asks for it."""
_INSERT = insert(EVENTS)


class EventName(StrEnum):
    """What an event is about."""

    STANDS = "campaign"
    BEGAN = "campaign-began"
    CHANGED = "campaign-changed"
    ENDED = "campaign-ended"
    TRIAL_BEGUN = "trial-begun"
    TRIAL_ENDED = "trial-ended"
    SHOWN = "shown"


class Reach(StrEnum):
    """Whether what followed an event can be told."""

    WHOLE = "whole"
    PRUNED = "pruned"
    FOREIGN = "foreign"


@dataclass(frozen=True)
class Totals:
    """What the trials of a study that have ended amount to.

    Attributes:
        machine_s: seconds that they took.
        best_gflops: of the fastest full run that counts; None without one.
        best_trial: its number.
    """

    ended: int = 0
    failed: int = 0
    machine_s: float = 0.0
    best_gflops: float | None = None
    best_trial: int | None = None

    def plus(self, record: TrialRecord) -> Totals:
        """Add a trial that has ended."""
        best = self.best_gflops, self.best_trial
        gflops = record.gflops if record.ranked and record.kind not in SMALLER_RUNS else None
        if gflops is not None and (best[0] is None or (-gflops, record.number) < (-best[0], best[1] or 0)):
            best = gflops, record.number
        failed = self.failed + (record.state is TrialState.FAILED)
        return Totals(self.ended + 1, failed, self.machine_s + (record.cost_s or 0.0), *best)


@dataclass(frozen=True)
class StoredEvent:
    """An event.

    Attributes:
        state: of the campaign then.
        totals: of its trials then.
        trial: what it tells of as it is now, without outputs; None where it tells of none, or its row is damaged.
        running: numbers of the trials that ran when the campaign ended, or at the begin of a stream.
        shown: what the campaign's process showed.
    """

    id: int
    campaign: str
    name: EventName
    state: LiveState
    totals: Totals
    trial: TrialRecord | None = None
    running: Sequence[int] = ()
    shown: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Outbox:
    """The methods of a store for those who are told what happens."""

    database: Database

    def last_id(self) -> int:
        """Return the id of the newest event; 0 without one."""
        with self.database.reading() as connection:
            return _last_id(connection)

    def after(self, known: int, last: int, campaign: str | None = None, most: int = 100) -> Sequence[StoredEvent]:
        """Read the oldest events after one of an id, up to one of an id, of all campaigns or of one."""
        here = (EVENTS.c.id > known) & (EVENTS.c.id <= last)
        if campaign is not None:
            here &= EVENTS.c.campaign == campaign
        with self.database.reading() as connection:
            rows = connection.execute(select(EVENTS).where(here).order_by(EVENTS.c.id).limit(most)).mappings().all()
            return _told(connection, rows)

    def reach(self, known: int, campaign: str | None = None) -> Reach:
        """Tell whether all events after one of an id are there, of all campaigns or of one; 0 is before the first."""
        with self.database.reading() as connection:
            top = _last_id(connection)
            pruned = top - top % PRUNED_EACH - KEPT
            if campaign is None:
                kept = known >= pruned
            elif known == 0:
                here = (EVENTS.c.campaign == campaign) & (EVENTS.c.state != "removed")
                query = select(EVENTS.c.event).where(here).order_by(EVENTS.c.id).limit(1)
                return Reach.WHOLE if connection.execute(query).scalar() == EventName.BEGAN else Reach.PRUNED
            else:
                ours = select(EVENTS.c.id).where((EVENTS.c.id == known) & (EVENTS.c.campaign == campaign))
                kept = connection.execute(ours).first() is not None
                if not kept and known > pruned:
                    return Reach.FOREIGN
        return Reach.FOREIGN if known > top else Reach.WHOLE if kept else Reach.PRUNED

    def newest(self, campaign: str) -> StoredEvent:
        """Read the last event of a campaign.

        Raises:
            UnknownStudyError: there is no such campaign.
        """
        self.settle(campaign)
        with self.database.reading() as connection:
            return _told(connection, [_needed(connection, campaign)])[0]

    def standing(self, campaign: str) -> StoredEvent:
        """Read how a campaign stands, as if that were an event; its id is that of the last one that led there.

        Raises:
            UnknownStudyError: there is no such campaign.
        """
        self.settle(campaign)
        with self.database.reading() as connection:
            return _standing(connection, _needed(connection, campaign))

    def standings(self) -> tuple[int, Sequence[StoredEvent]]:
        """Read how the campaigns stand that run, and the id of the newest event."""
        for campaign in self.at_work():
            self.settle(campaign)
        with self.database.reading() as connection:
            lasts = [_last(connection, campaign) for campaign in _names_at_work(connection)]
            running = [last for last in lasts if last is not None and last["state"] == "running"]
            return _last_id(connection), [_standing(connection, last) for last in running]

    def at_work(self) -> Sequence[str]:
        """List the campaigns that say they run."""
        with self.database.reading() as connection:
            return _names_at_work(connection)

    def running(self, campaign: str) -> Sequence[int]:
        """List the numbers of the trials of a campaign that run; none where it does not."""
        with self.database.reading() as connection:
            last = _last(connection, campaign)
            return _running(connection, campaign) if last is not None and last["state"] == "running" else []

    def state(self, campaign: str) -> LiveState:
        """Tell how a campaign stands: killed, where it says that it runs and nobody works on it."""
        with self.database.reading() as connection:
            state = _state(connection, campaign)
            killed = state == "running" and self._is_abandoned(connection, campaign)
        if not killed:
            return state
        with self.database.reading() as connection:  # one that ended between two looks says so at the second
            state = _state(connection, campaign)
            return "killed" if state == "running" and self._is_abandoned(connection, campaign) else state

    def settle(self, campaign: str) -> None:
        """Tell what nobody told: that a campaign was killed. Where nothing can be written that stays untold."""
        with self.database.reading() as connection:
            last = _last(connection, campaign)
        if last is None or last["state"] == self.state(campaign):
            return
        with suppress(ResultsError), self.database.writing() as connection:
            tell_state(connection, campaign, killed=self._is_abandoned(connection, campaign))

    def show(self, campaign: str, shown: Mapping[str, Any]) -> None:
        """Tell what the process of a campaign shows of it."""
        with self.database.writing() as connection:
            last = _in_turn(connection, campaign)
            if last.state is not None:
                _add(connection, last, campaign, EventName.SHOWN, data=json_text(dict(shown)))

    def _is_abandoned(self, connection: Connection, campaign: str) -> bool:
        """Whether nobody works on a study that says it runs."""
        row = connection.execute(select(STUDIES.c.state, STUDIES.c.owner).where(STUDIES.c.name == campaign)).first()
        if row is None or row.state != "running" or _queue_state(connection, campaign) in WAITS:
            return False
        others = [lease for lease in Lease.parse_all(row.owner) if lease != Lease.mine()]
        return not any(self.database.alive(connection, lease) for lease in others)


def tell_state(connection: Connection, campaign: str, *, killed: bool = False, anew: bool = False) -> None:
    """Tell how a campaign stands, where it stood otherwise before; the last that a transaction writes.

    Args:
        killed: nobody works on it.
        anew: its trials are others than those that were told of; so it is told in any case, and they are counted.
    """
    last = _in_turn(connection, campaign)
    state = _state(connection, campaign)
    if killed and state == "running":
        state = "killed"
    new = last.state in {None, "removed"}
    if (state == last.state and not anew) or (new and state == "removed"):
        return
    name = EventName.CHANGED if state in GOES_ON else EventName.ENDED
    name = EventName.BEGAN if new and state in GOES_ON else name
    if new or anew:
        last = replace(last, totals=count_up(connection, campaign) if anew else Totals())
    running = [] if state in GOES_ON else _running(connection, campaign)
    _add(connection, replace(last, state=state), campaign, name, data=json_text(running) if running else None)


def tell_begun(connection: Connection, campaign: str, number: int) -> None:
    """Tell that a trial has begun; the last that a transaction writes."""
    _add(connection, _in_turn(connection, campaign), campaign, EventName.TRIAL_BEGUN, number)


def tell_ended(connection: Connection, record: TrialRecord, *, again: bool = False) -> None:
    """Tell that a trial has ended; the last that a transaction writes.

    Args:
        again: it was told before that it has ended, in another way.
    """
    last = _in_turn(connection, record.study, but=[record.number])
    totals = count_up(connection, record.study) if again else last.totals.plus(record)
    _add(connection, replace(last, totals=totals), record.study, EventName.TRIAL_ENDED, record.number)


def tell_lost(connection: Connection, study: str, numbers: Collection[int]) -> None:
    """Tell that trials have ended that killed processes left running; the last that a transaction writes."""
    for number in numbers:
        last = _in_turn(connection, study, but=numbers)
        totals = replace(last.totals, ended=last.totals.ended + 1, failed=last.totals.failed + 1)
        _add(connection, replace(last, totals=totals), study, EventName.TRIAL_ENDED, number)


def tell_removed(connection: Connection, campaign: str) -> None:
    """Tell that a campaign was removed, and forget what happened in it."""
    last = _in_turn(connection, campaign)
    connection.execute(delete(EVENTS).where(EVENTS.c.campaign == campaign))
    _add(connection, replace(last, state="removed"), campaign, EventName.ENDED)


def tell_renamed(connection: Connection, old: str, new: str) -> None:
    """Give what happened in a campaign to the new name, and tell that the old one is no more."""
    last = _in_turn(connection, new)
    connection.execute(delete(EVENTS).where(EVENTS.c.campaign == new))  # it was removed before
    connection.execute(update(EVENTS).where(EVENTS.c.campaign == old).values(campaign=new))
    _add(connection, replace(last, state="removed", totals=Totals()), old, EventName.ENDED)


def count_up(connection: Connection, study: str, but: Collection[int] = ()) -> Totals:
    """Add up the trials of a study that have ended.

    Args:
        but: numbers of those that do not count.
    """
    ours = (TRIALS.c.study == study) & (TRIALS.c.state != TrialState.RUNNING.value) & TRIALS.c.number.not_in(but)
    failures = func.count().filter(TRIALS.c.state == TrialState.FAILED.value)
    sums = select(func.count(), failures, func.sum(TRIALS.c.cost_s)).select_from(TRIALS).where(ours)
    ended, failed, machine_s = connection.execute(sums).one()
    return Totals(ended, failed, machine_s or 0.0, *(best_rate(connection, ours) or (None, None)))


@dataclass(frozen=True)
class _Last:
    """Where a campaign stands, to whoever adds the next event."""

    id: int
    state: LiveState | None
    totals: Totals


def _in_turn(connection: Connection, campaign: str, but: Collection[int] = ()) -> _Last:
    """Wait until nobody else writes events, and read where a campaign stands.

    Args:
        but: numbers of trials that have ended, but are not told of.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_IN_TURN)))
    row = connection.execute(_NEWEST, {"name": campaign}).first()
    if row is None:
        return _Last(_last_id(connection), None, Totals())
    top, state, *totals = row
    return _Last(top, state, count_up(connection, campaign, but) if totals[0] is None else Totals(*totals))


def _add(
    connection: Connection,
    last: _Last,
    campaign: str,
    name: EventName,
    trial: int | None = None,
    data: str | None = None,
) -> None:
    number, totals = last.id + 1, last.totals
    values = {
        "id": number,
        "campaign": campaign,
        "event": name.value,
        "state": last.state or "running",
        "trial": trial,
        "ended": totals.ended,
        "failed": totals.failed,
        "machine_s": totals.machine_s,
        "best_gflops": totals.best_gflops,
        "best_trial": totals.best_trial,
        "data": data,
    }
    connection.execute(_INSERT, values)
    if number % PRUNED_EACH == 0:
        later = EVENTS.alias("later")
        followed = exists().where((later.c.campaign == EVENTS.c.campaign) & (later.c.id > EVENTS.c.id))
        old = (EVENTS.c.id <= number - KEPT) & (followed | (EVENTS.c.state == "removed"))
        connection.execute(delete(EVENTS).where(old))


def _last_id(connection: Connection) -> int:
    found: int | None = connection.execute(select(func.max(EVENTS.c.id))).scalar()
    return found or 0


def _last(connection: Connection, campaign: str) -> RowMapping | None:
    query = select(EVENTS).where(EVENTS.c.campaign == campaign).order_by(EVENTS.c.id.desc()).limit(1)
    return connection.execute(query).mappings().first()


def _needed(connection: Connection, campaign: str) -> RowMapping:
    last = _last(connection, campaign)
    if last is None or last["state"] == "removed":
        raise UnknownStudyError(f"there is no campaign {campaign}")
    return last


def _running(connection: Connection, campaign: str) -> list[int]:
    running = (TRIALS.c.study == campaign) & (TRIALS.c.state == TrialState.RUNNING.value)
    return list(connection.execute(select(TRIALS.c.number).where(running).order_by(TRIALS.c.number)).scalars())


def _names_at_work(connection: Connection) -> list[str]:
    studies = select(STUDIES.c.name).where(STUDIES.c.state == "running")
    campaigns = select(CAMPAIGNS.c.name).where(CAMPAIGNS.c.state == QueueState.RUNNING)
    return sorted(connection.execute(studies.union(campaigns)).scalars())


def _queue_state(connection: Connection, campaign: str) -> QueueState | None:
    found = connection.execute(select(CAMPAIGNS.c.state).where(CAMPAIGNS.c.name == campaign)).scalar()
    return None if found is None else QueueState(found)


def _state(connection: Connection, campaign: str) -> LiveState:
    study = connection.execute(select(STUDY_STANDING).where(STUDIES.c.name == campaign)).scalar()
    return live_state(_queue_state(connection, campaign), study)


def _standing(connection: Connection, last: RowMapping) -> StoredEvent:
    """How a campaign stands after its last event; its fastest run is looked for anew, among all that ended."""
    campaign, state = last["campaign"], last["state"]
    name = EventName.STANDS if state in GOES_ON else EventName.ENDED
    totals = count_up(connection, campaign)
    return StoredEvent(last["id"], campaign, name, state, totals, running=_running(connection, campaign))


def _told(connection: Connection, rows: Sequence[RowMapping]) -> Sequence[StoredEvent]:
    """Read events with the trials that they tell of."""
    wanted = {(row["campaign"], row["trial"]) for row in rows if row["trial"] is not None}
    query = select(TRIALS).where(tuple_(TRIALS.c.study, TRIALS.c.number).in_(wanted))
    trials: dict[tuple[str, int], TrialRecord] = {}
    for row in connection.execute(query).mappings() if wanted else ():
        try:
            trials[row["study"], row["number"]] = trial_of(row)
        except DamagedError:
            continue  # `show` tells of it
    return [_event(connection, row, trials.get((row["campaign"], row["trial"]))) for row in rows]


def _event(connection: Connection, row: RowMapping, trial: TrialRecord | None) -> StoredEvent:
    name = EventName(row["event"])
    totals = (
        count_up(connection, row["campaign"])
        if row["ended"] is None
        else Totals(row["ended"], row["failed"], row["machine_s"], row["best_gflops"], row["best_trial"])
    )
    data = None if row["data"] is None else json.loads(row["data"])
    event = StoredEvent(row["id"], row["campaign"], name, row["state"], totals, trial)
    return replace(event, shown=data) if name is EventName.SHOWN else replace(event, running=data or ())
