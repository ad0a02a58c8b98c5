"""The requests that the clients of a broker send, counted as faults count them: as they arrive."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakebroker.testing.sweeps.cases import RequestSeen
from fakebroker.testing.sweeps.membership import members_of

if TYPE_CHECKING:
    from fakebroker.broker.engine.faults.incoming import IncomingRequest
    from fakebroker.testing.handles.broker_control import BrokerControl


class Recorder:
    """Listens to one broker. The journal would not do: its ring forgets, and it has requests as they are answered."""

    def __init__(self, broker: "BrokerControl", apis: Sequence[str]) -> None:
        """Record the requests of these APIs from now on."""
        self.seen: list[RequestSeen] = []
        self._broker = broker
        self._apis = apis
        self._counts: dict[tuple[str, str], int] = {}
        self._previous: dict[str, str] = {}
        broker.fault(when=self._see, run=_Observation())

    def _see(self, request: "IncomingRequest") -> bool:
        """Called on the broker's thread for each request. It is never hit."""
        if request.api not in self._apis:
            return False
        client_id = request.client_id or ""
        nth = self._counts.get((client_id, request.api), 0) + 1
        self._counts[client_id, request.api] = nth
        is_member = any(True for _ in members_of(self._broker, client_id))
        self.seen.append(RequestSeen(request.api, client_id, nth, self._previous.get(client_id, ""), is_member))
        self._previous[client_id] = f"{request.api} #{nth}"
        return False


class _Observation:
    """What would be done to a request that is hit: none is. Stories leave out a fault that only observes."""

    is_observation = True

    def __call__(self, _request: "IncomingRequest") -> None:
        """Do nothing."""
