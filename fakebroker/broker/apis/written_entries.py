"""How long the entries of an answer take to be written: they may be few, and repeated, and have long texts."""

from typing import TYPE_CHECKING, Any

from fakebroker.protocol.schema.sizes import size_of

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.protocol.schema.message import Declaration

BYTES_PER_STEP = 256 << 10


class WrittenEntries:
    """Counts the bytes of entries of an answer.

    What a request names again is described once, and written each time: a request of 0.5 KB names a group 250 times
    that takes 1 MB. An answer whose handler never pauses is written in one turn.
    """

    def __init__(self, call: "Call") -> None:
        self._pace = call.pace(BYTES_PER_STEP)
        self._sizes: dict[int, int] = {}  # by identity, as it is one entry: the answer keeps it

    def is_over(self, entry: "Declaration | Any") -> bool:
        """Note that the answer has this entry once more. True when those are more than a step: the caller yields."""
        size_bytes = self._sizes.get(id(entry))
        if size_bytes is None:
            size_bytes = self._sizes[id(entry)] = size_of(type(entry), entry, BYTES_PER_STEP)
        return self._pace.is_over(size_bytes)
