"""Engines with a listener for a dialect, and clients that speak it."""

from typing import Any

from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.dialects import DIALECTS, Overlay
from fakebroker.protocol.wire.frame import decode_response, encode_request
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed, frames

OVERLAYS = [(dialect.name, overlay) for dialect in DIALECTS.values() for overlay in dialect.overlays]
NAMES_OF_OVERLAYS = [f"{name} {overlay.name}" for name, overlay in OVERLAYS]


def listener_of(dialect: str) -> Listener:
    """A listener where a dialect is spoken."""
    return Listener(1, "127.0.0.1", 9192, dialects=frozenset({dialect}))


def dialect_lab(dialect: str, **settings: Any) -> SimEngine:
    """An engine whose only listener is that of a dialect, with topics n0 and n1."""
    lab = SimEngine(settings, listeners=[listener_of(dialect)])
    for name in ("n0", "n1"):
        lab.cluster.topics.create(name, 2)
    return lab


def ask_draft(client: Client, overlay: Overlay, request: Message) -> Any:
    """The answer to a request of the overlay; None if there is none."""
    client.socket.send(framed(encode_request(request, overlay.version, 1, "test")))
    return draft_answer(client, overlay)


def draft_answer(client: Client, overlay: Overlay) -> Any:
    """What has arrived, as the one answer to a request of the overlay; None if nothing has."""
    arrived = frames(client.socket.take())
    if not arrived:
        return None
    (frame,) = arrived
    return decode_response(overlay.key, overlay.version, frame, overlay.response)[1]
