"""A Fetch of a client that has a quota: beyond it, it gets nothing, and its session stays as it was (FT-19)."""

from collections.abc import Generator
from typing import TYPE_CHECKING

from fakebroker.broker.apis.fetch_request import FullFetch, IncrementalFetch
from fakebroker.broker.core.logs.fetch_sessions import NO_SESSION
from fakebroker.broker.core.logs.fetching import LogReadResult
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.fetch import FetchResponse

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call


class FullFetchInQuota(FullFetch):
    """A fetch without a session, or one that begins a session: if it is throttled, it begins none."""

    def response(self, reads: list[LogReadResult], pace: Pace) -> Generator[None, None, FetchResponse]:
        response = yield from super().response(reads, pace)
        if not (yield from _throttle_ms(self.call, response)):
            return response
        if response.session_id != NO_SESSION:
            self.call.node.fetch_sessions.close(response.session_id, str(self.call.principal))
        return FetchResponse(responses=[], node_endpoints=[])


class IncrementalFetchInQuota(IncrementalFetch):
    """A fetch of a session. Its epoch goes on even if it is throttled; what it reported does not."""

    def response(self, reads: list[LogReadResult], pace: Pace) -> Generator[None, None, FetchResponse]:
        before = self.session.reported()
        response = yield from super().response(reads, pace)
        if not (yield from _throttle_ms(self.call, response)):
            return response
        if not self.is_overtaken:
            self.session.take_back(before)
        return FetchResponse(
            error_code=response.error_code, session_id=self.session.id, responses=[], node_endpoints=[]
        )


def _throttle_ms(call: "Call", response: FetchResponse) -> Generator[None, None, int]:
    """For how long the client is throttled if it gets this answer. The session id and times do not change its size."""
    assert call.quota is not None
    pieces = yield from FetchResponse.stepwise_encoder(call.version)(response)
    return call.quota.fetched(sum(map(len, pieces)))
