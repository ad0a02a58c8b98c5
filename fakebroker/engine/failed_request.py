"""What a client gets when its request could not be served (AV-10)."""

from typing import TYPE_CHECKING

from fakebroker.engine.dispatch import Route
from fakebroker.errors import CloseConnection, ErrorCode, KafkaError

if TYPE_CHECKING:
    from fakebroker.engine.connection import Connection
    from fakebroker.schema import Message


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


def send_error(connection: "Connection", route: Route, request: "Message | None", code: ErrorCode) -> None:
    """Answer the request in work by the API's own error answer, as far as it has one (AV-10)."""
    try:
        body = route.encode(route.error_response(request, route.version, code))
    except Exception as error:
        connection.engine.failed(error)
        connection.fail(f"{route}: no answer could be made: {error}")
    else:
        connection.send(route, body)
