"""A connection of a throttled client, or of an address that connects too often, is not read for a time."""

from typing import TYPE_CHECKING

from fakebroker.core.deadlines import Deadline
from fakebroker.core.node import NodeState
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.apis.call import Call
    from fakebroker.engine.connection import Connection


def mute(connection: "Connection", call: "Call", mute_ms: int) -> None:
    """The request in work was answered; the next is taken up after `mute_ms`: until then it counts as parked."""
    node = call.node

    def unmute(now: Instant) -> None:
        if node.state is NodeState.FROZEN:
            node.run_when_thawed(deadline, now)
        else:
            connection.finish(call)

    deadline = Deadline(unmute, owner=connection)
    connection.engine.cluster.timers.mono.arm(deadline, connection.engine.now.mono_ms + mute_ms)
    call.on_close(lambda _now: deadline.end())
