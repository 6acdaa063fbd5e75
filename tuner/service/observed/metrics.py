"""What a server counts, written as Prometheus reads it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from .seen import SeenRequest

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the classes of durations."""
Labels = Mapping[str, str]
Sample = tuple[str, Labels, float]
"""The end of its name, its labels, its value."""


class RequestMetrics:
    """Counts requests; the number of what it keeps is that of routes, not that of requests."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS_S) + 1))
        self._seconds: Counter[str] = Counter()
        self.under_way = 0
        self.database_errors = 0

    def count(self, request: SeenRequest) -> None:
        """Count a request that was answered."""
        self._requests[request.method, request.route, request.status] += 1
        seconds = request.ms / 1000
        self._durations[request.route][sum(seconds > end for end in BUCKETS_S)] += 1
        self._seconds[request.route] += seconds  # type: ignore[assignment]  # a sum of seconds is no whole number

    def text(self) -> Iterator[str]:
        """Write the lines."""
        requests = [
            ("", {"method": method, "route": route, "status": str(status)}, count)
            for (method, route, status), count in sorted(self._requests.items())
        ]
        yield from family("hpltune_http_requests_total", "counter", "Requests that were answered.", requests)
        said = "Time until an answer was complete; of a stream until it began."
        yield from family("hpltune_http_request_duration_seconds", "histogram", said, self._histogram())
        said = "Requests that are being answered."
        yield figure("hpltune_http_requests_under_way", "gauge", said, self.under_way)
        said = "Requests for which the database did not work."
        yield figure("hpltune_database_errors_total", "counter", said, self.database_errors)

    def _histogram(self) -> Iterator[Sample]:
        for route, counts in sorted(self._durations.items()):
            below = 0
            for end, count in zip((*map(str, BUCKETS_S), "+Inf"), counts, strict=True):
                below += count
                yield "_bucket", {"route": route, "le": end}, below
            yield "_sum", {"route": route}, self._seconds[route]
            yield "_count", {"route": route}, below


def family(name: str, kind: str, help_: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Write one metric with all its samples.

    Args:
        kind: "counter", "gauge" or "histogram".
    """
    yield f"# HELP {name} {help_}\n# TYPE {name} {kind}\n"
    for end, labels, value in samples:
        written = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{end}{f'{{{written}}}' if written else ''} {value:.10g}\n"


def figure(name: str, kind: str, help_: str, value: float) -> str:
    """Write a metric that is one figure."""
    return "".join(family(name, kind, help_, [("", {}, value)]))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
