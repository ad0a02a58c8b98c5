"""Works that hold much memory: only so many of them are under way at a time, and others wait."""

from collections import OrderedDict
from collections.abc import Callable

from fakebroker.protocol.instant import Instant

Begin = Callable[[Instant], None]


class FewAtATime:
    """Has so many places. Who finds none waits, first come first served, and is begun in a turn of its own."""

    def __init__(self, most: int, put_off: Callable[[Begin], None]) -> None:
        """`put_off` lets something be done in one of the next turns."""
        self._most = most
        self._put_off = put_off
        self._holders = set[object]()
        self._waiting = OrderedDict[object, Begin]()

    def enter(self, who: object, begin: Begin) -> bool:
        """Whether `who` has a place now. If not, it gets one later, and `begin` is called then."""
        if len(self._holders) < self._most:
            self._holders.add(who)
            return True
        self._waiting[who] = begin
        return False

    def leave(self, who: object) -> None:
        """It needs no place, or none any more."""
        if self._waiting.pop(who, None) is None and who in self._holders:
            self._holders.remove(who)
            if self._waiting:
                following, begin = self._waiting.popitem(last=False)
                self._holders.add(following)
                self._put_off(begin)
