"""What a client gets when its request could not be served (AV-10)."""

from collections.abc import Generator
from typing import TYPE_CHECKING

from fakebroker.broker.engine.connection_state import ENDED
from fakebroker.broker.engine.dispatch import LONG_FRAME_BYTES, Dispatcher, Route
from fakebroker.broker.engine.long_answers import written_in_steps
from fakebroker.protocol.errors import AnswerTooLong, CloseConnection, ErrorCode, KafkaError
from fakebroker.protocol.pace import finished

if TYPE_CHECKING:
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.protocol.schema import Message


def answer_failure(connection: "Connection", route: Route, request: "Message", error: Exception) -> None:
    """The handler of the request in work raised `error`: a client's fault closes the connection or is answered with
    its code, a bug of ours with UNKNOWN_SERVER_ERROR (AV-10).
    """
    finished(answer_failure_in_steps(connection, route, request, error))


def answer_failure_in_steps(
    connection: "Connection", route: Route, request: "Message", error: Exception
) -> Generator[None, None, None]:
    """The same in steps: a long request may get an error for each of its entries."""
    call = connection.call
    if not isinstance(error, CloseConnection | KafkaError):
        connection.engine.failed(error)
    if not call.is_answered:
        connection.mark_answered(call)  # wherever the handler left it before it raised, nobody may answer it again
        if isinstance(error, CloseConnection):
            connection.fail(f"{route}: {error}")
        else:
            yield from failure_sent(connection, route, request, error)
    connection.renew_call()


def send_reply(connection: "Connection", route: Route, response: "Message | None") -> None:
    """Send the answer that came by `reply`. It may not harm the caller: a timer, or another client's request."""
    try:
        connection.send(route, None if response is None else route.encode(response))
    except Exception as error:
        cause = error if response is None else route.fault_of(response, error)
        connection.engine.failed(cause)
        finished(failure_sent(connection, route, connection.request, cause))
        del cause  # whose traceback has this frame: a cycle would keep the answer


def find_route(connection: "Connection", dispatcher: Dispatcher, code: int, frame: bytes) -> Route | None:
    """The route of an API and version asked for the first time on a listener; None: the connection is closed."""
    try:
        return dispatcher.find(code)
    except Exception as error:
        _refuse_frame(connection, frame, error)
    return None


def _refuse_frame(connection: "Connection", frame: bytes, error: Exception) -> None:
    """The API and version of a frame are not served: its connection closes."""
    engine = connection.engine
    if isinstance(error, CloseConnection):
        connection.fail(engine.unserved.refused(connection.call, connection.peer, frame, str(error)))
    else:
        engine.failed(error)
        connection.fail(f"its handler could not be loaded: {error}")


def failure_sent(
    connection: "Connection", route: Route, request: "Message | None", error: Exception
) -> Generator[None, None, None]:
    """Send what the client gets in place of an answer that could not be made, because of `error`.

    If it is too long for a long request, the connection closes: an error for each of millions of entries would take
    seconds and gigabytes, too.
    """
    if isinstance(error, AnswerTooLong) and len(connection.frame) > LONG_FRAME_BYTES:
        _undo(connection)
        connection.fail(f"{route}: {error}, and the request has {len(connection.frame)}")
    else:
        code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
        yield from _error_sent(connection, route, request, code)


def _error_sent(
    connection: "Connection", route: Route, request: "Message | None", code: ErrorCode
) -> Generator[None, None, None]:
    """Answer the request in work by the API's own error answer, as far as it has one (AV-10).

    What was done for another answer, and only for it, is undone first.
    """
    _undo(connection)
    is_long = len(connection.frame) > connection.engine.long_list_bytes
    try:
        answer = yield from route.error_in_steps(request, code)
        body = (yield from written_in_steps(connection.call, route, answer)) if is_long else route.encode(answer)
    except Exception as error:
        connection.engine.failed(error)
        connection.fail(f"{route}: the answer could not be built: {error}")
    else:
        if connection.state not in ENDED:  # it may have gone away during these steps
            connection.send(route, body)


def _undo(connection: "Connection") -> None:
    """Undo what was done for the answer that is not sent."""
    unsent, connection.call.unsent = connection.call.unsent, None
    if unsent is not None:
        connection.engine.run(unsent, connection.engine.now)
