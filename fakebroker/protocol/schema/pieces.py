"""The value of a field with records in several pieces: much of it is sent as it is stored, and not copied before."""

from collections.abc import Iterable, Sequence


class Pieces:
    """Bytes in several pieces, in the place of `bytes` in a field of type records.

    Its length is that of all pieces together, as the field's length prefix says it. `encode` joins them; a `piecer`
    leaves them as they are, for `flattened`.
    """

    __slots__ = ("_size_bytes", "parts")

    def __init__(self, parts: Sequence[bytes]) -> None:
        self.parts = parts
        self._size_bytes = sum(map(len, parts))

    def __len__(self) -> int:
        return self._size_bytes


def flattened(pieces: Iterable[bytes | Pieces]) -> list[bytes]:
    """The bytes one by one, in order."""
    return [part for piece in pieces for part in (piece.parts if isinstance(piece, Pieces) else (piece,))]


def whole(data: bytes | Pieces) -> bytes:
    """The bytes of a field in one piece."""
    return b"".join(data.parts) if isinstance(data, Pieces) else data
