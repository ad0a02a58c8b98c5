"""A Fetch of a client that has a quota: beyond it, it gets nothing, and its session stays as it was (FT-19)."""

from collections.abc import Generator

from fakebroker.broker.apis.fetch_answer import throttle_ms
from fakebroker.broker.apis.fetch_request import FullFetch, IncrementalFetch
from fakebroker.broker.core.logs.fetch_sessions import NO_SESSION
from fakebroker.broker.core.logs.fetching import LogReadResult
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.fetch import FetchResponse


class FullFetchInQuota(FullFetch):
    """A fetch without a session, or one that begins a session: if it is throttled, it begins none."""

    def response(self, reads: list[LogReadResult], pace: Pace) -> Generator[None, None, FetchResponse]:
        response = yield from super().response(reads, pace)
        if not (yield from throttle_ms(self.call, response)):
            return response
        if response.session_id != NO_SESSION:
            self.call.node.fetch_sessions.close(response.session_id, str(self.call.principal))
        return FetchResponse(responses=[], node_endpoints=[])


class IncrementalFetchInQuota(IncrementalFetch):
    """A fetch of a session. Its epoch goes on even if it is throttled; what it reported does not."""

    def response(self, reads: list[LogReadResult], pace: Pace) -> Generator[None, None, FetchResponse]:
        before = self.session.reported()
        response = yield from super().response(reads, pace)
        if not (yield from throttle_ms(self.call, response)):
            return response
        if not self.is_overtaken:
            self.session.take_back(before)
        return FetchResponse(
            error_code=response.error_code, session_id=self.session.id, responses=[], node_endpoints=[]
        )
