"""Answers of a group's coordinator that wait until what it wrote before is replicated (CLU-63)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.shard import Shard
    from fakebroker.protocol.schema import Message

Response = TypeVar("Response", bound="Message")


def when_replicated(
    call: Call, shard: "Shard", response: Response, failed: Callable[[ErrorCode], Response]
) -> Response | None:
    """What a handler returns: the response if everything is replicated, as it nearly always is; else None, for later.

    `failed` makes the answer with COORDINATOR_NOT_AVAILABLE, after `offsets.commit.timeout.ms`, or NOT_COORDINATOR.
    """
    if shard.is_replicated:
        return response
    wait = shard.wait_for_replicas(lambda code, _now: call.reply(failed(code) if code else response), call.now)
    call.on_close(lambda _now: wait.stop())
    return None
