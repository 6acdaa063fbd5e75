"""The campaigns that were handed in to the service: each is a row, which stays when it is done; and how they stand."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, exists, func, insert, select, update

from ...errors import CampaignStateError, KeyReusedError, StudyExistsError, UnknownStudyError
from ...plain import moment_of, time_text, unicode_text
from ..database import Database
from ..lease import Lease
from ..outbox import tell_state
from ..rows import json_text, object_of
from ..schema import CAMPAIGNS, STUDIES
from .campaign_entry import ENDED, CampaignEntry, CampaignOrder, EndEvent, QueueState, WantedState

MOST_ATTEMPTS = 5
"""Processes that are started for a campaign whose processes die, before it waits for somebody to resume it."""
ENDED_EARLY = 25
"""Campaigns without a study that are listed."""
BEAT_S = 15.0
"""Seconds after which the process of a campaign says again that it runs."""
_STOPPED = {WantedState.CANCEL: QueueState.CANCELLED, WantedState.PAUSE: QueueState.PAUSED}
DECLARED_DEAD = "an administrator said that its process is dead; it goes on where it was"


@dataclass(frozen=True)
class CampaignQueue:
    """The methods of a store for campaigns that are handed in; each is one transaction."""

    database: Database

    def add(self, order: CampaignOrder, *, numbered: bool = False) -> CampaignEntry:
        """Store a campaign, or return the one that the same key of the same user made.

        Args:
            numbered: whether to call it the first of NAME-1, NAME-2 … that is free.

        Raises:
            StudyExistsError: a campaign or a study has this name.
            KeyReusedError: the key made a campaign with another document.
        """
        base = unicode_text(order.name)
        row = {
            "kind": order.kind,
            "document": json_text(dict(order.document)),
            "priority": order.priority,
            "node_set": "\n".join(order.node_set),
            "handed_in_by": unicode_text(order.handed_in_by),
            "handed_in_at": _now(),
            "idempotency_key": order.idempotency_key,
            "state": QueueState.QUEUED,
            "wanted": WantedState.RUN,
            "attempts": 0,
            "reason": "",
            "machine": order.machine,
            "faults": 0,
        }
        with self.database.alone() as connection:
            known = self._of_key(connection, order)
            if known is not None:
                return known
            name = _first_free(connection, base) if numbered else base
            if not numbered and name in _taken(connection, name):
                raise StudyExistsError(f"campaign {order.name} exists already: choose another name")
            connection.execute(insert(CAMPAIGNS).values(**{**row, "name": name}))
            tell_state(connection, name)
            return _entry(_row(connection, name))

    @staticmethod
    def _of_key(connection: Connection, order: CampaignOrder) -> CampaignEntry | None:
        if order.idempotency_key is None:
            return None
        same = (CAMPAIGNS.c.handed_in_by == unicode_text(order.handed_in_by)) & (
            CAMPAIGNS.c.idempotency_key == order.idempotency_key
        )
        row = connection.execute(select(CAMPAIGNS).where(same)).mappings().first()
        if row is None:
            return None
        known = _entry(row)
        if known.order.document != json.loads(json_text(dict(order.document))):
            raise KeyReusedError(
                f"this idempotency key made campaign {known.name} with another document: take a new key"
            )
        return known

    def find(self, name: str) -> CampaignEntry | None:
        """Read a campaign; None where nobody handed in one of this name."""
        with self.database.reading() as connection:
            row = connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.name == name)).mappings().first()
        return None if row is None else _entry(row)

    def of_names(self, names: Collection[str]) -> Mapping[str, CampaignEntry]:
        """Read those campaigns of these names that were handed in."""
        with self.database.reading() as connection:
            rows = connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.name.in_(names))).mappings().all()
        return {row["name"]: _entry(row) for row in rows}

    def is_study(self, name: str) -> bool:
        """Return whether there is a study of this name, whoever began it."""
        with self.database.reading() as connection:
            return connection.execute(select(STUDIES.c.name).where(STUDIES.c.name == name)).first() is not None

    def hosts_at_work(self) -> Sequence[tuple[str, str]]:
        """List the studies that other living processes work on, each with the host of such a process."""
        query = select(STUDIES.c.name, STUDIES.c.owner).where(STUDIES.c.owner.is_not(None))
        with self.database.reading() as connection:
            held = [
                (name, lease) for name, owner in connection.execute(query).all() for lease in Lease.parse_all(owner)
            ]
            others = [(name, lease) for name, lease in held if lease != Lease.mine()]
            return [(name, lease.host) for name, lease in others if self.database.alive(connection, lease)]

    def entries(self, states: Collection[QueueState]) -> Sequence[CampaignEntry]:
        """Read campaigns in these states, oldest first."""
        query = select(CAMPAIGNS).where(CAMPAIGNS.c.state.in_(states))
        return self._read(query.order_by(CAMPAIGNS.c.handed_in_at, CAMPAIGNS.c.name))

    def ended_early(self) -> Sequence[CampaignEntry]:
        """Read the newest campaigns that failed or were cancelled without a study, as before their first trial."""
        study = exists().where(STUDIES.c.name == CAMPAIGNS.c.name)
        query = select(CAMPAIGNS).where(CAMPAIGNS.c.state.in_({QueueState.FAILED, QueueState.CANCELLED}), ~study)
        return self._read(query.order_by(CAMPAIGNS.c.handed_in_at.desc(), CAMPAIGNS.c.name).limit(ENDED_EARLY))

    def recent(self, since: datetime) -> Sequence[CampaignEntry]:
        """Read campaigns that a process worked on since a moment, without those that run."""
        ended = CAMPAIGNS.c.ended_at >= time_text(since)
        return self._read(select(CAMPAIGNS).where(ended, CAMPAIGNS.c.started_at.is_not(None)))

    def _read(self, query: Select[Any]) -> list[CampaignEntry]:
        with self.database.reading() as connection:
            return [_entry(row) for row in connection.execute(query).mappings()]

    def want(self, name: str, wanted: WantedState) -> CampaignEntry:
        """Note what somebody wants of a campaign; what nobody works on changes at once.

        Raises:
            UnknownStudyError: nobody handed in a campaign of this name.
            CampaignStateError: it has ended, in a way that this cannot change.
        """
        with self.database.alone() as connection:
            entry = _entry(_row(connection, name))
            state = _after(entry, wanted)
            values: dict[str, Any] = {"wanted": wanted, "state": state}
            if state is not entry.state:
                values |= {"reason": "", "ended_at": _now() if state in ENDED else None}
                values |= {"attempts": 0, "faults": 0, "not_before": None} if state is QueueState.QUEUED else {}
            left = _changed(connection, name, values)
            tell_state(connection, name)
            return left

    def set_priority(self, name: str, priority: int) -> CampaignEntry:
        """Change the priority of a campaign.

        Raises:
            UnknownStudyError: nobody handed in a campaign of this name.
        """
        with self.database.writing() as connection:
            return _changed(connection, name, {"priority": priority})

    def claim(self, name: str) -> bool:
        """Make this process the one that starts a campaign, unless another works on one of its machines.

        Returns:
            Whether it is ours now; False also where it is no longer queued.
        """
        with self.database.alone() as connection:
            running = select(CAMPAIGNS).where(CAMPAIGNS.c.state == QueueState.RUNNING)
            busy = {place for row in connection.execute(running).mappings() for place in _entry(row).order.places}
            row = connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.name == name)).mappings().first()
            entry = None if row is None else _entry(row)
            if entry is None or entry.state is not QueueState.QUEUED or busy & entry.order.places:
                return False
            values = {
                "state": QueueState.RUNNING,
                "owner": str(Lease.mine()),
                "attempts": entry.attempts + 1,
                "started_at": _now(),
                "ended_at": None,
                "reason": "",
                "heard_at": _now(),
                "not_before": None,
            }
            _changed(connection, name, values)
            tell_state(connection, name)
            return True

    def put_off(self, name: str, reason: str, faults: int, wait_s: float) -> bool:
        """Queue a campaign again that this process works on or starts, for a fault of the machine or the database.

        It is paused or cancelled where somebody wanted that meanwhile. The process was no attempt.

        Args:
            reason: the fault; it is told while the campaign waits.
            faults: one after another until now.
            wait_s: seconds before which it is not started again.

        Returns:
            False, and nothing is stored, where it belongs to another process.
        """
        with self.database.alone() as connection:
            row = connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.name == name)).mappings().first()
            entry = None if row is None else _entry(row)
            if entry is None or entry.owner != Lease.mine():
                return False
            values = {
                "state": _STOPPED.get(entry.wanted, QueueState.QUEUED),
                "reason": unicode_text(reason),
                "ended_at": _now(),
                "owner": None,
                "attempts": max(0, entry.attempts - 1),
                "faults": faults,
                "not_before": time_text(datetime.now(UTC) + timedelta(seconds=wait_s)),
            }
            _tell(connection, [_changed(connection, name, values)])
            return True

    def take_over(self, name: str, starter: Lease) -> CampaignEntry | None:
        """Take a campaign from the process that started this one; None where it is no longer that one's."""
        here = (
            (CAMPAIGNS.c.name == name) & (CAMPAIGNS.c.state == QueueState.RUNNING) & (CAMPAIGNS.c.owner == str(starter))
        )
        with self.database.alone() as connection:
            taken = connection.execute(update(CAMPAIGNS).where(here).values(owner=str(Lease.mine()), heard_at=_now()))
            return _entry(_row(connection, name)) if taken.rowcount == 1 else None

    def beat(self, *names: str) -> None:
        """Say that this process still runs, which works on these campaigns or starts them."""
        ours = CAMPAIGNS.c.name.in_(names) & (CAMPAIGNS.c.owner == str(Lease.mine()))
        with self.database.writing() as connection:
            connection.execute(update(CAMPAIGNS).where(ours).values(heard_at=_now()))

    def end(
        self, name: str, state: QueueState, reason: str = "", owner: Lease | None = None, *, slower: bool = False
    ) -> bool:
        """Store how the work on a campaign ended, and give it up.

        Args:
            owner: whose it must be; None for this process.
            slower: it is a check that found its machine slower than its baseline.

        Returns:
            False, and nothing is stored, where it belongs to another process.
        """
        here = (CAMPAIGNS.c.name == name) & (CAMPAIGNS.c.owner == str(owner or Lease.mine()))
        values = {"state": state, "reason": unicode_text(reason), "ended_at": _now(), "owner": None}
        with self.database.writing() as connection:
            if connection.execute(update(CAMPAIGNS).where(here).values(values)).rowcount != 1:
                return False
            _tell(connection, [_entry(_row(connection, name))], slower=slower)
            return True

    def recover(
        self,
        silent: Collection[Lease] = (),
        begun: Collection[str] | None = None,
        deaths: Mapping[str, str] | None = None,
    ) -> Sequence[CampaignEntry]:
        """Queue campaigns again whose process died; return them as they are now.

        Those that somebody wanted to pause or cancel are paused or cancelled. After `MOST_ATTEMPTS` deaths one is
        paused, too: it waits until somebody has looked at it. No death makes a campaign fail.

        Args:
            silent: processes that have not been heard of for so long that they count as dead.
            begun: campaigns whose processes this one has started, and which have not ended: others that it claimed
                are lost; None where it claims none that it does not work on itself.
            deaths: how processes ended, in words, by their campaigns, where that is known.
        """
        with self.database.alone() as connection:
            rows = connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.state == QueueState.RUNNING)).mappings().all()
            lost = [entry for entry in map(_entry, rows) if self._is_lost(connection, entry, silent, begun)]
            left = [_take_away(connection, entry, *_recovered(entry, deaths or {})) for entry in lost]
            _tell(connection, left)
            return left

    def declare_dead(self, name: str) -> CampaignEntry:
        """Take a campaign from its process, because somebody knows that this is dead; it is queued again.

        If the process does run, it sees that the campaign is no longer its own, and ends.

        Raises:
            UnknownStudyError: nobody handed in a campaign of this name.
            CampaignStateError: no process works on it, or it can be seen from here that the process runs.
        """
        with self.database.alone() as connection:
            entry = _entry(_row(connection, name))
            if entry.state is not QueueState.RUNNING:
                raise CampaignStateError(f"no process works on campaign {name}: it is {entry.state}")
            lease = entry.owner
            if lease is not None and (lease == Lease.mine() or (lease.of_this_boot and lease.alive)):
                raise CampaignStateError(
                    f"process {lease.pid}, which works on campaign {name}, runs on this machine: cancel the campaign"
                )
            state = _STOPPED.get(entry.wanted, QueueState.QUEUED)
            left = _take_away(connection, entry, state, "" if state is not QueueState.QUEUED else DECLARED_DEAD)
            _tell(connection, [left])
            return left

    def _is_lost(
        self, connection: Connection, entry: CampaignEntry, silent: Collection[Lease], begun: Collection[str] | None
    ) -> bool:
        if entry.owner is None:
            return True
        if entry.owner == Lease.mine():
            return begun is not None and entry.name not in begun
        # A process of this machine is seen, silent or not; it may have been stopped for a while.
        dead = entry.owner in silent and not entry.owner.of_this_boot
        return dead or not self.database.alive(connection, entry.owner)


