"""Records of `__share_group_state` that are values until the log is read or measured, and become bytes then."""

from fakebroker.broker.core.logs.pending_batches import Pair
from fakebroker.protocol.records.share_state_log import ShareStateEntry, share_state_key, share_state_value

# What values take in CPython 3.11, measured: they need to be right on the average only, and the same everywhere.
_WRITE_BYTES = 900
_STATE_BATCH_BYTES = 200


class ShareStateRecord:
    """The record of one share partition. Every record stays in the log: the topic is not compacted (SGB-4)."""

    __slots__ = ("entry",)

    def __init__(self, entry: ShareStateEntry) -> None:
        self.entry = entry

    def __len__(self) -> int:
        return 1

    def records(self) -> list[Pair]:
        """Key and value as bytes."""
        return [(share_state_key(self.entry), share_state_value(self.entry))]

    def memory_bytes(self) -> int:
        """Roughly the memory that the write takes."""
        value = self.entry.value
        return _WRITE_BYTES + (0 if value is None else _STATE_BATCH_BYTES * len(value.state_batches))

    def all_overwritten(self) -> bool:
        """Never: later records complete this one, they do not replace it."""
        return False
