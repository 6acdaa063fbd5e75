"""How studies stand, in SQL, with what their trials and the queue tell of it."""

from sqlalchemy import case, exists, select

from ..record import TrialState
from .schema import CAMPAIGNS, STUDIES, TRIALS
from .service.campaign_entry import WAITS

_OURS = TRIALS.c.study == STUDIES.c.name
_FAILED = TRIALS.c.state == TrialState.FAILED.value
STUDY_STANDING = case(
    (STUDIES.c.state == "running", STUDIES.c.state),
    (exists().where(_OURS & _FAILED) & ~exists().where(_OURS & ~_FAILED), "failed"),
    else_=STUDIES.c.state,
)
"""How a study stands: as it says, or failed where it has ended and every trial failed; one that runs may be killed."""
_IN_QUEUE = select(CAMPAIGNS.c.state).where(CAMPAIGNS.c.name == STUDIES.c.name).scalar_subquery()
CAMPAIGN_STANDING = case((_IN_QUEUE.in_([state.value for state in WAITS]), _IN_QUEUE), else_=STUDY_STANDING)
"""How a campaign stands: as the queue says while that tells more than its study."""
