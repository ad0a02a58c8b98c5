"""The wire types, and what a declaration says about one field.

A field is annotated with an alias such as `Int32`: mypy and editors see `int`, the code generator sees the
`Primitive` inside. Lists of these are arrays; a `Struct` subclass stands for a nested structure.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from fakebroker.protocol.schema.message import Declaration

ZERO_UUID = bytes(16)

# A version number no API will reach: the end of an open range such as "3+".
_OPEN = 32767


class Primitive(NamedTuple):
    """A wire type without parts. `char` is its struct format, "" when its length varies; `zero` its GEN-2 default."""

    name: str
    char: str
    size: int
    zero: Any


INT8 = Primitive("int8", "b", 1, 0)
INT16 = Primitive("int16", "h", 2, 0)
UINT16 = Primitive("uint16", "H", 2, 0)
INT32 = Primitive("int32", "i", 4, 0)
UINT32 = Primitive("uint32", "I", 4, 0)
INT64 = Primitive("int64", "q", 8, 0)
FLOAT64 = Primitive("float64", "d", 8, 0.0)
BOOL = Primitive("bool", "?", 1, False)
UUID = Primitive("uuid", "16s", 16, ZERO_UUID)
STRING = Primitive("string", "", 0, "")
BYTES = Primitive("bytes", "", 0, b"")
RECORDS = Primitive("records", "", 0, None)

Int8 = Annotated[int, INT8]
Int16 = Annotated[int, INT16]
UInt16 = Annotated[int, UINT16]
Int32 = Annotated[int, INT32]
UInt32 = Annotated[int, UINT32]
Int64 = Annotated[int, INT64]
Float64 = Annotated[float, FLOAT64]
Bool = Annotated[bool, BOOL]
Uuid = Annotated[bytes, UUID]
Str = Annotated[str, STRING]
Bytes = Annotated[bytes, BYTES]
Records = Annotated[bytes, RECORDS]


class ArrayOf(NamedTuple):
    """An array; `element` is a primitive, or the `Struct` or `Row` class of its entries."""

    element: "Primitive | type[Declaration]"


class Versions(NamedTuple):
    """A closed range of versions. Empty when `last` is less than `first`."""

    first: int
    last: int

    def includes(self, version: int) -> bool:
        """Whether the version lies in the range."""
        return self.first <= version <= self.last

    def __str__(self) -> str:
        if self.last < self.first:
            return "none"
        if self.last == _OPEN:
            return f"{self.first}+"
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"


NO_VERSIONS = Versions(0, -1)


@cache
def parse_versions(text: str) -> Versions:
    """Reads Kafka's notation: "0+", "1-3", "2", "none". Raises ValueError."""
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return Versions(int(text[:-1]), _OPEN)
    first, _, last = text.partition("-")
    return Versions(int(first), int(last or first))


class FieldSpan(NamedTuple):
    """Where in the bytes of a message the value of a varying field stands.

    `char` is its struct format, with the size for bytes: "q", "100s". `length` says how the length of bytes is written,
    which ends where they begin: FIXED_LENGTH as an int32, COMPACT_LENGTH as a varint of one more (KIP-482); in front
    of a number there is none.
    """

    position: int
    char: str
    length: str = ""


FIXED_LENGTH, COMPACT_LENGTH = "int32", "compact"


Entity = Literal[
    # Kafka's own words, in its message files.
    "brokerId",
    "groupId",
    "producerId",
    "topicName",
    "transactionalId",
    # Ours, for what the message files leave unsaid.
    "assignment",
    "clusterId",
    "committedMetadata",
    "configName",
    "configResource",
    "configResourceType",
    "configValue",
    "coordinatorKey",
    "coordinatorKeyType",
    "errorCode",
    "generationId",
    "groupInstanceId",
    "host",
    "leaderEpoch",
    "memberId",
    "partitionIndex",
    "port",
    "producerEpoch",
    "secret",
    "sessionId",
    "subscription",
    "timestamp",
    "topicId",
    "userName",
]
"""What a field's value, or each value of a list, means. Kafka's `entityType`, and words of ours.

`assignment` and `subscription` are the bytes of a member; a protocol's metadata is a subscription. `committedMetadata`
is the text that a user keeps beside an offset. `configResource` is the name of a topic, group or broker with settings,
`configResourceType` says which of them; `configName` and `configValue` are a setting. `coordinatorKey` is the id of a
group, a transaction or a share partition, `coordinatorKeyType` says of which. `errorCode` is the outcome of the message
or of an entry: not the codes beside it, such as that of a topic's settings. `generationId` is also a member epoch where
one field has both; `sessionId` is a fetch session. `host` and `port` are where something listens. `partitionIndex` is a
partition of a topic; tasks of Streams have numbers of their own. `secret` is never shown: passwords, keys, tokens, what
a client says to log in. `timestamp` is a time of day in ms since 1970; negative ones have meanings of their own.
"""


class FieldSpec(NamedTuple):
    """All facts of one declared field.

    `default` is the value of a field that a version lacks: for arrays `()` or None, for structs `()` (all their
    defaults) or None. `flexible` is False where the field keeps the old encoding in flexible versions (GEN-6). `varies`
    is True where the field has another value in each message of a row of like ones (`Message.locator`). `entity` says
    what the value means, None for what no reader of messages looks for.
    """

    name: str
    kafka_name: str
    versions: Versions
    type: "Primitive | ArrayOf | type[Declaration]"
    nullable: Versions
    default: Any
    tag: int | None
    ignorable: bool
    flexible: bool
    map_key: bool
    varies: bool = False
    entity: Entity | None = None

    def is_tagged(self, version: int) -> bool:
        """Whether the version carries the field in its tagged section."""
        return self.tag is not None and self.versions.includes(version)

    def is_plain(self, version: int) -> bool:
        """Whether the version carries the field at its place in the wire order."""
        return self.tag is None and self.versions.includes(version)

    @property
    def is_mutable(self) -> bool:
        """Whether every instance needs a default of its own (a fresh list or a fresh struct)."""
        return self.default == () and not isinstance(self.type, Primitive)

    def fresh_default(self) -> Any:
        """The default, as a value of its own."""
        if not self.is_mutable:
            return self.default
        if isinstance(self.type, ArrayOf):
            return []
        make: Callable[[], Any] = self.type  # type: ignore[assignment]
        return make()
