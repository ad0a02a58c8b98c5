"""What a client has sent, cut into the records of TLS before OpenSSL gets it.

Left to itself OpenSSL goes through all records that bring no data in one call, and each may cost as much as a request:
a KeyUpdate of 27 bytes derives two keys and is answered.
"""

_HEADER_BYTES = 5  # type, version, length of the rest


class ArrivedRecords:
    """Records in the order of arrival, from the end of the handshake on."""

    __slots__ = ("_at", "_data", "_missing")

    def __init__(self) -> None:
        self._data = b""
        self._at = 0  # what is before this was taken
        self._missing = 0  # bytes of the record whose beginning was taken

    def add(self, data: bytes) -> None:
        """More bytes have arrived."""
        self._data, self._at = self._data[self._at :] + data, 0

    @property
    def has_next(self) -> bool:
        """Whether `take` has something to give."""
        left_bytes = len(self._data) - self._at
        return left_bytes >= _HEADER_BYTES or (left_bytes > 0 and self._missing > 0)

    @property
    def is_whole(self) -> bool:
        """Whether what was taken last ends a record."""
        return not self._missing

    def take(self) -> bytes:
        """The next record, or as much of it as has arrived; empty if that is less than its header."""
        data, at, missing = self._data, self._at, self._missing
        size = len(data)
        if not missing:
            if size - at < _HEADER_BYTES:
                return b""
            missing = _HEADER_BYTES + (data[at + 3] << 8 | data[at + 4])
        end = at + missing
        if end < size:
            self._at, self._missing = end, 0
            return data[at:end]
        self._data, self._at, self._missing = b"", 0, end - size
        return data[at:]
