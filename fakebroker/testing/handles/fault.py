"""A fault as a test sees it: how often it hit, waiting for that, removing it."""

from typing import TYPE_CHECKING, Any

from fakebroker.broker.engine.faults.incoming import IncomingRequest
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.arguments.types import CountFrom1, TimeoutS
from fakebroker.testing.handles.handle import WAIT_S, EndsWithBlock, Handle

if TYPE_CHECKING:
    from fakebroker.broker.engine.faults.fault import Fault
    from fakebroker.testing.handles.access import EngineAccess

__all__ = ["FaultHandle", "FaultSpec", "IncomingRequest"]


class FaultHandle(Handle, EndsWithBlock):
    """A fault that was set. It is removed by `remove`, at the end of a `with`, by `clear_faults` and by `reset`.

    Its counts remain readable.
    """

    def __init__(self, access: "EngineAccess", fault: "Fault") -> None:
        super().__init__(access)
        self._fault = fault

    def __repr__(self) -> str:
        return f"<{self._fault}, {self._fault.hits} hits{', exhausted' if self._fault.is_exhausted else ''}>"

    def _end_block(self) -> None:
        self.remove()

    @property
    def fault_id(self) -> int:
        """Its number: faults of a broker are numbered from 1, including removed ones."""
        return self._fault.fault_id

    @property
    def description(self) -> str:
        """Its requests and its effect, on one line."""
        return str(self._fault.spec)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields with which it was declared; functions by their names."""
        given = self._fault.spec.given()
        return {name: getattr(value, "__name__", value) if callable(value) else value for name, value in given.items()}

    @property
    def hits(self) -> int:
        """The number of requests it hit."""
        return self._access._call(lambda: self._fault.hits)

    @property
    def matched(self) -> int:
        """The number of requests that matched, on which `nth` and `every` are based."""
        return self._access._call(lambda: self._fault.matched)

    @property
    def is_set(self) -> bool:
        """Whether it was not removed. It may still be exhausted."""
        return self._access._call(lambda: self._fault in self._access._engine.faults)

    @property
    def is_exhausted(self) -> bool:
        """Whether it can hit no further request: `times` is used up, or the `nth` request has passed."""
        return self._access._call(lambda: self._fault.is_exhausted)

    def wait(self, hits: CountFrom1 = 1, timeout_s: TimeoutS = WAIT_S) -> Any:
        """Wait until it has hit this many requests; returns its hits. Raises WaitTimeout."""

        def probe() -> int | None:
            return self._fault.hits if self._fault.hits >= hits else None

        def failure() -> str:
            seen = f"it has {self._fault.hits}, and {self._fault.matched} requests matched"
            return f"waited {timeout_s:g} s for {hits} hits of {self._fault}: {seen}"

        return self._access.wait(probe, timeout_s, failure)

    def remove(self) -> None:
        """Remove it; does nothing if it was removed. Requests already hit are not affected."""
        self._access._call(lambda: self._access._engine.faults.remove(self._fault))
