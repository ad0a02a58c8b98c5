"""A request as the functions of a fault are given it."""

from typing import Any, NamedTuple


class IncomingRequest(NamedTuple):
    """A request as the functions of a fault are given it (`when`, `run`). `message` is the decoded request, None where
    its body was not looked at; it is not to be changed. `principal` is who the client is: "User:alice".
    """

    api: str
    version: int
    client_id: str | None
    node_id: int
    connection_id: int
    correlation_id: int
    message: Any
    principal: str
