"""Writing the answer to a long request, in steps, so that others are served in between."""

from collections.abc import Generator
from typing import TYPE_CHECKING

from fakebroker.protocol.pace import Line

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.protocol.schema import Message

STEPS_BESIDE_OTHERS = 10  # some MB; what is longer is written by one request at a time


def written_in_steps(call: "Call", route: "Route", response: "Message") -> Generator[None, None, list[bytes]]:
    """The pieces of an answer. However many clients ask for very long ones, one of these is in the making."""
    steps = route.encode_in_steps(response)
    for _ in range(STEPS_BESIDE_OTHERS):
        try:
            next(steps)
        except StopIteration as end:
            pieces: list[bytes] = end.value
            return pieces
        yield
    return (yield from call.in_line(steps, Line.WRITING))
