"""The checkpoint files of a log directory: lines of text. Kafka: `OffsetCheckpointFile`, `LeaderEpochCheckpointFile`.

The first line is the version, 0, the second the number of entries, the others are the entries, their fields divided by
spaces. An empty file has no entries.
"""

from collections.abc import Iterable, Mapping

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.storage.names import PartitionFolder

_VERSION = "0"


def encode_offsets(offsets: Mapping[PartitionFolder, int]) -> bytes:
    """The content of a checkpoint of offsets by partition."""
    return _encode([f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


def decode_offsets(content: bytes, what: str) -> dict[PartitionFolder, int]:
    """Offsets by partition; `what` names the file in errors. Raises WireError."""
    offsets: dict[PartitionFolder, int] = {}
    for line in _decode(content, what):
        topic, partition, offset = _fields(line, 3, what)
        offsets[PartitionFolder(topic, _number(partition, line, what))] = _number(offset, line, what)
    return offsets


def encode_leader_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """The content of a checkpoint of leader epochs: (epoch, start offset), oldest first."""
    return _encode([f"{epoch} {offset}" for epoch, offset in entries])


def decode_leader_epochs(content: bytes, what: str) -> list[tuple[int, int]]:
    """(epoch, start offset), oldest first; `what` names the file in errors. Raises WireError."""
    found = []
    for line in _decode(content, what):
        epoch, offset = _fields(line, 2, what)
        found.append((_number(epoch, line, what), _number(offset, line, what)))
    return found


def _encode(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in (_VERSION, str(len(lines)), *lines)).encode()


def _decode(content: bytes, what: str) -> list[str]:
    if not content:
        return []
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        raise WireError(f"{what} is damaged: it is not text") from None
    if lines[0] != _VERSION:
        raise WireError(f"{what} has version {lines[0]!r:.60}; only version {_VERSION} is read")
    if len(lines) == 1:
        raise WireError(f"{what} is cut off: it does not name the number of its entries")
    count = _number(lines[1], lines[1], what)
    if count != len(lines) - 2:
        raise WireError(f"{what} is cut off: it has {len(lines) - 2} entries, but names {count}")
    return lines[2:]


def _fields(line: str, count: int, what: str) -> list[str]:
    fields = line.split()
    if len(fields) != count:
        raise WireError(f"{what} is damaged: the line {line!r:.60} has {len(fields)} fields instead of {count}")
    return fields


def _number(text: str, line: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise WireError(f"{what} is damaged: {text!r:.60} in the line {line!r:.60} is not a number") from None
