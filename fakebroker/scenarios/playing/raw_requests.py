"""Values of raw requests as scenarios write them: bytes as text, hexadecimal, records or a subscription."""

from typing import Any

from fakebroker.client.record_steps import RecordSteps, rows_of
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    encode_assignment,
    encode_subscription,
)
from fakebroker.protocol.schema.jsonable import uuid_from_text
from fakebroker.protocol.schema.types import RECORDS, STRING, UUID, Primitive
from fakebroker.scenarios.playing.arguments import as_taken

Json = Any


def read_field(kind: Primitive, value: Json, path: str) -> Any:
    """A value of a field as the message has it.

    Bytes are text, {hex: "..."}, {subscription: [topics]} or {assignment: {topic: [partitions]}}; records are a list as
    of the step `produce`. Raises InvalidArgument for a value that cannot be one of its kind.
    """
    if kind is UUID:
        return value if isinstance(value, bytes) else _uuid(value, path)
    if kind is RECORDS and isinstance(value, list):
        return build_batch(rows_of(as_taken(RecordSteps.produce, "records", value), -1), leader_epoch=-1)
    return value if kind is STRING or kind.char else as_bytes(value, path)


def as_bytes(value: Json, path: str) -> bytes | None:
    """Bytes of text, of {hex: "..."}, of {subscription: [...]} or of {assignment: {...}}."""
    match value:
        case None | bytes():
            return value
        case str():
            return value.encode()
        case {"hex": str(digits)}:
            return bytes_of_hex(digits, path)
        case {"subscription": list(topics)}:
            return encode_subscription(ConsumerProtocolSubscription(topics=topics))
        case {"assignment": dict(partitions)}:
            rows = [(topic, list(indexes)) for topic, indexes in partitions.items()]
            return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=rows))
    raise InvalidArgument(path, value, f'{path}: should be bytes: a text or {{hex: "..."}}, not {type(value).__name__}')


def bytes_of_hex(digits: str, path: str) -> bytes:
    """Bytes of hexadecimal digits, with white space if wanted. Raises InvalidArgument."""
    try:
        return bytes.fromhex(digits)
    except ValueError as error:
        raise InvalidArgument(path, digits, f"{path}: is not hexadecimal: {error}") from None


def _uuid(value: Json, path: str) -> bytes:
    try:
        return uuid_from_text(str(value))
    except ValueError as error:
        raise InvalidArgument(path, value, f"{path}: {error}") from None
