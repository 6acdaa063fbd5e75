"""Which campaign is next: the highest priority, then the user who had least of the machines, then the oldest."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.store import Store

REMEMBERED = timedelta(days=1)
"""How long the machine time of a user counts."""
OF_THE_QUEUE = (QueueState.RUNNING, QueueState.QUEUED, QueueState.PAUSED)
"""States of those that the queue has."""


def fair_order(entries: Sequence[CampaignEntry], recent: Sequence[CampaignEntry], now: datetime) -> list[CampaignEntry]:
    """Sort the campaigns that wait.

    Of one priority, users take turns: who has fewer campaigns running or standing before is first, then who used less
    machine time lately, then who waits longest.

    Args:
        entries: those that wait and those that run.
        recent: those that ended lately; they and those that run tell who used the machines.
    """
    running = [entry for entry in entries if entry.state is QueueState.RUNNING]
    used_s = _machine_time_s([*running, *recent], now)
    turns: dict[str, int] = defaultdict(int)
    for entry in running:
        turns[entry.order.handed_in_by] += 1
    waiting = sorted(
        (entry for entry in entries if entry.state is QueueState.QUEUED),
        key=lambda entry: (-entry.order.priority, entry.handed_in_at, entry.name),
    )
    keys = []
    for entry in waiting:
        user = entry.order.handed_in_by
        keys.append((-entry.order.priority, turns[user], used_s.get(user, 0.0), entry.handed_in_at, entry.name))
        turns[user] += 1
    return [entry for _, entry in sorted(zip(keys, waiting, strict=True), key=lambda pair: pair[0])]


def in_order(store: Store, entries: Sequence[CampaignEntry]) -> list[CampaignEntry]:
    """Those that wait, in the order in which they are started now."""
    now = datetime.now(UTC)
    return fair_order(entries, store.queue.recent(now - REMEMBERED), now)


def _machine_time_s(entries: Sequence[CampaignEntry], now: datetime) -> Mapping[str, float]:
    """Seconds that the campaigns of each user held machines lately, times the number of machines."""
    used_s: dict[str, float] = defaultdict(float)
    for entry in entries:
        if entry.started_at is not None:
            ended_at = now if entry.state is QueueState.RUNNING else entry.ended_at or entry.started_at
            held_s = (ended_at - max(entry.started_at, now - REMEMBERED)).total_seconds()
            used_s[entry.order.handed_in_by] += max(0.0, held_s) * len(entry.order.node_set)
    return used_s
