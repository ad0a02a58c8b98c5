"""What a connection is doing, and what it may do next.

Exactly one of these is true at any time; `Connection.state` holds it. Everything else a connection knows hangs on it:
bytes are kept in BUFFERED and PARKED only, a request is in work in SERVING and PARKED only, `close_reason` is set in
CLOSING and GONE only.
"""

from enum import Enum
from typing import Final


class ConnectionState(Enum):
    """One state of `TRANSITIONS`."""

    READING = "the next bytes begin a frame; nothing is kept, no request is in work"
    SERVING = "a turn is going on: frames are cut and their requests handled"
    BUFFERED = "bytes are kept: an incomplete frame, or whole ones for the next turn"
    PARKED = "a request waits for its answer; bytes that come meanwhile are kept and not looked at (AV-2)"
    CLOSING = "nothing is read any more; the driver closes after it has sent what is made"
    GONE = "the connection is closed, by either side"


READING, SERVING, BUFFERED, PARKED, CLOSING, GONE = ConnectionState
ENDED = (CLOSING, GONE)  # no request is served any more

# From a state to each that may follow it, and what makes it follow.
TRANSITIONS: dict[ConnectionState, dict[ConnectionState, str]] = {
    READING: {
        SERVING: "bytes came in",
        CLOSING: "the broker ends it",
        GONE: "the client left, or the driver closed",
    },
    SERVING: {
        READING: "everything was taken up",
        BUFFERED: "the turn is over (at once when much is to be sent or a login begins), or the rest is no whole frame",
        PARKED: "a handler returned None and has not replied",
        CLOSING: "the client made a mistake, asked for what is not served, a fault wants it, or a bug of ours came up",
        GONE: "the driver closed while a handler ran",
    },
    BUFFERED: {
        READING: "the turn ended early, and nothing was left",
        SERVING: "the next turn, or the bytes that make a frame whole",
        CLOSING: "the broker ends it",
        GONE: "the client left, or the driver closed",
    },
    PARKED: {
        READING: "answered, and nothing came meanwhile",
        BUFFERED: "answered, and bytes came meanwhile",
        CLOSING: "`Call.close`, a fault, or the rest of the work raised CloseConnection",
        GONE: "the client left, or the driver closed",
    },
    CLOSING: {
        GONE: "everything is sent, or the client left first",
    },
    GONE: {},
}

CLIENT_LEFT: Final = "the client closed the connection"
"""The usual reason of a connection's end."""
