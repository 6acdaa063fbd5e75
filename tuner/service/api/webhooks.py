"""The webhooks of the service, and how the messages to them stand."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi import Path as InPath
from pydantic import BaseModel, Field

from results.store.service.deliveries import Delivery, DeliveryState
from results.store.store import Store

from ..authentication import needs
from ..callers import Caller
from ..config import EventName, WebhookTable
from ..parts import Parts, no_query
from ..problems import Problem

router = APIRouter(prefix="/api/v1/webhooks", tags=["webhooks"], dependencies=[Depends(no_query)])
SHOWN = 20
"""Messages to each webhook that are shown."""
Admin = Annotated[Caller, needs("admin")]


class DeliveryModel(BaseModel):
    """A message to a webhook."""

    id: str = Field(description="the same at every attempt, in the message, too")
    event: str
    campaign: str | None = Field(description="null in a message that only tries the webhook")
    state: DeliveryState
    attempts: int
    next_at: datetime | None = Field(description="when it is sent, or sent again; null where it waits no longer")
    delivered_at: datetime | None
    reason: str = Field(description="why the last attempt failed")

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryModel":
        """Tell of a message."""
        return cls(
            id=delivery.number,
            event=delivery.event,
            campaign=json.loads(delivery.body)["campaign"],
            state=delivery.state,
            attempts=delivery.attempts,
            next_at=delivery.next_at,
            delivered_at=delivery.delivered_at,
            reason=delivery.reason,
        )


class WebhookModel(BaseModel):
    """A webhook that the service's configuration names."""

    name: str
    place: str = Field(description="its address without path and query")
    events: list[EventName]
    waiting: int = Field(description="messages that were not delivered yet")
    delivered: int = Field(description="messages that were, in the last 30 days")
    given_up: int = Field(description="messages that nobody took for a day, of the last 30 days")
    deliveries: list[DeliveryModel] = Field(description=f"the last {SHOWN}, newest first")


class WebhooksModel(BaseModel):
    """All webhooks."""

    webhooks: list[WebhookModel]


@router.get("")
def webhooks(parts: Parts, _admin: Admin) -> WebhooksModel:
    """List the webhooks, and how the last messages to them stand."""
    tables = parts.announcer.webhooks
    return WebhooksModel(webhooks=[_shown(parts.store, name, table) for name, table in tables.items()])


@router.post("/{name}/test", status_code=202)
def try_webhook(
    parts: Parts,
    admin: Admin,
    name: Annotated[str, InPath(description="of the webhook", max_length=200)],
) -> DeliveryModel:
    """Send a message that only shows whether messages arrive; the list of webhooks tells how it went."""
    if name not in parts.announcer.webhooks:
        raise Problem(404, "There is no webhook of this name: /api/v1/webhooks lists those of the configuration.")
    return DeliveryModel.of(parts.store.deliveries.add(parts.announcer.trial(name, admin.name)))


def _shown(store: Store, name: str, table: WebhookTable) -> WebhookModel:
    counts: Mapping[DeliveryState, int] = store.deliveries.counts(name)
    return WebhookModel(
        name=name,
        place=table.place,
        events=list(table.events),
        waiting=counts[DeliveryState.WAITING],
        delivered=counts[DeliveryState.DELIVERED],
        given_up=counts[DeliveryState.GIVEN_UP],
        deliveries=[DeliveryModel.of(delivery) for delivery in store.deliveries.newest(name, SHOWN)],
    )
