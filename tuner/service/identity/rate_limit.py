"""How often somebody may ask: a bucket of requests for each, which fills again with time."""

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_network

from .arrival import parsed_address

MOST_BUCKETS = 10_000
"""Callers and addresses in memory; those that asked least recently are forgotten first."""


class RateLimit:
    """Lets each caller send a minute's requests at once, and after that as many as the minute brings.

    Args:
        per_minute: requests of one caller.
        clock: seconds that never go back.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, who: str) -> float:
        """Count a request; return 0, or the seconds to wait where there were too many and it is not counted."""
        now, per_s = self._clock(), self._per_minute / 60
        left, at = self._buckets.pop(who, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - at) * per_s)
        enough = left >= 1
        self._buckets[who] = (left - enough, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if enough else (1 - left) / per_s


def network_of(address: str) -> str:
    """The part of an address that one machine has: of IPv6 the first 64 bits, because the rest costs nothing."""
    found = parsed_address(address)
    return str(ip_network((found, 64), strict=False)) if isinstance(found, IPv6Address) else address
