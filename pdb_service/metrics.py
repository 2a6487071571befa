"""Metrics of the service, for Prometheus."""

from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector


class Metrics:
    """Metrics of one app, in a separate registry."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        requests = Counter("tile_pdb_requests", "Requests answered.", ["route", "method", "status"], registry=registry)
        seconds = Histogram(
            "tile_pdb_request_seconds",
            "From the head of a request to the end of its answer.",
            ["route"],
            # From 0.1 ms, a lookup, to a minute, a hard solve.
            buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0),
            registry=registry,
        )
        self.running = Gauge("tile_pdb_solves_running", "Searches that run.", registry=registry)
        self.waiting = Gauge("tile_pdb_solves_waiting", "Searches that wait for a thread.", registry=registry)
        # Finding the series of some labels takes longer than counting.
        self._requests, self._seconds = lru_cache(requests.labels), lru_cache(seconds.labels)

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered in `seconds`."""
        self._seconds(route).observe(seconds)
        self._requests(route, method, status).inc()