def _after(entry: CampaignEntry, wanted: WantedState) -> QueueState:
    """Return the state after something is wanted; a running campaign changes only when its process has read it.

    Raises:
        CampaignStateError: it has ended.
    """
    state = entry.state
    if state is QueueState.RUNNING and entry.wanted is WantedState.CANCEL and wanted is not WantedState.CANCEL:
        what = "paused" if wanted is WantedState.PAUSE else "resumed"
        raise CampaignStateError(f"campaign {entry.name} cannot be {what}: it is being cancelled")
    if state is QueueState.RUNNING:
        return state
    if state is QueueState.UNKNOWN:
        raise CampaignStateError(f"campaign {entry.name} stands as only a newer hpltune knows: change it there")
    if wanted is WantedState.RUN and state is not QueueState.DONE:
        return QueueState.QUEUED
    if wanted is WantedState.PAUSE and state in {QueueState.QUEUED, QueueState.PAUSED}:
        return QueueState.PAUSED
    if wanted is WantedState.CANCEL and state is not QueueState.DONE and state is not QueueState.FAILED:
        return QueueState.CANCELLED
    what = {WantedState.RUN: "resumed", WantedState.PAUSE: "paused", WantedState.CANCEL: "cancelled"}[wanted]
    raise CampaignStateError(f"campaign {entry.name} cannot be {what}: it is {state}")


