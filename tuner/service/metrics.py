"""What a service counts, as Prometheus reads it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from results.store.service.campaign_entry import QueueState
from results.store.store import Store

from .request_log import SeenRequest

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the classes of durations."""
disable_created_metrics()  # type: ignore[no-untyped-call]  # a time stamp beside each counter is of no use here


class ServiceMetrics:
    """Counts requests, and tells how campaigns stand; the number of what it keeps is that of routes, not of requests.

    Args:
        watchers: how many streams of live events are open.

    Attributes:
        under_way: requests that are being answered.
    """

    def __init__(self, store: Store, watchers: Callable[[], int]) -> None:
        self._registry = registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("hpltune_http_requests", "Requests that were answered.", labels, registry=registry)
        self._durations = Histogram(
            "hpltune_http_request_duration_seconds",
            "Time until an answer was complete; of a stream until it began.",
            ("route",),
            buckets=BUCKETS_S,
            registry=registry,
        )
        self.under_way = Gauge(
            "hpltune_http_requests_under_way", "Requests that are being answered.", registry=registry
        )
        self._database_errors = Counter(
            "hpltune_database_errors", "Requests for which the database did not work.", registry=registry
        )
        registry.register(CampaignMetrics(store))
        Gauge("hpltune_watchers", "Streams of live events that are open.", registry=registry).set_function(watchers)
        Info("hpltune", "The version that runs.", registry=registry).info({"version": version("hpltune")})
        ProcessCollector(registry=registry)

    def count(self, request: SeenRequest, *, database_error: bool) -> None:
        """Count a request that was answered.

        Args:
            database_error: the database did not work for it.
        """
        self._requests.labels(request.method, request.route, str(request.status)).inc()
        self._durations.labels(request.route).observe(request.ms / 1000)
        self._database_errors.inc(database_error)

    def text(self) -> bytes:
        """Write all figures."""
        return generate_latest(self._registry)


class CampaignMetrics(Collector):
    """How the campaigns of the queue stand, read when it is asked."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Read the figures."""
        counts, oldest = self._store.queue_counts()
        states = GaugeMetricFamily("hpltune_campaigns", "Campaigns that were handed in.", labels=["state"])
        for state in QueueState:
            states.add_metric([state.value], counts.get(state, 0))
        yield states
        oldest_s = 0.0 if oldest is None else (datetime.now(UTC) - oldest).total_seconds()
        said = "Time for which the campaign has waited that waits longest."
        yield GaugeMetricFamily("hpltune_queue_oldest_seconds", said, max(0.0, oldest_s))
