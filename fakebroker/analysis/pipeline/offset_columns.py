"""Keys and values of committed offsets, decoded by columns (CR-3, CR-4).

Only what stands exactly as Kafka writes it is decoded here: `is_plain` says which rows those are. All others, wrong or
merely unusual, are for the decoder of single records, `fakebroker.analysis.history.decode`, so that there is one judge
of them.
"""

import base64
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fakebroker.analysis.pipeline.byte_columns import ByteColumn, are_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fakebroker.analysis.pipeline.byte_columns import Flags, Positions

MAX_STRING_BYTES: Final = 32767
NEWEST_VALUE: Final = 4
_KEY_BYTES: Final = 10  # all of a key but its two texts
_UUID_BYTES: Final = 16
_ID_TAG: Final = (1, 0, _UUID_BYTES)  # one tagged field: tag 0, of so many bytes
_NO_ID: Final = b"\0" * _UUID_BYTES


class KeyColumns(NamedTuple):
    """Keys of committed offsets. Where `is_plain` is false the rest of the row means nothing."""

    is_plain: "Flags"
    group_id: Any  # pyarrow BinaryArray of UTF-8
    topic: Any
    partition: "NDArray[np.int64]"


class ValueColumns(NamedTuple):
    """Values of committed offsets. Where `is_plain` is false the rest of the row means nothing. Times are in ms."""

    is_plain: "Flags"
    offset: "NDArray[np.int64]"
    leader_epoch: "NDArray[np.int64]"
    metadata: Any  # pyarrow BinaryArray of UTF-8
    commit_ms: "NDArray[np.int64]"
    expire_ms: "NDArray[np.int64]"
    topic_id: Any  # pyarrow StringArray, null without one


def decode_keys(keys: Any) -> KeyColumns:
    """Decode an Arrow array of keys. Those of other types are not plain."""
    column = ByteColumn(keys)
    start, length = column.starts, column.lengths
    record_type = np.where(length >= 2, column.int16(start), -1)
    is_plain = (length >= _KEY_BYTES) & (record_type >= 0) & (record_type <= 1)
    group_bytes = np.where(is_plain, column.int16(_inside(start + 2, is_plain)), 0)
    is_plain &= (group_bytes >= 0) & (length >= _KEY_BYTES + group_bytes)
    topic_at = _inside(start + 4 + group_bytes, is_plain)
    topic_bytes = np.where(is_plain, column.int16(topic_at), 0)
    is_plain &= (topic_bytes >= 0) & (length == _KEY_BYTES + group_bytes + topic_bytes)
    group_id = column.texts(start + 4, np.where(is_plain, group_bytes, 0))
    topic = column.texts(topic_at + 2, np.where(is_plain, topic_bytes, 0))
    partition = column.int32(_inside(topic_at + 2 + topic_bytes, is_plain))
    return KeyColumns(is_plain & are_utf8(group_id) & are_utf8(topic), group_id, topic, partition)


def decode_values(values: Any) -> ValueColumns:
    """Decode an Arrow array of values of committed offsets. A null is not plain."""
    column = ByteColumn(values)
    start, length = column.starts, column.lengths
    version = np.where(length >= 2, column.int16(start), -1)
    is_plain = (version >= 0) & (version <= NEWEST_VALUE) & (length >= 20 + 4 * (version >= 3))
    is_compact = version == NEWEST_VALUE
    text_at = start + np.where(version >= 3, 14, 10)  # behind version, offset and, since v3, the leader epoch
    length_bytes, text_bytes = _text_lengths(column, _inside(text_at, is_plain), is_compact)
    is_plain &= (text_bytes >= 0) & (text_bytes <= MAX_STRING_BYTES)
    text_bytes = np.where(is_plain, text_bytes, 0)
    commit_at = text_at + length_bytes + text_bytes
    rest = column.ends - commit_at - 8  # behind the commit timestamp
    is_plain &= (rest >= 0) & (rest == np.where(version == 1, 8, rest * is_compact))
    id_at, is_plain = _topic_ids(column, _inside(commit_at + 8, is_plain), rest, is_compact, is_plain)
    metadata = column.texts(text_at + length_bytes, np.where(is_plain, text_bytes, 0))
    is_plain &= are_utf8(metadata)
    commit_at = _inside(commit_at, is_plain)
    return ValueColumns(
        is_plain,
        column.int64(_inside(start + 2, is_plain)),
        np.where(version >= 3, column.int32(_inside(start + 10, is_plain)), -1),
        metadata,
        column.int64(commit_at),
        np.where(version == 1, column.int64(_inside(commit_at + 8, is_plain & (version == 1))), -1),
        _id_texts(column, id_at),
    )


def _inside(at: "Positions", wanted: "Flags") -> "Positions":
    """The positions of the rows that are wanted, 0 for the others, which may be anywhere."""
    return np.where(wanted, at, 0)


def _text_lengths(column: ByteColumn, at: "Positions", is_compact: "Flags") -> "tuple[Positions, Positions]":
    """How many bytes the length of a text takes, and the length.

    Compact lengths of three bytes are of texts beyond 16 KiB and given as -1: not for here.
    """
    if not is_compact.any():
        return np.full(len(at), 2), column.int16(at)
    first, second = column.int8(at), column.int8(at + 1)
    is_short = first < 128
    compact = np.where(is_short, first, np.where(second < 128, first & 127 | second << 7, 0)) - 1
    is_padded = ~is_short & (second == 0)  # a length in more bytes than it needs
    compact = np.where(is_padded, -1, compact)
    length_bytes = np.where(is_compact & is_short, 1, 2)
    return length_bytes, np.where(is_compact, compact, column.int16(at))


def _topic_ids(
    column: ByteColumn, at: "Positions", rest: "Positions", is_compact: "Flags", is_plain: "Flags"
) -> "tuple[Positions, Flags]":
    """Where the topic ids are, -1 where there is none; and which rows end with a plain tagged section, or none."""
    if not is_compact.any():
        return np.full(len(at), -1), is_plain
    is_empty = (rest == 1) & (column.int8(at) == 0)
    has_id = is_compact & is_plain & (rest == len(_ID_TAG) + _UUID_BYTES)
    at = _inside(at, has_id)
    for position, byte in enumerate(_ID_TAG):
        has_id &= column.int8(at + position) == byte
    return np.where(has_id, at + len(_ID_TAG), -1), is_plain & (~is_compact | is_empty | has_id)


def _id_texts(column: ByteColumn, at: "Positions") -> Any:
    """Topic ids as Kafka writes them, in URL-safe base 64; there are few different ones."""
    has_id = at >= 0
    if not has_id.any():
        return pa.nulls(len(at), pa.string())
    found = column.texts(np.where(has_id, at, 0), np.where(has_id, _UUID_BYTES, 0)).dictionary_encode()
    texts = pa.array([_id_text(each) for each in found.dictionary.to_pylist()], pa.string())
    return texts.take(found.indices)


def _id_text(topic_id: bytes) -> str | None:
    return None if topic_id in (b"", _NO_ID) else base64.urlsafe_b64encode(topic_id).decode().rstrip("=")
