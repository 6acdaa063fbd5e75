"""What a story is: something of which events are told one after the other, from any moment of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from fastapi.sse import format_sse_event

from ...messages.live import CampaignEvent, Event, ProgressEvent


class LiveMoment(Protocol):
    """A moment of a story."""

    @property
    def id(self) -> str:
        """The id of an event that led here."""

    @property
    def ended(self) -> bool:
        """Whether no event follows by itself."""

    def before(self, other: Self) -> bool:
        """Whether somebody who was told this can be told the rest up to another moment."""


M = TypeVar("M", bound=LiveMoment)


@dataclass(frozen=True)
class LiveTold(Generic[M]):
    """An event, and where its story stands for whoever was told it."""

    event: Event
    moment: M

    def sent(self) -> bytes:
        """Write it as a server-sent event."""
        return format_sse_event(data_str=self.event.model_dump_json(), event=self.event.event, id=self.moment.id)

    @property
    def last(self) -> bool:
        """Whether it tells the end of a campaign."""
        return isinstance(self.event, CampaignEvent) and self.event.event == "campaign-ended"


class Story(Protocol[M]):
    """Something of which events are told; each method but `progress` may be called in any thread."""

    def now(self) -> M:
        """Read where it stands."""

    def parse(self, text: str) -> M | None:
        """Read the id of an event; None for any other text."""

    def first(self, moment: M) -> list[LiveTold[M]]:
        """Tell how it stands to somebody who knows nothing."""

    def news(self, moment: M, *, look: bool) -> tuple[list[LiveTold[M]], bool]:
        """Tell what happened since a moment, and whether there is more to read."""

    def between(self, old_moment: M, new_moment: M) -> Iterator[LiveTold[M]]:
        """Tell what happened between two moments."""

    def progress(self, moment: M) -> list[ProgressEvent]:
        """Tell how far running trials are, where that is new."""
