"""What can plausibly go wrong with a request, API by API: the one table of the faults that a sweep tries."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from fakebroker.protocol.errors import ErrorCode, InvalidArgument, nearest
from fakebroker.protocol.wire.registry import APIS, no_api


class PlausibleFault(NamedTuple):
    """A fault that a sweep knows. `happens` says it about {request}, which {client} sends after {previous}.

    `fields` are those of `broker.fault(...)`. `disturbs` is what happens to the client's groups before the request is
    applied: "rebalance", "pause" or nothing.
    """

    name: str
    happens: str
    fields: Mapping[str, str] = MappingProxyType({})
    disturbs: str = ""


LOST_ANSWER, DISCONNECT, DROP_ANSWER = "lost-answer", "disconnect", "drop-answer"
REBALANCE, PAUSE = "rebalance", "pause"
NOT_COORDINATOR, LOADING = "not-coordinator", "coordinator-load-in-progress"
NOT_LEADER, TIMED_OUT = "not-leader-or-follower", "request-timed-out"

FAULTS = {
    fault.name: fault
    for fault in (
        # A client that loses an answer sees its connection end: at once, or after its own request timeout.
        PlausibleFault(LOST_ANSWER, "the answer to {request} is lost after it was applied",
                       {"action": "disconnect", "after": "applied"}),
        PlausibleFault(DROP_ANSWER, "{request} is applied and never answered, and the connection stays open",
                       {"action": "drop-answer", "after": "applied"}),
        PlausibleFault(DISCONNECT, "the connection is closed at {request}, before it is applied",
                       {"action": "disconnect", "after": "received"}),
        PlausibleFault(REBALANCE, "a rebalance between {previous} and {request}", disturbs=REBALANCE),
        PlausibleFault(PAUSE, "{client} is paused beyond its session timeout between {previous} and {request}",
                       disturbs=PAUSE),
        # After min.insync.replicas could not be reached in time; the leader has appended the records (acks=all).
        PlausibleFault(TIMED_OUT, "{request} is applied and answered with REQUEST_TIMED_OUT",
                       {"error": "REQUEST_TIMED_OUT", "after": "applied"}),
    )
}  # fmt: skip

_CHANGE = (LOST_ANSWER, DISCONNECT)
PLAUSIBLE: dict[str, tuple[str, ...]] = {
    "Produce": (*_CHANGE, NOT_LEADER, TIMED_OUT),
    "Fetch": (DISCONNECT, NOT_LEADER, REBALANCE, PAUSE),
    "OffsetCommit": (*_CHANGE, NOT_COORDINATOR, LOADING, REBALANCE, PAUSE),
    "OffsetFetch": (DISCONNECT, NOT_COORDINATOR, LOADING),
    "JoinGroup": (*_CHANGE, NOT_COORDINATOR, LOADING),
    "SyncGroup": (*_CHANGE, NOT_COORDINATOR, REBALANCE),
    "LeaveGroup": (*_CHANGE, NOT_COORDINATOR),
    "InitProducerId": _CHANGE,
    "CreateTopics": _CHANGE,
    "DeleteTopics": _CHANGE,
    "CreatePartitions": _CHANGE,
    "AlterConfigs": _CHANGE,
    "IncrementalAlterConfigs": _CHANGE,
    "DeleteRecords": (*_CHANGE, NOT_LEADER),
    "DeleteGroups": (*_CHANGE, NOT_COORDINATOR),
    "OffsetDelete": (*_CHANGE, NOT_COORDINATOR),
    # Swept only when they are asked for: nothing depends on them but when the client goes on.
    "Heartbeat": (DISCONNECT, NOT_COORDINATOR, REBALANCE, PAUSE),
    "ListOffsets": (DISCONNECT, NOT_LEADER),
    "FindCoordinator": (DISCONNECT, "coordinator-not-available"),
}
WITHOUT_CONSEQUENCES = ("Heartbeat", "ListOffsets", "FindCoordinator")
DEFAULT_APIS = "|".join(api for api in PLAUSIBLE if api not in WITHOUT_CONSEQUENCES)
_IN_TABLE = frozenset(name for names in PLAUSIBLE.values() for name in names) | FAULTS.keys()


def fault(name: str, field: str = "faults") -> PlausibleFault:
    """The fault of that name: one of FAULTS, or any error of Kafka's ("not-coordinator", also "NOT_COORDINATOR").

    Raises InvalidArgument, about `field`, with the nearest names.
    """
    name = name.strip().lower().replace("_", "-")
    if name in FAULTS:
        return FAULTS[name]
    error = name.upper().replace("-", "_")
    if error in ErrorCode.__members__ and error != ErrorCode.NONE.name:
        return PlausibleFault(name, f"{{request}} is answered with {error}, and not applied", {"error": error})
    names = [*FAULTS, *(each.name.lower().replace("_", "-") for each in ErrorCode if each)]
    raise InvalidArgument(field, name, f"{field}: there is no fault {name!r}; {nearest(name, names)}")


def api(name: str, field: str = "apis") -> str:
    """The name of an API as Kafka writes it. Raises InvalidArgument, about `field`, with the nearest names."""
    names = {each.name.casefold(): each.name for each in APIS.values()}
    found = names.get(name.strip().casefold())
    if found is None:
        raise InvalidArgument(field, name, f"{field}: {no_api(name)}")
    return found


def plausible(api_name: str, wanted: tuple[str, ...] | None) -> list[str]:
    """The names of the faults to try at requests of an API, among those `wanted`, or all.

    An error that is in no row of the table is tried at every API.
    """
    row = PLAUSIBLE.get(api_name, (DISCONNECT,))
    if wanted is None:
        return list(row)
    return [name for name in wanted if name in row or name not in _IN_TABLE or name == DROP_ANSWER]
