"""Names and payloads that cannot be recognised, the same for the same secret: by HMAC-SHA-256."""

from hashlib import sha256
from hmac import digest
from typing import Final

from fakebroker.protocol.records.batch import parse_header, read_records
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.rewrite import rebuild
from fakebroker.testing.clone.options import CloneOptions

_NAME_BYTES: Final = 6
SHORTEST_KEY_BYTES: Final = 16
"""Shorter keys become this long, so that two of them do not become one."""


class Disguise:
    """Gives names and batches as they are in the clone: unchanged, unless the options say otherwise."""

    def __init__(self, options: CloneOptions) -> None:
        self._options = options

    @property
    def is_anonymous(self) -> bool:
        """Whether names are replaced."""
        return self._options.anonymise

    def topic(self, name: str) -> str:
        """The name of a topic."""
        return self._name("topic", name)

    def group(self, group_id: str) -> str:
        """The id of a group."""
        return self._name("group", group_id)

    def metadata(self, text: str) -> str:
        """The text that a consumer has committed beside an offset."""
        return "" if self.is_anonymous else text

    def batch(self, batch: bytes) -> bytes:
        """A batch of format 2: without payloads, if they are left out."""
        if not self._options.without_payloads:
            return batch
        header = parse_header(batch)
        if header.is_control:
            return batch
        return rebuild(header, [self._record(record) for record in read_records(batch)])

    def _record(self, record: Record) -> Record:
        """The record with a hashed key, and with zeros in place of value and values of headers. Sizes stay."""
        key = None if record.key is None else self._key(record.key)
        headers = [(name, _zeros(value)) for name, value in record.headers]
        return Record(record.offset, record.timestamp_ms, key, _zeros(record.value), headers)

    def _key(self, key: bytes) -> bytes:
        """A hash as long as the key, but at least SHORTEST_KEY_BYTES."""
        size_bytes = max(len(key), SHORTEST_KEY_BYTES)
        hashed = self._hash(b"key", key)
        return hashed[:size_bytes].ljust(size_bytes, b"\0")

    def _name(self, kind: str, name: str) -> str:
        if not self.is_anonymous:
            return name
        return f"{kind}-{self._hash(kind.encode(), name.encode())[:_NAME_BYTES].hex()}"

    def _hash(self, kind: bytes, data: bytes) -> bytes:
        return digest(self._options.secret, kind + b"\0" + data, sha256)


def _zeros(value: bytes | None) -> bytes | None:
    return None if value is None else bytes(len(value))
