"""Lines of the journal: from its entries to objects for JSON, secrets removed (redaction.py)."""

from collections.abc import Iterator
from typing import Any

from fakebroker.broker.core.offsets.commit_validator import expire_timestamp
from fakebroker.broker.engine.journal import Event, Exchange, Peer, Recorded
from fakebroker.broker.engine.kept_frames import Frame, FrameBytes
from fakebroker.broker.engine.subjects import errors_of, groups_of, topics_of
from fakebroker.protocol.records.batch import peek
from fakebroker.protocol.records.batch_format import HEADER_BYTES, NO_TIMESTAMP
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.jsonable import to_json
from fakebroker.protocol.schema.types import ZERO_UUID
from fakebroker.testing.exchanges.redaction import redact
from fakebroker.testing.explanations.event_wording import kind_name
from fakebroker.testing.journal.schema import (
    COLUMN_NAMES,
    SCHEMA_VERSION,
    OffsetCommitted,
    RecordsAppended,
    Request,
)

MAX_HEX_CHARACTERS = 1024
Row = dict[str, Any]

_COUNT = HEADER_BYTES - 4  # where a batch says how many records it has

_COMMITS = ("OffsetCommit", "TxnOffsetCommit")


def rows_of(entry: Exchange | Recorded[Event], run: str) -> Iterator[Row]:
    """The lines of an entry: `part` counts them."""
    made = _rows_of_exchange(entry) if isinstance(entry, Exchange) else _rows_of_event(entry)
    for part, (kind, columns, values) in enumerate(made):
        at = entry.answered if isinstance(entry, Exchange) else entry.at
        row = {
            "schema_version": SCHEMA_VERSION,
            "run": run,
            "seq": entry.seq,
            "part": part,
            "kind": kind,
            "wall_ms": at.wall_ms,
            "mono_ms": at.mono_ms,
            "node": None,
            "connection": None,
            "client": None,
        }
        row.update(columns)
        row.update(values)
        yield row


_Made = Iterator[tuple[str, Row, Row]]


def _rows_of_event(recorded: Recorded[Event]) -> _Made:
    event: Any = recorded.event
    for each in event.each() if hasattr(event, "each") else (event,):
        columns: Row = {}
        for field in each._fields:
            value = getattr(each, field)
            if isinstance(value, Peer):
                columns.update(_of_peer(value), address=value.address)
            else:
                columns[COLUMN_NAMES.get(field, field)] = plain(value)
        yield kind_name(type(each)), {}, columns


def _of_peer(peer: Peer) -> Row:
    return {"node": peer.node_id, "connection": peer.connection_id}


