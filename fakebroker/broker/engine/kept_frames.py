"""What the journal keeps of the bytes of requests and answers."""

from typing import Final

BIG_BYTES: Final = 8 * 1024
KEPT_OF_BIG_BYTES: Final = 512


class Frame:
    """The kept part of a frame (without length prefix) that was too large to keep whole.

    `size_bytes` is the size of the whole frame. There is no `len`: nobody can take it for that of the kept part.
    """

    __slots__ = ("kept", "size_bytes")

    def __init__(self, kept: bytes, size_bytes: int) -> None:
        self.kept = kept
        self.size_bytes = size_bytes

    @classmethod
    def of(cls, pieces: list[bytes], size_bytes: int) -> "Frame":
        """The frame that these pieces make."""
        kept = b""
        for piece in pieces:
            kept += piece[: KEPT_OF_BIG_BYTES - len(kept)]
            if len(kept) == KEPT_OF_BIG_BYTES:
                break
        return cls(kept, size_bytes)


FrameBytes = bytes | Frame


def cut(frame: FrameBytes) -> FrameBytes:
    """What is kept of a frame."""
    if isinstance(frame, Frame) or len(frame) <= BIG_BYTES:
        return frame
    return Frame(frame[:KEPT_OF_BIG_BYTES], len(frame))


def kept_of(frame: FrameBytes) -> bytes:
    """The bytes that are kept of a frame."""
    return frame.kept if isinstance(frame, Frame) else frame