def _recovered(entry: CampaignEntry, deaths: Mapping[str, str]) -> tuple[QueueState, str]:
    """How a campaign stands whose process died, and why."""
    if entry.wanted in _STOPPED:
        return _STOPPED[entry.wanted], ""
    how = deaths.get(entry.name, "its process died")
    if entry.attempts < MOST_ATTEMPTS:
        return QueueState.QUEUED, unicode_text(f"{how}; it goes on where it was")
    waits = f"{MOST_ATTEMPTS} of its processes died, so it waits: resume it when the cause is gone"
    return QueueState.PAUSED, unicode_text(f"{how}; {waits}")


def _take_away(connection: Connection, entry: CampaignEntry, state: QueueState, reason: str) -> CampaignEntry:
    """Take a campaign and its study from the process that works on them, which is dead; return it as it is then."""
    if entry.owner is not None:
        study = STUDIES.c.name == entry.name
        held = connection.execute(select(STUDIES.c.owner).where(study)).scalar()
        others = [lease for lease in (held or "").splitlines() if lease != str(entry.owner)]
        connection.execute(update(STUDIES).where(study).values(owner="\n".join(others) or None))
    return _changed(connection, entry.name, {"state": state, "reason": reason, "owner": None, "ended_at": _now()})


def _tell(connection: Connection, entries: Sequence[CampaignEntry], *, slower: bool = False) -> None:
    """Note what is to be told, and tell all who watch how campaigns stand; the last that a transaction writes."""
    for entry in entries:
        if (event := _event(entry, slower=slower)) is not None:
            _changed(connection, entry.name, {"untold": event})
        tell_state(connection, entry.name)


