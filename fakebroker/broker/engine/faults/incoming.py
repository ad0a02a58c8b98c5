"""A request as the functions of a fault are given it."""

from typing import Any, NamedTuple


class IncomingRequest(NamedTuple):
    """A request, as passed to the functions of a fault (`when`, `run`). `message` is the decoded request, None if
    its body was not decoded; do not change it. `principal` is the client's: "User:alice".
    """

    api: str
    version: int
    client_id: str | None
    node_id: int
    connection_id: int
    correlation_id: int
    message: Any
    principal: str