def plain(value: Any) -> Any:
    """A value as JSON has it: bytes as {"hex": ...}, sets in order, named tuples as objects, others as their text."""
    if value is None or isinstance(value, bool | str):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if value - value == 0 else str(value)  # JSON has no infinity
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if hasattr(value, "_asdict"):
        return {key: plain(inner) for key, inner in value._asdict().items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else str(value)


def _rows_of_exchange(exchange: Exchange) -> _Made:
    request, response = exchange.request, exchange.response
    errors = [] if response is None else [error.name for error in errors_of(response, exchange._topic_name)]
    common = {**_of_peer(exchange.peer), "client": exchange.client_id}
    derived = list(_derived(exchange, request, response)) if request is not None and response is not None else []
    row = Request(
        api=exchange.api,
        api_key=exchange.header.api_key,
        version=exchange.version,
        correlation_id=exchange.header.correlation_id,
        groups=[] if request is None else list(groups_of(request)),
        topics=[] if request is None else list(topics_of(request, exchange._topic_name)),
        errors=list(dict.fromkeys(errors)),
        is_answered=exchange.is_answered,
        waited_ms=exchange.waited_ms,
        received_wall_ms=exchange.received.wall_ms,
        received_mono_ms=exchange.received.mono_ms,
        request_bytes=size_bytes(exchange.request_frame),
        response_bytes=size_bytes(exchange.response_frame),
        request=message_json(request, exchange.version),
        response=message_json(response, exchange.version),
    )
    yield "request", common, row._asdict()
    for each in derived:
        values = {COLUMN_NAMES.get(name, name): value for name, value in each._asdict().items()}
        yield kind_name(type(each)), common, values


def size_bytes(frame: FrameBytes | None) -> int:
    """The size of a frame as it was sent, 0 for none."""
    return 0 if frame is None else frame.size_bytes if isinstance(frame, Frame) else len(frame)


def message_json(message: Message | None, version: int) -> Row | None:
    """A decoded message as data with Kafka's field names; it must not be shared, because its secrets are replaced."""
    if message is None:
        return None
    redact(message)
    shown: Row = _cut(to_json(message, version, _records))
    return shown


def _records(data: bytes) -> Row:
    """Of records their size and count, not what is in them."""
    return {"bytes": len(data), "records": records_count(data)}


def records_count(data: bytes) -> int:
    """How many records the batches say they have; a message of the old formats counts as one."""
    count, position = 0, 0
    while (entry := peek(data, position)) is not None:
        size_bytes, magic = entry
        if magic < 2 or size_bytes < HEADER_BYTES:
            count += 1
        else:
            count += int.from_bytes(data[position + _COUNT : position + HEADER_BYTES], "big", signed=True)
        position += size_bytes
    return count


# What requests have done


def _derived(exchange: Exchange, request: Any, response: Any) -> Iterator[OffsetCommitted | RecordsAppended]:
    """What an answered request stored."""
    if exchange.api in _COMMITS:
        return _commits(exchange, request)
    return _appends(exchange, request, response) if exchange.api == "Produce" else iter(())


def _commits(exchange: Exchange, request: Any) -> Iterator[OffsetCommitted]:
    failed = {(error.topic, error.partition) for error in exchange.found_errors}
    member_id = getattr(request, "member_id", "")
    generation = getattr(request, "generation_id_or_member_epoch", getattr(request, "generation_id", -1))
    retention_ms = getattr(request, "retention_time_ms", NO_TIMESTAMP)
    for topic, entry in zip(_names(exchange, request.topics), request.topics, strict=True):
        for each in entry.partitions:
            client_ms = NO_TIMESTAMP
            if isinstance(each, tuple):
                partition, offset, leader_epoch, client_ms, metadata = each
            else:
                partition, offset, metadata = each.partition_index, each.committed_offset, each.committed_metadata
                leader_epoch = each.committed_leader_epoch
            if (topic, partition) not in failed:
                committed_ms = exchange.received.wall_ms if client_ms == NO_TIMESTAMP else client_ms
                expire_ms = None if retention_ms == NO_TIMESTAMP else expire_timestamp(committed_ms, retention_ms)
                yield OffsetCommitted(
                    request.group_id, topic, partition, offset, leader_epoch, metadata, member_id, generation,
                    committed_ms, expire_ms, exchange.api == "TxnOffsetCommit",
                )  # fmt: skip


def _appends(exchange: Exchange, request: Any, response: Any) -> Iterator[RecordsAppended]:
    sent = {
        (topic, each.index): bytes(each.records or b"")
        for topic, entry in zip(_names(exchange, request.topic_data), request.topic_data, strict=True)
        for each in entry.partition_data
    }
    for topic, entry in zip(_names(exchange, response.responses), response.responses, strict=True):
        for each in entry.partition_responses:
            data = sent.get((topic, each.index), b"")
            if not each.error_code:
                yield RecordsAppended(topic, each.index, each.base_offset, records_count(data), len(data))


def _names(exchange: Exchange, entries: Any) -> list[str]:
    """The names of topics that are named by name or by id."""
    return [entry.name or exchange.name_of_topic(getattr(entry, "topic_id", ZERO_UUID)) for entry in entries]


def _cut(value: Any) -> Any:
    """Bytes beyond some length are cut, and their length is shown."""
    if isinstance(value, dict):
        text = value.get("hex")
        if isinstance(text, str) and len(text) > MAX_HEX_CHARACTERS and len(value) == 1:
            return {"hex": text[:MAX_HEX_CHARACTERS], "bytes": len(text) // 2}
        return {key: _cut(inner) if isinstance(inner, dict | list) else inner for key, inner in value.items()}
    return [_cut(inner) if isinstance(inner, dict | list) else inner for inner in value]