def _event(entry: CampaignEntry, *, slower: bool) -> EndEvent | None:
    """Return what is told of an end; None where people wanted it, or it only waits again."""
    waits = entry.state is QueueState.PAUSED and entry.wanted is WantedState.RUN
    if entry.state is QueueState.FAILED or waits:
        return "failed"
    if entry.state is not QueueState.DONE:
        return None
    return "slower" if slower else "done"


def _taken(connection: Connection, start: str) -> set[str]:
    """Return the names of studies and campaigns that begin with a text."""
    found: set[str] = set()
    for column in (STUDIES.c.name, CAMPAIGNS.c.name):
        found.update(connection.execute(select(column).where(column.startswith(start, autoescape=True))).scalars())
    return found


def _first_free(connection: Connection, base: str) -> str:
    taken = _taken(connection, f"{base}-")
    return next(name for number in range(1, len(taken) + 2) if (name := f"{base}-{number}") not in taken)


def _changed(connection: Connection, name: str, values: Mapping[str, object]) -> CampaignEntry:
    """Write values of a campaign, and return it as it is then."""
    connection.execute(update(CAMPAIGNS).where(CAMPAIGNS.c.name == name).values(**values))
    return _entry(_row(connection, name))


def _row(connection: Connection, name: str) -> RowMapping:
    row = connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.name == name)).mappings().first()
    if row is None:
        raise UnknownStudyError(f"nobody handed in a campaign {name}")
    return row


