"""What webhooks are told about the end of a campaign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from results.stats.headline import NO_RATES
from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.service.deliveries import OutgoingMessage
from results.store.store import Store

from ...commands.stored.show import rates_of
from ...messages.plain_paths import without_paths
from ..config import ServiceConfig
from .table import EventName, WebhookTable

TEST = "test"
"""The event of a message that somebody asks for, to try a webhook."""


@dataclass(frozen=True)
class Announcer:
    """Makes messages for the webhooks that want them.

    Attributes:
        webhooks: by their names.
        public_url: where people open the service in a browser, for links; None leaves links out.
    """

    webhooks: Mapping[str, WebhookTable] = field(default_factory=dict)
    public_url: str | None = None

    def ended(self, store: Store, entry: CampaignEntry, *, slower: bool = False) -> Sequence[OutgoingMessage]:
        """The messages about a campaign that has ended; none where it only waits again.

        Args:
            slower: it is a check that found its machine slower than the baseline.
        """
        events = _events(entry.state, slower=slower)
        wanted = [(name, event) for name, table in self.webhooks.items() for event in events if event in table.events]
        if not wanted:
            return []
        study = store.study(entry.name) if store.queue.is_study(entry.name) else None
        rates = rates_of(store, study) if study else None
        facts = {
            "campaign": entry.name,
            "kind": entry.order.kind,
            "state": entry.state,
            "rates": study.how if study else None,
            **(rates.to_json() if rates else NO_RATES),
            "reason": without_paths(entry.reason),
            "ended_at": None if entry.ended_at is None else entry.ended_at.isoformat(),
            "link": self._link(entry.name),
        }
        return [OutgoingMessage(name, event, {"event": event, **facts}) for name, event in wanted]

    def trial(self, webhook: str, asked_by: str) -> OutgoingMessage:
        """A message that only shows that messages arrive."""
        said = f"{asked_by} tries this webhook"
        return OutgoingMessage(
            webhook, TEST, {"event": TEST, "campaign": None, "reason": said, "link": self.public_url}
        )

    def _link(self, name: str) -> str | None:
        return None if self.public_url is None else f"{self.public_url}/campaigns/{quote(name, safe='')}"


def announcer_of(config: ServiceConfig) -> Announcer:
    """The announcer of a service."""
    return Announcer(config.webhooks, config.listen.public_url)


def _events(state: QueueState, *, slower: bool) -> Sequence[EventName]:
    if state is QueueState.FAILED:
        return ["failed"]
    if state is not QueueState.DONE:
        return []
    return ["done", "slower"] if slower else ["done"]
