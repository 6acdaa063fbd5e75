"""Faults of the machine and the database that pass by themselves: no campaign is to blame for them."""

import errno
from datetime import UTC, datetime

from results.errors import DatabaseAwayError
from results.store.service.campaign_entry import CampaignEntry

SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT})
"""Errors of the operating system that pass."""
FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 600.0
"""Seconds before a start after such a fault; each further wait is twice as long."""
MOST_FAULTS = 20
"""Faults, one after another, after which a campaign counts as failed: more than two hours."""
STEADY_S = 600.0
"""Seconds of work after which a fault does not follow the one before."""


def may_pass(error: BaseException | None) -> bool:
    """Whether a fault that may pass is behind an error, and no fault of what was asked."""
    while error is not None:
        if isinstance(error, DatabaseAwayError) or (isinstance(error, OSError) and error.errno in SHORTAGES):
            return True
        error = error.__cause__ or error.__context__
    return False


def wait_s(faults: int) -> float:
    """Seconds to wait after so many faults, one after another."""
    return float(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (faults - 1)))


def faults_with(entry: CampaignEntry) -> int:
    """Faults of a campaign, one after another, with the one that its process has met now."""
    worked_s = 0.0 if entry.started_at is None else (datetime.now(UTC) - entry.started_at).total_seconds()
    return 1 if worked_s > STEADY_S else entry.faults + 1
