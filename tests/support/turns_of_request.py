"""What the turns of one request cost: the loop that serves all clients does one after another."""

from collections.abc import Callable, Iterator

from fakebroker.broker.engine.connection import Connection
from tests.support.engine import SimEngine
from tests.support.work_counter import calls_of


def turns(
    lab: SimEngine, connection: Connection, data: bytes, cost: Callable[[Callable[[], object]], int] = calls_of
) -> Iterator[int]:
    """The cost of each turn, from the first of the frame that arrives to the last of its work."""
    engine, now = lab.engine, lab.network.now
    yield cost(lambda: connection.receive(data, now))
    while connection.wants_turn:
        yield cost(lambda: connection.resume(now))
    while engine.works:
        yield cost(lambda: engine.step(now))
