"""What a client gets when its request could not be served (AV-10)."""

from typing import TYPE_CHECKING

from fakebroker.broker.engine.dispatch import Route
from fakebroker.protocol.errors import CloseConnection, ErrorCode, KafkaError

if TYPE_CHECKING:
    from fakebroker.broker.engine.connection import Connection
    from fakebroker.protocol.schema import Message


def answer_failure(connection: "Connection", route: Route, request: "Message", error: Exception) -> None:
    """The handler of the request in work raised `error`: a client's fault closes the connection or is answered with
    its code, a bug of ours with UNKNOWN_SERVER_ERROR (AV-10).
    """
    call = connection.call
    if not isinstance(error, CloseConnection | KafkaError):
        connection.engine.failed(error)
    if not call.is_answered:
        connection.mark_answered(call)  # wherever the handler left it before it raised, nobody may answer it again
        if isinstance(error, CloseConnection):
            connection.fail(f"{route}: {error}")
        else:
            code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
            send_error(connection, route, request, code)
    connection.renew_call()


def send_reply(connection: "Connection", route: Route, response: "Message | None") -> None:
    """Send the answer that came by `reply`. It may not harm the caller: a timer, or another client's request."""
    try:
        connection.send(route, None if response is None else route.encode(response))
    except Exception as error:
        connection.engine.failed(error if response is None else route.fault_of(response, error))
        send_error(connection, route, connection.request, ErrorCode.UNKNOWN_SERVER_ERROR)


def refuse_frame(connection: "Connection", frame: bytes, error: Exception) -> None:
    """The API and version of a frame are not served: its connection closes."""
    engine = connection.engine
    if isinstance(error, CloseConnection):
        connection.fail(engine.unserved.refused(connection.call, connection.peer, frame, str(error)))
    else:
        engine.failed(error)
        connection.fail(f"its handler could not be loaded: {error}")


def send_error(connection: "Connection", route: Route, request: "Message | None", code: ErrorCode) -> None:
    """Answer the request in work by the API's own error answer, as far as it has one (AV-10).

    What was done for another answer, and only for it, is undone first.
    """
    unsent, connection.call.unsent = connection.call.unsent, None
    if unsent is not None:
        connection.engine.run(unsent, connection.engine.now)
    try:
        body = route.encode(route.error_response(request, route.version, code))
    except Exception as error:
        connection.engine.failed(error)
        connection.fail(f"{route}: the answer could not be built: {error}")
    else:
        connection.send(route, body)
