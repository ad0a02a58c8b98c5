"""What the views of the object model share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.door import Door

T = TypeVar("T")
WAIT_S = 10.0


class View:
    """What all views share: the way in."""

    def __init__(self, door: "Door") -> None:
        self._door = door

    def _look(self, look: Callable[["Cluster", Instant], T]) -> T:
        """Run `look` on the engine's thread."""
        return self._door.call(lambda: look(self._door.engine.cluster, self._door.engine.now))
