"""Let a case happen in a broker: one fault at one request."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakebroker.testing.sweeps.cases import Case
from fakebroker.testing.sweeps.membership import expire_sessions, start_rebalance
from fakebroker.testing.sweeps.plausible import PAUSE, REBALANCE

if TYPE_CHECKING:
    from fakebroker.broker.engine.faults.incoming import IncomingRequest
    from fakebroker.testing.handles.broker_control import BrokerControl

_WILDCARDS = "*?["
_DISTURBANCES = {REBALANCE: start_rebalance, PAUSE: expire_sessions}


class Injection:
    """A case that is set in a broker, before its clients come."""

    def __init__(self, broker: "BrokerControl", case: Case) -> None:
        self.case = case
        fields: dict[str, Any] = dict(case.fault.fields)
        if case.client_id is not None:
            is_plain = case.client_id and not any(sign in case.client_id for sign in _WILDCARDS)
            fields |= {"client_id": case.client_id} if is_plain else {"when": self._is_of_client}
        if case.fault.disturbs:
            fields["run"] = _disturbance(broker, case.fault.disturbs)
        self._fault = broker.fault(api=case.api, nth=case.nth, **fields)

    @property
    def was_reached(self) -> bool:
        """Whether the request came."""
        return bool(self._fault.hits)

    def _is_of_client(self, request: "IncomingRequest") -> bool:
        return (request.client_id or "") == self.case.client_id


def _disturbance(broker: "BrokerControl", name: str) -> "Callable[[IncomingRequest], None]":
    """What a fault runs at the request; the broker's story calls it by its name."""

    def disturb(request: "IncomingRequest") -> None:
        _DISTURBANCES[name](broker, request.client_id or "")

    disturb.__name__ = name
    return disturb
