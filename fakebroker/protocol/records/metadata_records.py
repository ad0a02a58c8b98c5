"""The records of `__cluster_metadata` as bytes: the value of a record is a frame around a message.

A frame is three unsigned varints, which are the version of the frame, the type of the record and the version of the
message, and then the message. Records have no key. Kafka: `MetadataRecordSerde`.

    value = encode_metadata_record(TopicRecord(name="orders", topic_id=topic_id))
    read_metadata_record(value)  # MetadataRecord(message=TopicRecord(...), version=0)
"""

from typing import Final, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records import metadata_records_schema as schema
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.runtime import encode_unsigned_varint, read_unsigned_varint

FRAME_VERSION: Final = 1
"""Version 0 was that of KRaft's preview in Kafka 2.8, which later releases do not read either."""

METADATA_RECORDS: Final[dict[int, type[Message]]] = {
    each.api_key: each
    for each in vars(schema).values()
    if isinstance(each, type) and issubclass(each, Message) and each is not Message
}
"""The layout of each type of record."""


class MetadataRecord(NamedTuple):
    """What a record says, and the version that it was written in."""

    message: Message
    version: int


def encode_metadata_record(message: Message, version: int | None = None) -> bytes:
    """The value of the record that says `message`, in the newest version if None is given.

    Raises WireError for a value that the version cannot carry.
    """
    if version is None:
        version = type(message).versions.last
    frame = (FRAME_VERSION, message.api_key, version)
    return b"".join(map(encode_unsigned_varint, frame)) + message.encode(version)


def read_metadata_record(value: bytes | None) -> MetadataRecord:
    """What a record says.

    Raises WireError for bytes that cannot be read, and for frames, types and versions of records that Kafka 4.3 does
    not have: a later release wrote them.
    """
    if not value:
        raise WireError("a record of __cluster_metadata has no value")
    frame_version, position = _varint(value, 0, "frame version")
    if frame_version != FRAME_VERSION:
        raise WireError(
            f"a record of __cluster_metadata has frame version {frame_version}; only {FRAME_VERSION} is supported"
        )
    kind, position = _varint(value, position, "type")
    version, position = _varint(value, position, "version")
    layout = METADATA_RECORDS.get(kind)
    if layout is None:
        raise WireError(f"a record of __cluster_metadata has type {kind}, which Kafka 4.3 does not have")
    if not layout.versions.includes(version):
        raise WireError(f"{layout.__name__} has version {version}; only versions {layout.versions} are supported")
    message, end = layout.decode(value, version, position)
    if end != len(value):
        raise WireError(f"{len(value) - end} bytes follow a {layout.__name__}")
    return MetadataRecord(message, version)


def _varint(value: bytes, position: int, what: str) -> tuple[int, int]:
    try:
        return read_unsigned_varint(value, position)
    except IndexError:
        raise WireError(f"a record of __cluster_metadata ends inside its {what}") from None
