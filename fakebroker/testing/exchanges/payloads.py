"""Payloads made unreadable: keys, values and headers of records, and what users keep beside offsets and memberships.

Every value becomes letters of the same length, the same for equal values within one recording: partitions, keys that
come again and sizes stay what they were, and a replay takes the same course. The letters come from a keyed hash whose
key is never written.
"""

from base64 import b32encode
from hashlib import blake2b
from typing import Any, TypeVar

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.batch import assemble, parse_header, payload_of, split_batches
from fakebroker.protocol.records.batch_format import MAGIC_POSITION
from fakebroker.protocol.records.compression import compress
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from fakebroker.protocol.records.message_set import build_message_set, read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record, decode_records, encode_record
from fakebroker.protocol.schema import Struct
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import BYTES, RECORDS, STRING, ArrayOf, Entity, FieldSpec, Primitive

M = TypeVar("M", ConsumerProtocolAssignment, ConsumerProtocolSubscription)


def has_payloads(declaration: type[Declaration]) -> bool:
    """Whether messages of a class may carry payloads: records, bytes of members, metadata beside offsets."""
    kinds = [(spec, spec.type.element if isinstance(spec.type, ArrayOf) else spec.type) for spec in declaration.fields]
    return any(_is_payload(spec, kind) if isinstance(kind, Primitive) else has_payloads(kind) for spec, kind in kinds)


def _is_payload(spec: FieldSpec, kind: Primitive) -> bool:
    return kind is RECORDS or spec.entity == "committedMetadata" or (kind is BYTES and spec.entity != "secret")


class Payloads:
    """Redacts the payloads of one recording."""

    def __init__(self, key: bytes) -> None:
        """`key` is what the pseudonyms depend on, up to 64 bytes."""
        self._key = key

    def filler(self, value: bytes) -> bytes:
        """Letters in the place of `value`, of the same length, and the same for an equal value."""
        letters = b32encode(blake2b(value, key=self._key, digest_size=20).digest()).lower()
        return (letters * (len(value) // len(letters) + 1))[: len(value)]

    def redact(self, struct: Any) -> None:
        """Replace the payloads in a message that is not shared."""
        for spec in struct.fields:
            setattr(struct, spec.name, self._value(spec, getattr(struct, spec.name)))

    def _value(self, spec: FieldSpec, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(spec.type, ArrayOf):
            return [self._element(spec, spec.type.element, entry) for entry in value]
        return self._element(spec, spec.type, value)

    def _element(self, spec: FieldSpec, kind: Any, value: Any) -> Any:
        if isinstance(value, Struct):
            self.redact(value)
        elif not isinstance(kind, Primitive):  # a row
            return tuple(self._value(inner, one) for inner, one in zip(kind.fields, value, strict=True))
        elif kind is RECORDS:
            return self.records(value)
        elif kind is BYTES:
            return self._member_bytes(spec.entity, value)
        elif kind is STRING and spec.entity == "committedMetadata":
            return self.filler(value.encode()).decode()
        return value

    def _member_bytes(self, entity: Entity | None, data: bytes) -> bytes:
        """A subscription or an assignment with other user data; bytes that are neither are replaced as a whole.

        `entity` says which: the bytes of an assignment may happen to be those of a subscription.
        """
        version = int.from_bytes(data[:2], "big", signed=True)
        try:
            if entity == "assignment":
                assignment = decode_assignment(data)
                if data and encode_assignment(assignment, version) == data:
                    return encode_assignment(self._redacted(assignment), version)
            else:
                subscription = decode_subscription(data)
                if encode_subscription(subscription, version) == data:
                    return encode_subscription(self._redacted(subscription), version)
        except FakebrokerError:
            pass
        return self.filler(data)

    def _redacted(self, members: M) -> M:
        """A subscription or an assignment with other user data."""
        if members.user_data:
            members.user_data = self.filler(members.user_data)
        return members

    def records(self, data: bytes) -> bytes:
        """Record batches with other keys, values and headers; without those that cannot be read, or are cut off."""
        redacted = []
        for batch in split_batches(data):
            try:
                redacted.append(self._messages(batch) if batch[MAGIC_POSITION] < 2 else self._batch(batch))
            except (FakebrokerError, ValueError, IndexError, OverflowError):
                continue
        return b"".join(redacted)

    def _batch(self, batch: bytes) -> bytes:
        header = parse_header(batch)
        if header.is_control:
            return batch
        payload = payload_of(batch, header)
        records = decode_records(payload, header.records_count, header.base_offset, header.base_timestamp_ms, None)
        plain = [encode_record(self._record(one), header.base_offset, header.base_timestamp_ms) for one in records]
        return assemble(header, compress(header.codec, b"".join(plain)))

    def _messages(self, data: bytes) -> bytes:
        (message,) = read_message_set(data)
        inner = [self._record(Record(one.offset, one.timestamp_ms, one.key, one.value)) for one in unwrap(message)]
        append_ms = message.timestamp_ms if message.is_log_append_time else None
        return build_message_set(inner, message.magic, codec=message.codec, log_append_time_ms=append_ms)

    def _record(self, record: Record) -> Record:
        headers = tuple((self.filler(name), self._maybe(value)) for name, value in record.headers)
        return record._replace(key=self._maybe(record.key), value=self._maybe(record.value), headers=headers)

    def _maybe(self, value: bytes | None) -> bytes | None:
        return None if value is None else self.filler(value)
