"""The campaigns of a database in pages that stay in place while new ones begin: for programs that read all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from results.record import Study, TrialState
from results.store.reading import Tally
from results.store.store import Store

from ...reports.studies import StudyLine
from .show import state, study_line

Place = tuple[datetime, str]
"""Where a study stands in the order of time: when it was created, and its name."""


@dataclass(frozen=True)
class CampaignsRequest:
    """Which studies to list, newest first.

    Attributes:
        count: how many at most.
        state: how they must stand ("running", "complete", "interrupted", "killed"); None takes all.
        before: only those that are older than this place; None begins with the newest.
    """

    count: int
    state: str | None = None
    before: Place | None = None


@dataclass(frozen=True)
class CampaignsResult:
    """Studies, newest first.

    Attributes:
        older: the place of the last one, where there are older ones.
    """

    lines: Sequence[StudyLine]
    older: Place | None


def list_campaigns(store: Store, request: CampaignsRequest) -> CampaignsResult:
    """List studies of every command with their best."""
    tallies = store.tallies()
    found = list(islice(_asked(store, request), request.count + 1))
    shown = found[: request.count]
    lines = [study_line(store, study, tallies.get(study.name, Tally())) for study in shown]
    return CampaignsResult(lines, _place(shown[-1]) if len(found) > len(shown) else None)


def show_campaign(store: Store, name: str) -> StudyLine:
    """Tell how one study stands.

    Raises:
        ResultsError: there is no such study.
    """
    study = store.study(name)
    return study_line(store, study, Tally(store.count(name), store.count(name, (TrialState.FAILED,))))


def _asked(store: Store, request: CampaignsRequest) -> Iterator[Study]:
    """Yield what a request asks for; only as many as are taken are looked at."""
    for study in reversed(store.studies()):
        older = request.before is None or _place(study) < request.before
        if older and request.state in {None, state(study, store)}:
            yield study


def _place(study: Study) -> Place:
    return study.created_at, study.name
