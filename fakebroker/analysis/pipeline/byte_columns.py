"""Columns of bytes as numpy sees them: numbers and texts at many positions read at once."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Positions = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# What the longest number that is read takes: so many bytes of zeros stand behind the data, and every position inside of
# the data can be read as any number without a check.
_PADDING = b"\0" * 8


class ByteColumn:
    """The values of one binary Arrow array: where each begins and ends, and the numbers and texts in them."""

    def __init__(self, array: Any) -> None:
        """`array` is a pyarrow BinaryArray; a null is as an empty value here."""
        _, offsets, data = array.buffers()
        count = len(array)
        bounds = np.frombuffer(offsets, np.int32, count + 1, array.offset * 4).astype(np.int64) if count else _NOTHING
        low, high = int(bounds[0]), int(bounds[-1])
        self._bytes = (b"" if data is None else data.slice(low, high - low).to_pybytes()) + _PADDING
        self._data = np.frombuffer(self._bytes, np.uint8)
        self.starts: Positions = bounds[:-1] - low
        self.ends: Positions = bounds[1:] - low
        self.lengths: Positions = self.ends - self.starts

    def int8(self, at: "Positions") -> "NDArray[np.int64]":
        """The unsigned byte at each position."""
        return self._data[at].astype(np.int64)

    def int16(self, at: "Positions") -> "NDArray[np.int64]":
        """The big-endian int16 at each position."""
        return self._numbers(at, ">i2")

    def int32(self, at: "Positions") -> "NDArray[np.int64]":
        """The big-endian int32 at each position."""
        return self._numbers(at, ">i4")

    def int64(self, at: "Positions") -> "NDArray[np.int64]":
        """The big-endian int64 at each position."""
        return self._numbers(at, ">i8")

    def texts(self, starts: "Positions", lengths: "Positions") -> Any:
        """A pyarrow BinaryArray of the bytes at these places, of which each is inside of its own value.

        Between what is wanted stands what is not: together they are an array over the same data, whose every second
        element is copied at once. To pick single bytes takes ten times as long.
        """
        bounds = np.zeros(2 * len(starts) + 1, np.int32)
        bounds[1::2] = np.where(lengths > 0, starts, 0)
        bounds[2::2] = bounds[1::2] + lengths
        np.maximum.accumulate(bounds, out=bounds)  # where there are no bytes the place means nothing
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self._bytes)]
        every = pa.Array.from_buffers(pa.binary(), 2 * len(starts), buffers)
        return every.take(pa.array(np.arange(1, 2 * len(starts), 2)))

    def _numbers(self, at: "Positions", kind: str) -> "NDArray[np.int64]":
        """Numbers are read where they are, which need not be where the machine would align them."""
        size = np.dtype(kind).itemsize
        view: Any = np.ndarray((len(self._bytes) - size + 1,), kind, self._bytes, 0, (1,))
        return np.asarray(view[at], np.int64)


_NOTHING = np.zeros(1, np.int64)


def are_utf8(texts: Any) -> "Flags":
    """Which values of a BinaryArray are valid UTF-8."""
    try:
        texts.cast(pa.string())
    except pa.ArrowInvalid:
        found = texts.dictionary_encode()  # few of them are different
        are_valid = np.fromiter(map(_is_utf8, found.dictionary.to_pylist()), np.bool_, len(found.dictionary))
        valid: Flags = are_valid[found.indices.to_numpy()]
        return valid
    return np.ones(len(texts), np.bool_)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
