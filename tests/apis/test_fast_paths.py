"""Fetch answers the ordinary request on the fast path as on the general one."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakebroker.apis import fetch
from fakebroker.apis.call import Call
from fakebroker.errors import KafkaError
from fakebroker.wire.messages.fetch import FetchRequest
from tests.support.fetches import At, Fetches

Make = Callable[..., Call]


def outcome(way: Callable[[Call, Any], Any], call: Call, request: Any) -> str:
    """What became of a request on one path: the answer, or what was raised in its place."""
    try:
        response = way(call, request)
        return repr(call.connection.replies) if response is None else response.encode(call.version).hex()
    except KafkaError as error:
        return repr(error)


@pytest.mark.rules("FT-5", "FT-6", "FT-8")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.builds(
        At,
        partition=st.integers(-1, 4),
        offset=st.integers(-1, 8),
        max_bytes=st.sampled_from([-1, 0, 1, 100, 250, 1 << 20]),
        epoch=st.integers(-1, 1),
        last_epoch=st.integers(-1, 1),
        topic=st.sampled_from(["t", "u"]),
    ),
    version=st.integers(4, 18),
    min_bytes=st.sampled_from([0, 1, 101, 10_000]),
    max_bytes=st.sampled_from([-1, 0, 150, 1 << 30]),
    isolation_level=st.sampled_from([0, 1, 2]),
    session=st.sampled_from([(0, -1), (0, 0), (5, -1), (5, 3)]),
)
def test_fetch(make_call: Make, at: At, version: int, session: tuple[int, int], **fields: Any) -> None:
    """The same answer, or no answer yet on both ways."""
    answers = []
    for way in (fetch.handle, fetch._every_partition):
        lab = Fetches(make_call)
        for _ in range(3):
            lab.produce(2)
        asked = at if version >= 12 else at._replace(last_epoch=-1)
        entry = lab.entry(version, asked, {"t": lab.topic.id, "u": bytes([1] * 16)})
        request = FetchRequest(topics=[entry], session_id=session[0], session_epoch=session[1], **fields)
        request, _ = FetchRequest.decode(request.encode(version), version)
        answers.append(outcome(way, make_call(lab.cluster, version, now=lab.now), request))
    assert answers[0] == answers[1]
