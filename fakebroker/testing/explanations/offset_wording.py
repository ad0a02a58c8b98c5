"""Offsets and counts in words: what a request says of its partitions, and what the answer gives for each.

`OffsetCommit ... orders-0=42`, `OffsetFetch ... orders-0 -> none`, `ListOffsets ... orders-0 latest -> 1`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fakebroker.broker.core.dates import date_text
from fakebroker.broker.engine.journal import Exchange
from fakebroker.broker.engine.printable import printable
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.batch import parse_header, split_batches

MAX_SHOWN = 6
NOTHING_NEW = "nothing new"
LATEST, EARLIEST = -1, -2
_WHENS = {
    LATEST: "latest",
    EARLIEST: "earliest",
    -3: "with the latest timestamp",
    -4: "earliest on this broker",
    -5: "latest in tiered storage",
    -6: "earliest outside tiered storage",
}
_ACKNOWLEDGEMENTS = ("gap", "accepts", "releases", "rejects", "renews")


class Said(NamedTuple):
    """What is said of one partition."""

    topic: str
    partition: int
    text: str

    @property
    def place(self) -> str:
        """The partition as "orders-0"."""
        return f"{printable(self.topic)}-{self.partition}"


def asked_of_partitions(exchange: Exchange, request: Any) -> str:
    """What a request says of its partitions: "orders-0=42, orders-1=7"; "" for requests that say nothing of any."""
    ask = _ASKS.get(exchange.api)
    return "" if ask is None else shortened([f"{each.place}{each.text}" for each in ask(exchange, request)])


def answered_of_partitions(exchange: Exchange, response: Any) -> str:
    """What an answer without errors gives: "none", "orders-0 5, orders-1 none"; "" for answers that give nothing."""
    give = _ANSWERS.get(exchange.api)
    if give is None:
        return ""
    given = list(give(exchange, response))
    if len(given) == 1 and sum(map(len, exchange.topics.values())) <= 1:
        return given[0].text
    return shortened([f"{each.place} {each.text}" for each in given]) or (
        NOTHING_NEW if exchange.api == "Fetch" else ""
    )


def shortened(items: Sequence[str]) -> str:
    """The first few of a list, and how many more there are."""
    more = f" and {len(items) - MAX_SHOWN} more" if len(items) > MAX_SHOWN else ""
    return ", ".join(items[:MAX_SHOWN]) + more


def offsets_committed(exchange: Exchange, request: Any) -> Iterator[Said]:
    """The offsets of an OffsetCommit or TxnOffsetCommit."""
    for topic in request.topics:
        for each in topic.partitions:
            index, offset = each[:2] if isinstance(each, tuple) else (each.partition_index, each.committed_offset)
            yield Said(_name(exchange, topic), index, f"={offset}")


def offsets_fetched(exchange: Exchange, response: Any) -> Iterator[Said]:
    """The committed offsets of an OffsetFetch; "none" where there is none."""
    for topics in (response.topics, *(group.topics for group in response.groups)):
        for topic in topics:
            for index, offset, *_ in topic.partitions:
                yield Said(_name(exchange, topic), index, _offset(offset))


def offsets_listed(exchange: Exchange, response: Any) -> Iterator[Said]:
    """The offsets of a ListOffsets."""
    for topic in response.topics:
        for index, _, old, _, offset, _ in topic.partitions:
            found = ", ".join(map(str, old)) if exchange.version == 0 else _offset(offset)
            yield Said(topic.name, index, found or "none")


def fetched_from(exchange: Exchange, request: Any) -> Iterator[Said]:
    """The positions of a Fetch, in order: librdkafka rotates its partitions from poll to poll."""
    yield from sorted(
        Said(_name(exchange, topic), row[0], f" from {row[2]}") for topic in request.topics for row in topic.partitions
    )


def _listed_at(exchange: Exchange, request: Any) -> Iterator[Said]:
    for topic in request.topics:
        for index, _, timestamp_ms, _ in topic.partitions:
            yield Said(
                _name(exchange, topic), index, f" {_WHENS.get(timestamp_ms) or f'from {date_text(timestamp_ms)}'}"
            )


def _produced(exchange: Exchange, request: Any) -> Iterator[Said]:
    for topic in request.topic_data:
        for each in topic.partition_data:
            yield Said(_name(exchange, topic), each.index, f" {_records(each.records)}")


def _deleted_before(exchange: Exchange, request: Any) -> Iterator[Said]:
    for topic in request.topics:
        for each in topic.partitions:
            text = " all" if each.offset == -1 else f" before {each.offset}"
            yield Said(_name(exchange, topic), each.partition_index, text)


def _acknowledged(exchange: Exchange, request: Any) -> Iterator[Said]:
    for topic in request.topics:
        for each in topic.partitions:
            batches = shortened([_acknowledgement(batch) for batch in each.acknowledgement_batches])
            yield Said(_name(exchange, topic), each.partition_index, f" {batches}" if batches else "")


def _acknowledgement(batch: Any) -> str:
    types = dict.fromkeys(batch.acknowledge_types)
    known = [_ACKNOWLEDGEMENTS[each] if 0 <= each < len(_ACKNOWLEDGEMENTS) else str(each) for each in types]
    return f"{' and '.join(known)} {_range(batch.first_offset, batch.last_offset)}"


def _records_fetched(exchange: Exchange, response: Any) -> Iterator[Said]:
    for topic in response.responses:
        for each in topic.partitions:
            if each.records:
                yield Said(_name(exchange, topic), each.partition_index, _records(each.records))


def _base_offsets(exchange: Exchange, response: Any) -> Iterator[Said]:
    for topic in response.responses:
        for each in topic.partition_responses:
            yield Said(_name(exchange, topic), each.index, f"at {each.base_offset}")


def _low_watermarks(exchange: Exchange, response: Any) -> Iterator[Said]:
    for topic in response.topics:
        for each in topic.partitions:
            yield Said(_name(exchange, topic), each.partition_index, f"begins at {each.low_watermark}")


def _acquired(exchange: Exchange, response: Any) -> Iterator[Said]:
    for topic in response.responses:
        for each in topic.partitions:
            ranges = [_range(rows.first_offset, rows.last_offset) for rows in each.acquired_records]
            if ranges:
                yield Said(_name(exchange, topic), each.partition_index, f"{shortened(ranges)} acquired")


def _name(exchange: Exchange, entry: Any) -> str:
    """The topic of an entry, which has its name or its id; a name may be empty."""
    name: str = getattr(entry, "name", "") or getattr(entry, "topic", "")
    topic_id: bytes | None = getattr(entry, "topic_id", None)
    return name if name or topic_id is None else exchange.name_of_topic(topic_id)


def _offset(offset: int) -> str:
    return "none" if offset < 0 else str(offset)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _records(data: bytes | None) -> str:
    """How many records there are, in batches; bytes where they are of an older format or cut."""
    try:
        headers = [parse_header(batch) for batch in split_batches(bytes(data or b""))]
    except FakebrokerError:
        return f"{len(data or b'')} bytes"
    count = sum(header.last_offset_delta + 1 for header in headers)
    return "1 record" if count == 1 else f"{count} records"


_Say = Callable[[Exchange, Any], Iterator[Said]]
_ASKS: Mapping[str, _Say] = {
    "OffsetCommit": offsets_committed,
    "TxnOffsetCommit": offsets_committed,
    "ListOffsets": _listed_at,
    "Fetch": fetched_from,
    "Produce": _produced,
    "DeleteRecords": _deleted_before,
    "ShareFetch": _acknowledged,
    "ShareAcknowledge": _acknowledged,
}
_ANSWERS: Mapping[str, _Say] = {
    "OffsetFetch": offsets_fetched,
    "ListOffsets": offsets_listed,
    "Fetch": _records_fetched,
    "Produce": _base_offsets,
    "DeleteRecords": _low_watermarks,
    "ShareFetch": _acquired,
}