def _entry(row: RowMapping) -> CampaignEntry:
    order = CampaignOrder(
        name=row["name"],
        kind=row["kind"],
        document=object_of(row["document"], "document"),
        node_set=tuple(row["node_set"].split("\n")),
        handed_in_by=row["handed_in_by"],
        priority=row["priority"],
        idempotency_key=row["idempotency_key"],
        machine=row["machine"],
    )
    return CampaignEntry(
        order=order,
        handed_in_at=datetime.fromisoformat(row["handed_in_at"]),
        state=QueueState(row["state"]),
        wanted=WantedState(row["wanted"]),
        owner=Lease.parse(row["owner"] or ""),
        attempts=row["attempts"],
        started_at=moment_of(row["started_at"]),
        ended_at=moment_of(row["ended_at"]),
        reason=row["reason"],
        heard_at=moment_of(row["heard_at"]),
        faults=row["faults"],
        not_before=moment_of(row["not_before"]),
    )


def _now() -> str:
    return time_text(datetime.now(UTC))


def queue_counts(database: Database) -> tuple[Mapping[QueueState, int], datetime | None]:
    """Count campaigns, and read when the one was handed in that waits longest."""
    by_state = select(CAMPAIGNS.c.state, func.count()).group_by(CAMPAIGNS.c.state)
    first = select(func.min(CAMPAIGNS.c.handed_in_at)).where(CAMPAIGNS.c.state == QueueState.QUEUED)
    with database.reading() as connection:
        counts = {QueueState(state): count for state, count in connection.execute(by_state)}
        oldest = connection.execute(first).scalar_one_or_none()
    return counts, moment_of(oldest)


@dataclass(frozen=True)
class UntoldEnds:
    """The methods of a store for what is to be told of ends; each is one transaction."""

    database: Database

    def take(self) -> tuple[str, EndEvent] | None:
        """Take the end that waits longest, with its campaign; no other process gets it then. None where none waits."""
        waiting = CAMPAIGNS.c.untold.is_not(None)
        query = select(CAMPAIGNS.c.name, CAMPAIGNS.c.untold).where(waiting).order_by(CAMPAIGNS.c.ended_at).limit(1)
        with self.database.reading() as connection:
            if connection.execute(query).first() is None:
                return None
        with self.database.alone() as connection:
            row = connection.execute(query).first()
            if row is None:
                return None
            connection.execute(update(CAMPAIGNS).where(CAMPAIGNS.c.name == row.name).values(untold=None))
            return row.name, row.untold

    def give_back(self, name: str, event: EndEvent) -> None:
        """Let an end wait again that this process took and has not told."""
        here = (CAMPAIGNS.c.name == name) & CAMPAIGNS.c.untold.is_(None)
        with self.database.writing() as connection:
            connection.execute(update(CAMPAIGNS).where(here).values(untold=event))
