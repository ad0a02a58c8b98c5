"""The state of a broker in the text format of Prometheus."""

from collections import Counter
from collections.abc import Iterator
from time import time
from weakref import WeakKeyDictionary

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from fakebroker.broker.engine.journal import Exchange
from fakebroker.cli.http.turns import own_turn, pace_of
from fakebroker.protocol.errors import error_name
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.journal.brief import BYTES_PER_STEP
from fakebroker.testing.journal.rows import size_bytes

CONTENT_TYPE = CONTENT_TYPE_LATEST
ENTRIES_PER_LOOK = 500  # they are decoded, which takes time from the loop that serves the broker's clients
_COUNTS: "WeakKeyDictionary[AsyncFakeBroker, _Counts]" = WeakKeyDictionary()


class _Counts:
    """What was counted in a broker's journal until the last look."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()
        self.uncounted = 0  # requests and events that left the journal between two looks
        self._seq = 0

    def look(self, broker: AsyncFakeBroker, end_seq: int) -> bool:
        """Count some of what came since the last look. Returns whether all before `end_seq` is counted."""
        journal, pace = broker._engine.journal, pace_of(BYTES_PER_STEP)
        first = max(self._seq, journal.forgotten)
        end = min(first + ENTRIES_PER_LOOK, journal.next_seq)
        self.uncounted += first - self._seq
        self._seq = first
        for entry in journal.kept(first).of(range(first, end)):
            self._seq += 1
            if isinstance(entry, Exchange):
                names = dict.fromkeys(error_name(code) for code in entry.errors) or {"NONE": None}
                self.requests.update((entry.api, name) for name in names)
                if pace.is_over(size_bytes(entry.response_frame) or 0):
                    break
        return self._seq >= min(end_seq, journal.next_seq)


class _BrokerCollector(Collector):
    def __init__(self, broker: AsyncFakeBroker) -> None:
        self._broker = broker

    def collect(self) -> Iterator[Metric]:
        """All metrics of the broker as it is."""
        yield from self._counters()
        cluster, engine = self._broker._engine.cluster, self._broker._engine
        parked = sum(connection.parked_call is not None for connection in engine.connections.values())
        log_bytes = sum(p.log.size_bytes for topic in cluster.topics for p in topic.partitions if p.has_log)
        yield _gauge("connections", "Connections of clients.", len(engine.connections))
        yield _gauge("parked_requests", "Requests that wait for their answer.", parked)
        yield _gauge("topics", "Topics, including internal ones.", len(cluster.topics))
        yield _gauge("log_bytes", "Bytes of records in all logs.", log_bytes)
        offset_s = self._broker.clock.now_ms / 1000 - time()
        yield _gauge("clock_offset_seconds", "Offset of the broker's time of day from the machine's.", offset_s)
        yield _gauge("internal_errors", "Internal errors (bugs) of the broker.", len(self._broker.errors))
        groups = GaugeMetricFamily("fakebroker_groups", "Groups by state.", labels=["state"])
        for state, count in sorted(Counter(str(group.state) for group in cluster.groups(engine.now)).items()):
            groups.add_metric([state], count)
        yield groups

    def _counters(self) -> Iterator[Metric]:
        counts = _counts_of(self._broker)
        about = "Answered requests by API and by error (NONE for success)."
        requests = CounterMetricFamily("fakebroker_requests", about, labels=["api", "error"])
        for (api, error), count in sorted(counts.requests.items()):
            requests.add_metric([api, error], count)
        yield requests
        about = "Journal entries dropped before they were counted; scrape more often."
        yield CounterMetricFamily("fakebroker_uncounted_entries", about, value=counts.uncounted)


def _counts_of(broker: AsyncFakeBroker) -> _Counts:
    return _COUNTS.setdefault(broker, _Counts())


async def metrics(broker: AsyncFakeBroker) -> bytes:
    """The metrics of a broker as text, after what is new in its journal was counted, in turn with its clients."""
    end_seq = broker._engine.journal.next_seq
    is_counted = False
    while not is_counted:
        async with own_turn():
            is_counted = _counts_of(broker).look(broker, end_seq)
    registry = CollectorRegistry()
    registry.register(_BrokerCollector(broker))
    return generate_latest(registry)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"fakebroker_{name}", about, value=value)
