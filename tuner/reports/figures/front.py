"""The front of GFLOPS against another figure of merit: what none beats in both, before all others."""

from results.report.model import Figure

from ...errors import UsageError
from ...study.objective import AGAINST
from ..summary import StudySummary


def front(summary: StudySummary) -> Figure | None:
    """Draw the front that a study was searched for, or the first with several configurations; None without any."""
    for told in (summary, *_others(summary)):
        if len(told.front) > 1:
            return next(part for part in told.parts(len(told.front)) if isinstance(part, Figure))
    return None


def _others(summary: StudySummary) -> list[StudySummary]:
    """Return the fronts of a study that was not searched for one; none where only its fastest runs are ranked."""
    if summary.objective.against is not None or summary.known > len(summary.ranking):
        return []
    found = []
    for against in AGAINST:
        try:
            found.append(StudySummary.of(summary.study, summary.ranking, against))
        except UsageError:  # the machine's peak, price or power is not known
            continue
    return found
