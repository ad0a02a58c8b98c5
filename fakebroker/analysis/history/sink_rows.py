"""What sinks write for a record: the names and forms of key, value, topic, partition, offset and timestamp.

JSON lines and Parquet have rows of the same columns. Which name a column has, and how bytes are written, is found out
for each file by its first row. docs/how-to/history.md lists both.
"""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from fakebroker.analysis.history.log_record import LogFile, LogRecord
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "key": ("key", "record_key", "kafka_key", "_key", "__key"),
    "value": ("value", "payload", "record_value", "kafka_value", "_value", "__value"),
    "topic": ("topic", "kafka_topic", "_topic", "__topic"),
    "partition": ("partition", "kafka_partition", "_partition", "__partition", "log_partition"),
    "offset": ("offset", "kafka_offset", "_offset", "__offset", "log_offset"),
    "timestamp": ("timestamp", "ts", "kafka_timestamp", "_timestamp", "__timestamp", "record_timestamp", "at_ms"),
}
"""The names that a column may have, the usual one first."""

TOPIC: Final = "__consumer_offsets"

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_INT64: Final = 2**63
_INT32: Final = 2**31
_MAX_DIGITS: Final = 20  # as in the names of segments; more are no offset


class BadRow(FakebrokerError):
    """A row of a sink that is no record of `__consumer_offsets`. The message says why."""


class Shape(NamedTuple):
    """How a file writes records.

    Attributes:
        names: The column of the file by what it is: "key", "value", "topic", "partition", "offset", "timestamp". The
            partition may be missing if the file's folder tells it; value, topic and timestamp may be missing, too.
        text: How bytes are written as text: "hex" or "base64"; None as long as no key has shown it.
    """

    names: dict[str, str]
    text: str | None = None

    def of(self, row: Mapping[str, Any], what: str) -> Any:
        """What a row has as its "key", "value" and so on, out of Connect's envelope; None if it has no such column."""
        name = self.names.get(what)
        return None if name is None else unwrapped(row.get(name))

    def with_text_of(self, row: Mapping[str, Any]) -> "Shape":
        """The shape with the form of bytes that the key of this row has, which is that of all. Raises BadRow.

        Every key begins with a byte 0: two zeros in hexadecimal, an A in base64.
        """
        text = self.of(row, "key")
        if self.text is not None or not isinstance(text, str) or not text:
            return self
        if text.startswith(("00", "0x00")):
            return self._replace(text="hex")
        if text.startswith("A"):
            return self._replace(text="base64")
        raise BadRow("the key is neither hexadecimal nor base64 of a key of __consumer_offsets")


def shape_of(columns: Mapping[str, Any] | list[str], *, has_partition: bool) -> Shape:
    """The shape of a file whose rows have these columns; `has_partition` if its folder tells the partition.

    Raises BadRow when there is no key, offset or partition among them.
    """
    names = {what: found for what, known in NAMES.items() if (found := next((n for n in known if n in columns), None))}
    needed = ["key", "offset"] if has_partition else ["key", "offset", "partition"]
    if missing := [what for what in needed if what not in names]:
        there = ", ".join(map(str, columns)).encode("utf-8", "replace").decode() or "none"
        raise BadRow(f"there is no column for {' and '.join(missing)}; the columns are {there}"[:300])
    return Shape(names)


def record_of(row: Mapping[str, Any], shape: Shape, file: LogFile, position: int) -> LogRecord:
    """The record in a row of a sink: a line or row of a file, counted from 1. Raises BadRow."""
    _check_topic(shape.of(row, "topic"))
    log_partition = file.log_partition
    if "partition" in shape.names:
        log_partition = _number(shape.of(row, "partition"), "partition", _INT32)
    assert log_partition is not None, "shape_of has checked it"
    return LogRecord(
        *(file.source, str(file.path), position, log_partition),
        _number(shape.of(row, "offset"), "offset", _INT64),
        _time_ms(shape.of(row, "timestamp")),
        _bytes(shape.of(row, "key"), "key", shape.text),
        _bytes(shape.of(row, "value"), "value", shape.text),
    )


def unwrapped(value: Any) -> Any:
    """What is in Kafka Connect's envelope {"schema": ..., "payload": ...}; anything else as it is."""
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        return value["payload"]
    return value


def _check_topic(topic: Any) -> None:
    """A record of another topic is none of ours; a mirror's topic may have a prefix, as `west.__consumer_offsets`."""
    if topic is not None and not (isinstance(topic, str) and topic.endswith(TOPIC)):
        raise BadRow(f"the record belongs to topic {str(topic)[:100]!r}, not to {TOPIC}")


def _number(value: Any, what: str, limit: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < limit:
        raise BadRow(f"the {what} is {str(value)[:100]!r}, not a number of at least 0")
    return value


def _time_ms(value: Any) -> int | None:
    """A timestamp in ms: a number of ms, or a time in ISO 8601 (in UTC if it names no zone). None and -1 are none."""
    if isinstance(value, str):
        try:
            value = int(value) if value.lstrip("-").isdigit() else _iso_ms(value)
        except ValueError:
            raise BadRow(f"the timestamp {value[:100]!r} is neither a number of ms nor a time in ISO 8601") from None
    if value is None or value == NO_TIMESTAMP:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not -_INT64 <= value < _INT64:
        raise BadRow(f"the timestamp is {str(value)[:100]!r}, not a number of ms")
    return value


def _iso_ms(text: str) -> int:
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def _bytes(value: Any, what: str, text: str | None) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise BadRow(f"the {what} is {str(value)[:100]!r}, not bytes as hexadecimal or base64")
    if text == "hex":
        digits = value.removeprefix("0x")
        if not _HEX.fullmatch(digits):
            raise BadRow(f"the {what} is not hexadecimal, unlike those of earlier rows")
        return bytes.fromhex(digits)
    try:
        return b64decode(value.translate(_URL_SAFE) + "=" * (-len(value) % 4), validate=True)
    except (Base64Error, ValueError):
        raise BadRow(f"the {what} is not base64") from None


_URL_SAFE: Final = str.maketrans("-_", "+/")
