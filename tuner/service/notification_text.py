"""What a notification tells of the end of a campaign."""

from collections.abc import Mapping
from urllib.parse import quote

from results.disturbance import Conditions
from results.stats.headline import disturbed_sentence, expected_sentence
from results.store.service.campaign_entry import CampaignEntry, EndEvent
from results.store.store import Store

from ..messages.plain_paths import without_paths
from ..reports.ranking import interval_of
from ..study.objective import rank_stored

UNKNOWN = "Whether something disturbed it is not known."
"""Of the fastest run."""
ENDED_HOW: Mapping[EndEvent, str] = {
    "done": "is done",
    "failed": "has failed",
    "slower": "found its machine slower than the baseline",
}


def text_of(store: Store, entry: CampaignEntry, event: EndEvent, public_url: str | None) -> tuple[str, str]:
    """The title and the lines of a notification.

    Args:
        public_url: where people open the service in a browser; None leaves the link out.
    """
    title = f"hpltune: campaign {entry.name} {ENDED_HOW[event]}"
    ended = f" at {entry.ended_at.isoformat(timespec='seconds')}" if entry.ended_at else ""
    lines = [f"Kind: {entry.order.kind}", f"State: {entry.state}{ended}"]
    if store.queue.is_study(entry.name):
        study = store.study(entry.name)
        stored = rank_stored(store, study)
        lines.append(f"Rates: {study.how if stored.ranking else 'none, because no run counts'}")
        if stored.fastest is not None and stored.ranking:
            first = stored.ranking[0]
            expected = expected_sentence(first, interval_of(study, first)) or ""
            doubt = UNKNOWN if stored.fastest.record.conditions is Conditions.UNKNOWN else ""
            lines += [stored.fastest.sentence(stored.ranking), doubt, expected, disturbed_sentence(first)]
    lines.append(without_paths(entry.reason))
    lines.append(f"{public_url}/campaigns/{quote(entry.name, safe='')}" if public_url else "")
    return title, "\n".join(filter(None, lines))
