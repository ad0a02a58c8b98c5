"""`__consumer_offsets` and `__transaction_state` read from a running Kafka: read-only, by our own client, without Java.

    kafka = ClientConfig("localhost:9092")
    rows = decode_all(read_live(kafka, source="west"))
    ends = live_ends(kafka, {("orders", 0)}, source="west", at_ms=now_ms)

Everything that the log has is read, records of open and aborted transactions and the markers of transactions included,
so that what became of a transaction is seen as in files. It joins no group and commits nothing.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from fakebroker.analysis.history.log_record import LogFile, LogRecord, Reject
from fakebroker.analysis.history.segments import read_batch
from fakebroker.analysis.history.sink_rows import TOPIC
from fakebroker.analysis.history.transaction_log import TOPIC as TRANSACTIONS
from fakebroker.client.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, Fetch
from fakebroker.client.cluster.errors import AnsweredError
from fakebroker.client.cluster.offset_ranges import entries_of, read_range
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.offsets_topic import TopicPartition

_CLIENT_ID: Final = "fakebroker-history"


class Span(NamedTuple):
    """The offsets of a partition of an internal topic that are there: the first, and the one behind the last."""

    log_partition: int
    start: int
    end: int


def live_spans(kafka: ClientConfig) -> list[Span]:
    """What the partitions of a live log have now. Raises ClusterError: unreachable, not allowed, no such topic."""
    with _client(kafka) as cluster:
        return _spans(cluster, TOPIC)


def read_live(kafka: ClientConfig, source: str) -> Iterator[LogRecord | Reject]:
    """The records that a live log has when reading begins, partition by partition. Raises ClusterError."""
    with _client(kafka) as cluster:
        for span in _spans(cluster, TOPIC):
            yield from _read(cluster, kafka, span, source)


def read_live_transactions(kafka: ClientConfig, source: str) -> Iterator[LogRecord | Reject]:
    """The same of `__transaction_state`: nothing if it does not exist, a reject if it may not be read."""
    with _client(kafka) as cluster:
        try:
            there = TRANSACTIONS in cluster.topics([TRANSACTIONS])
            for span in _spans(cluster, TRANSACTIONS) if there else ():
                yield from _read(cluster, kafka, span, source, TRANSACTIONS)
        except AnsweredError as error:
            if error.code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                raise
            yield Reject(source, kafka.bootstrap, 0, None, None, f"{TRANSACTIONS} may not be read: {error}", None)


def read_partition(
    kafka: ClientConfig, log_partition: int, start: int, end: int, source: str
) -> Iterator[LogRecord | Reject]:
    """The records of one partition between two offsets, the last not included. Raises ClusterError."""
    with _client(kafka) as cluster:
        yield from _read(cluster, kafka, Span(log_partition, start, end), source)


def live_ends(
    kafka: ClientConfig, partitions: Iterable[tuple[str, int]], *, source: str, at_ms: int
) -> list[dict[str, Any]]:
    """Where the logs of topics begin and end now, as rows of the table `log_ends`; `at_ms` is the time of asking.

    Partitions that are not there any more, of topics that were deleted, are left out, and those that have no leader who
    could answer. Raises ClusterError.
    """
    wanted = {TopicPartition(*each) for each in partitions}
    with _client(kafka) as cluster:
        found = cluster.topics(sorted({each.topic for each in wanted}))
        led = (each for topic in found.values() for each in topic.partitions if topic.leaders[each.partition])
        there = sorted(wanted.intersection(led))
        starts = cluster.offsets(dict.fromkeys(there, EARLIEST))
        ends = cluster.offsets(dict.fromkeys(there, LATEST))
    return [
        {
            "source": source,
            "topic": each.topic,
            "partition": each.partition,
            "log_start_offset": starts[each].offset,
            "log_end_offset": ends[each].offset,
            "at": at_ms,
        }
        for each in there
    ]


def _client(kafka: ClientConfig) -> ClusterClient:
    return ClusterClient(kafka.bootstrap, security=kafka.security, client_id=_CLIENT_ID)


def _spans(cluster: ClusterClient, topic: str) -> list[Span]:
    partitions = cluster.partitions([topic])
    starts = cluster.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = cluster.offsets(dict.fromkeys(partitions, LATEST))
    return [Span(each.partition, starts[each].offset, ends[each].offset) for each in partitions]


def _read(
    cluster: ClusterClient, kafka: ClientConfig, span: Span, source: str, topic: str = TOPIC
) -> Iterator[LogRecord | Reject]:
    """A batch is fetched as a whole: what is before the first and behind the last offset is left out."""
    segment = LogFile(Path(kafka.bootstrap), span.log_partition, source)
    first = Fetch(TopicPartition(topic, span.log_partition), span.start)
    for chunk in read_range(cluster, first, span.end):
        records = chunk.fetched.records
        for position, size_bytes, _ in entries_of(records):
            for found in read_batch(segment, position, records[position : position + size_bytes]):
                offset = span.start if found.log_offset is None else found.log_offset
                if isinstance(found, Reject) or span.start <= offset < span.end:
                    yield found._replace(position=offset)
