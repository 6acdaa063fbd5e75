"""The parts of a running service, and what handlers of requests are given of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from fastapi import Path as InPath
from starlette.requests import HTTPConnection

from results.store.store import Store

from ..study.names import LONGEST
from .authentication import Authenticator
from .background import Duty
from .cache import Answers
from .campaigns.dispatcher import Dispatcher
from .campaigns.host_survey import HostSurvey
from .campaigns.offered import Offers
from .live.reader import LiveReader
from .metrics import ServiceMetrics
from .notifications import Notifier
from .pages.campaign.live_pages import LivePages
from .problems import LONGEST_PATH, Problem
from .sessions import SessionKeeper
from .study_files import StudyFiles


@dataclass(frozen=True)
class ServiceParts:
    """All that a service works with between its start and its end.

    Attributes:
        folders: where it writes: there must be room.
        duties: what it does besides answering.
    """

    store: Store
    folders: Collection[Path]
    sessions: SessionKeeper
    authenticator: Authenticator
    metrics: ServiceMetrics
    survey: HostSurvey
    notifier: Notifier
    dispatcher: Dispatcher
    duties: Sequence[Duty]
    answers: Answers
    files: StudyFiles
    live: LiveReader
    pages: LivePages

    @property
    def offered(self) -> Offers:
        """What documents may name, which changes where the configuration is read again."""
        return self.dispatcher.offered


def parts_of(connection: HTTPConnection) -> ServiceParts:
    """The parts of the service that is asked."""
    parts: ServiceParts = connection.app.state.parts
    return parts


async def _parts(request: Request) -> ServiceParts:
    return parts_of(request)


async def _store(request: Request) -> Store:
    return parts_of(request).store


async def _name(name: Annotated[str, InPath(description="of the campaign", max_length=LONGEST)]) -> str:
    """The name in the path; what no study can be called goes to no database."""
    if not name.isprintable():
        raise Problem(404, "There is no campaign of this name: /api/v1/campaigns lists all.")
    return name


async def no_query(request: Request) -> None:
    """Refuse any query.

    Raises:
        Problem: there is one.
    """
    for word in request.query_params:
        raise Problem(422, f"query.{word[:LONGEST_PATH]}: this address takes no query.")


Parts = Annotated[ServiceParts, Depends(_parts)]
OpenStore = Annotated[Store, Depends(_store)]
CampaignName = Annotated[str, Depends(_name)]
