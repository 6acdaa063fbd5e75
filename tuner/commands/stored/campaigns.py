"""The campaigns of a database in pages that stay in place while new ones begin: for programs that read all of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from results.record import Study, StudyState
from results.store.store import Store
from results.store.study_list import Place, StudiesAsked, StudyExtent

from ...reports.studies import StudyLine
from .show import state

LineOf = Callable[[Study, StudyExtent], StudyLine]
"""What a list says of a study, from it and how far it has come."""


@dataclass(frozen=True)
class CampaignsRequest:
    """Which studies to list, newest first.

    Attributes:
        count: how many at most.
        asked: what they must fulfil; its state does not matter.
        state: how they must stand ("running", "complete", "interrupted", "killed"); None takes all.
    """

    count: int
    asked: StudiesAsked = field(default_factory=StudiesAsked)
    state: StudyState | Literal["killed"] | None = None


@dataclass(frozen=True)
class CampaignsResult:
    """Studies, newest first.

    Attributes:
        older: the place of the last one, where there are older ones.
    """

    lines: Sequence[StudyLine]
    older: Place | None


def list_campaigns(store: Store, request: CampaignsRequest, line_of: LineOf) -> CampaignsResult:
    """List studies of every command with their best; only those of this page are looked at in detail."""
    found = list(islice(_asked(store, request), request.count + 1))
    shown = found[: request.count]
    lines = [line_of(study, extent) for study, extent in shown]
    last_shown = shown[-1][0] if shown else None
    older = (last_shown.created_at, last_shown.name) if last_shown and len(found) > len(shown) else None
    return CampaignsResult(lines, older)


def _asked(store: Store, request: CampaignsRequest) -> Iterator[tuple[Study, StudyExtent]]:
    """Yield what a request asks for; of the stored states only "running" may mean another one."""
    stored: StudyState | None = "running" if request.state == "killed" else request.state
    asked = replace(request.asked, state=stored)
    for study, extent in store.lists.newest_first(asked, request.count + 1):
        if request.state in {None, state(study, store)}:
            yield study, extent
