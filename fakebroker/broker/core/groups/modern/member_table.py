"""Members in the order in which Kafka's coordinator keeps them (CGA-17).

Kafka: `TimelineHashMap`, `BaseHashTable`.
"""

from typing import TypeVar

from fakebroker.broker.core.java_hash import java_hash

M = TypeVar("M")

_FIRST_SLOTS = 2
_MULTIPLIER = 0x9E3779B97F4A7C15  # spreads the bits of a hash; the upper ones choose the slot


class MemberTable(dict[str, M]):
    """Members by member id, with the order in which assignors get them.

    It is a dict, in order of arrival. Whoever replays a record of a member, of its metadata or of what it has (types 5
    and 8, and their like), must set the member anew by `[]`, as Kafka does: the table may grow each time.
    """

    __slots__ = ("_in_order", "_slots")

    def __init__(self) -> None:
        """A table without members."""
        super().__init__()
        self._slots = _FIRST_SLOTS
        self._in_order: list[str] | None = None

    def __setitem__(self, member_id: str, member: M) -> None:
        slots = self._slots_for_another()
        if slots != self._slots or member_id not in self:
            self._slots = slots
            self._in_order = None
        super().__setitem__(member_id, member)

    def __delitem__(self, member_id: str) -> None:
        super().__delitem__(member_id)
        self._in_order = None

    def in_order(self) -> list[str]:
        """The member ids slot by slot, in a slot the newest first. Do not change the list."""
        if self._in_order is None:
            self._in_order = _by_slot(list(reversed(self)), self._slots)
        return self._in_order

    def in_order_with(self, member_id: str) -> list[str]:
        """The same, as if `member_id` had been added; it may be there already."""
        if member_id in self:
            return self.in_order()
        return _by_slot([member_id, *reversed(self)], self._slots_for_another())

    def _slots_for_another(self) -> int:
        """How many slots there are once a member was set: Kafka does not look first whether it is there already."""
        return self._slots * 2 if (len(self) + 1) * 3 > self._slots * 4 else self._slots


def _by_slot(newest_first: list[str], slots: int) -> list[str]:
    shift = 64 - (slots.bit_length() - 1)
    return sorted(newest_first, key=lambda member_id: _spread(member_id) >> shift)


def _spread(member_id: str) -> int:
    h = java_hash(member_id)
    signed = h - (1 << 32) if h >> 31 else h
    return signed * _MULTIPLIER & 0xFFFFFFFFFFFFFFFF
