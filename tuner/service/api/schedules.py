"""Campaigns at stated times."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from results.store.service.schedules import Schedule
from results.store.service.tokens import AccessScope
from results.store.store import Store

from ...study.names import check_name
from ..authentication import demand, needs
from ..callers import Caller
from ..campaigns.kinds.registry import KINDS, AnyDocument
from ..campaigns.wrong import WrongDocumentError, read_as_document
from ..parts import CampaignName, OpenStore, no_query
from ..problems import Problem
from ..schedules import local_zone, parse_cadence
from .queue_access import OpenQueue, QueueAccess, Runner

router = APIRouter(prefix="/api/v1/schedules", tags=["schedules"], dependencies=[Depends(no_query)])


class ScheduleDocument(BaseModel):
    """A campaign, and when it is handed in."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=100, description="its campaigns are called NAME-2026-11-30")
    cadence: str = Field(max_length=200, examples=["every monday at 06:00"], description="when; or every 6h")
    document: AnyDocument = Field(description="of each campaign, without a name")


class ScheduleModel(BaseModel):
    """A schedule."""

    name: str
    cadence: str
    document: Mapping[str, Any]
    made_by: str
    made_at: datetime
    next_at: datetime | None = Field(description="when it is due next; null while it is paused")
    last_at: datetime | None
    last_campaign: str | None
    paused: bool

    @classmethod
    def of(cls, schedule: Schedule) -> "ScheduleModel":
        """Tell of a schedule."""
        return cls(
            name=schedule.name,
            cadence=schedule.cadence,
            document=schedule.document,
            made_by=schedule.made_by,
            made_at=schedule.made_at,
            next_at=None if schedule.paused else schedule.next_at,
            last_at=schedule.last_at,
            last_campaign=schedule.last_campaign,
            paused=schedule.paused,
        )


@router.post("", status_code=201)
def schedule_campaign(asked: ScheduleDocument, queue: OpenQueue, response: Response) -> ScheduleModel:
    """Hand in a campaign again and again: it is checked now, and each time."""
    made = create(asked, queue)
    response.headers["Location"] = f"/api/v1/schedules/{made.name}"
    return ScheduleModel.of(made)


def create(asked: ScheduleDocument, queue: QueueAccess) -> Schedule:
    """Make a schedule.

    Raises:
        WrongDocumentError: something in it is wrong, or the caller may not.
        StudyExistsError: its name is taken.
        Problem: the caller has too many.
    """
    store, document = queue.parts.store, asked.document
    read_as_document(lambda: check_name(asked.name, "name", "a schedule"))
    queue.check_priority(document.priority)
    queue.check_place()
    if document.name is not None:
        raise WrongDocumentError("document.name", "leave it out: campaigns are named after the schedule")
    cadence, times = read_as_document(lambda: parse_cadence(asked.cadence, local_zone()))
    try:
        KINDS[document.kind].check(document, queue.parts.offered, store)
    except WrongDocumentError as error:
        raise WrongDocumentError(f"document.{error.path}", error.sentence) from error
    plain = document.model_dump(mode="json", exclude_defaults=True)
    now = datetime.now(UTC)
    schedule = Schedule(asked.name, cadence, {**plain, "kind": document.kind}, queue.caller.name, now, times.after(now))
    store.schedules.add(schedule)
    return schedule


@router.get("", dependencies=[needs("read")])
def schedules(store: OpenStore) -> list[ScheduleModel]:
    """List all schedules, the one that is due first at the beginning."""
    return [ScheduleModel.of(schedule) for schedule in store.schedules.all()]


@router.get("/{name}", dependencies=[needs("read")])
def schedule(store: OpenStore, name: CampaignName) -> ScheduleModel:
    """Tell of one schedule."""
    return ScheduleModel.of(_found(store, name))


@router.delete("/{name}", status_code=204)
def remove(store: OpenStore, caller: Runner, name: CampaignName) -> None:
    """Remove a schedule; its campaigns stay."""
    store.schedules.remove(_own(caller, _found(store, name)).name)


@router.post("/{name}/pause")
def pause(store: OpenStore, caller: Runner, name: CampaignName) -> ScheduleModel:
    """Hand in nothing until the schedule is resumed."""
    return _paused(store, _own(caller, _found(store, name)), paused=True)


@router.post("/{name}/resume")
def resume(store: OpenStore, caller: Runner, name: CampaignName) -> ScheduleModel:
    """Go on with a schedule at its next time; times that were missed are left out."""
    return _paused(store, _own(caller, _found(store, name)), paused=False)


def _paused(store: Store, schedule: Schedule, *, paused: bool) -> ScheduleModel:
    if schedule.paused is paused:
        return ScheduleModel.of(schedule)
    _, times = parse_cadence(schedule.cadence, "UTC")
    store.schedules.pause(schedule.name, paused=paused, next_at=times.after(datetime.now(UTC)))
    return ScheduleModel.of(_found(store, schedule.name))


def _found(store: Store, name: str) -> Schedule:
    """The schedule of a name.

    Raises:
        Problem: there is none.
    """
    found = store.schedules.find(name)
    if found is None:
        raise Problem(404, f"There is no schedule {name}: /api/v1/schedules lists all.")
    return found


def _own(caller: Caller, schedule: Schedule) -> Schedule:
    """Let only admins change schedules of others.

    Raises:
        Problem: it is another's.
    """
    if schedule.made_by != caller.name:
        demand(caller, AccessScope.ADMIN)
    return schedule
