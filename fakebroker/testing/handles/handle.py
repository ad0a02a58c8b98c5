"""What the handles of the object model share."""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from fakebroker.protocol.instant import Instant
from fakebroker.protocol.short_errors import ShortErrors

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster
    from fakebroker.testing.handles.access import EngineAccess

T = TypeVar("T")
WAIT_S = 10.0


class Handle(ShortErrors):
    """A handle reaches the engine through its `EngineAccess`, and keeps nothing else of the broker."""

    _has_powers = True

    def __init__(self, access: "EngineAccess") -> None:
        self._access = access

    def _with_cluster(self, function: Callable[["Cluster", Instant], T]) -> T:
        """Run `function(cluster, now)` on the engine's thread; returns what it returns and raises what it raises."""
        return self._access._call(lambda: function(self._access._engine.cluster, self._access._engine.now))

    def _shown_entries(self) -> int:
        """About how many entries the lists and tables have that it is shown with."""
        return 1


class EndsWithBlock(ShortErrors):
    """Something that a test sets, and that ends at the end of a `with` block: `_end_block` is called there."""

    def _end_block(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_block()
