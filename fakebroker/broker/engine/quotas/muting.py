"""A throttled client is answered, and then its connection is not read for a time: Kafka mutes the channel (KIP-219)."""

from typing import TYPE_CHECKING

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.node import NodeState
from fakebroker.broker.engine.closed_connection import ClosedConnection
from fakebroker.broker.engine.connection_state import ENDED
from fakebroker.broker.engine.failed_request import failure_sent, send_reply
from fakebroker.broker.engine.long_answers import written_in_steps
from fakebroker.broker.engine.work import Work
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from collections.abc import Generator

    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.protocol.schema import Message


def answer_and_mute(
    connection: "Connection | ClosedConnection",
    call: "Call",
    response: "Message | None",
    mute_ms: int,
    *,
    in_steps: bool = False,
) -> None:
    """Answer the request in work, and take up the next after `mute_ms`: until then it counts as parked.

    Args:
        connection: That which gave `call`, or what is left of it.
        call: The request in work.
        response: Its answer, None if it gets none.
        mute_ms: How long nothing is read, in milliseconds of the monotonic reading; while its node is frozen longer.
        in_steps: Whether the answer is long, and written in steps.
    """
    if isinstance(connection, ClosedConnection) or connection.state in ENDED or connection.route is None:
        connection.answer(call, response)  # for nobody
    elif in_steps and response is not None:
        steps = _answer_in_steps(connection, connection.route, call, response, mute_ms)
        connection.engine.begin(Work(connection, call, steps, must_finish=False))
    else:
        send_reply(connection, connection.route, response)
        _mute(connection, call, mute_ms)


def _answer_in_steps(
    connection: "Connection", route: "Route", call: "Call", response: "Message", mute_ms: int
) -> "Generator[None, None, None]":
    try:
        body = yield from written_in_steps(call, route, response)
        if connection.state in ENDED:  # it went away during these steps
            return
        connection.send(route, body)
    except Exception as error:
        cause = yield from route.fault_in_steps(response, error)
        connection.engine.failed(cause)
        yield from failure_sent(connection, route, connection.request, cause)
        del cause  # whose traceback has this frame: a cycle would keep the answer
    _mute(connection, call, mute_ms)


def _mute(connection: "Connection", call: "Call", mute_ms: int) -> None:
    node = call.node

    def unmute(now: Instant) -> None:
        if node.state is NodeState.FROZEN:
            node.run_when_thawed(deadline, now)
        else:
            connection.is_muted = False
            connection.finish(call)

    connection.is_muted = True
    deadline = Deadline(unmute, owner=connection)
    connection.engine.cluster.timers.mono.arm(deadline, connection.engine.now.mono_ms + mute_ms)
    call.on_close(lambda _now: deadline.end())
    connection.engine.to_flush[connection] = None  # the answer is made
