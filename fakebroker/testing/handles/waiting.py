"""The requests that wait for their answer now: parked by a group, a Fetch that waits for records, a fault's delay."""

from collections.abc import Generator, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.broker.engine.subjects import groups_in, topic_names_in
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.wire.registry import APIS

if TYPE_CHECKING:
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.broker.engine.engine import Engine

MAX_NAMES: Final = 100
"""How many entries of a request are looked at for the groups it names, and for the topics: it may have very many."""

WAITING_PER_STEP: Final = 50

_CORRELATION_ID = slice(4, 8)


class WaitingRequest(NamedTuple):
    """A request without an answer. The names are those of a request's line in the journal, where it will be once it is
    answered; `waits_ms` is monotonic time until now. `groups` and `topics` are those of its first MAX_NAMES entries.
    """

    connection: int
    node: int
    client: str | None
    api: str
    version: int
    correlation_id: int
    received_wall_ms: int
    received_mono_ms: int
    waits_ms: int
    groups: tuple[str, ...]
    topics: tuple[str, ...]


def waiting_requests(engine: "Engine") -> list[WaitingRequest]:
    """Those of all connections, in the order in which the clients connected. Call it on the engine's thread."""
    return finished(waiting_in_steps(engine, waiting_connections(engine), AT_ONCE))


def waiting_in_steps(
    engine: "Engine", connections: "Sequence[Connection]", pace: Pace
) -> Generator[None, None, list[WaitingRequest]]:
    """The requests of these connections in steps of WAITING_PER_STEP, the units of `pace`; without those that are
    answered meanwhile.
    """
    found = list[WaitingRequest]()
    for each in connections:
        if each.parked_call is not None:
            found.append(waiting_request(engine, each))
        if pace.is_over():
            yield
    return found


def waiting_connections(engine: "Engine") -> "list[Connection]":
    """The connections whose request waits; to know what it is about is dearer."""
    return [each for each in engine.connections.values() if each.parked_call is not None]


def correlation_id_of(connection: "Connection") -> int:
    """The correlation id of the request that waits."""
    return int.from_bytes(connection.frame[_CORRELATION_ID], "big", signed=True)


def waiting_request(engine: "Engine", connection: "Connection") -> WaitingRequest:
    """The request of a connection that waits."""
    call, request, received = connection.call, connection.request, connection.received
    return WaitingRequest(
        connection.connection_id,
        connection.peer.node_id,
        call.client_id,
        APIS[call.api_key].name,
        call.version,
        correlation_id_of(connection),
        received.wall_ms,
        received.mono_ms,
        engine.now.mono_ms - received.mono_ms,
        () if request is None else _first(groups_in(request)),
        () if request is None else _first(topic_names_in(request, engine.journal.topic_name)),
    )


def _first(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(islice(names, MAX_NAMES)))
