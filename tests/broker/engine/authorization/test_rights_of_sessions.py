"""Fetch sessions of very many partitions of a client that may not read them: its rights cost no long turn."""

from typing import Any

import pytest

from fakebroker.broker.engine import dispatch
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.fetch import FetchResponse, FetchTopic
from tests.support.engine import Client, SimEngine
from tests.support.fetch_rows import row_of
from tests.support.frames import request
from tests.support.rights import allow, client_of, guarded_lab, rule
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns

TOPICS, SCALE = 2_000, 100
VERSION = 11


def opened(lab: SimEngine, client: Client) -> int:
    """A session of very many topics that there are not; its id."""
    topics = [FetchTopic(topic=f"none{number}", partitions=[row_of(0)]) for number in range(TOPICS)]
    lab.engine.long_list_bytes = 1 << 30
    client.socket.connection.receive(request("Fetch", VERSION, session_epoch=0, topics=topics), lab.network.now)
    while lab.engine.works:
        lab.engine.step(lab.network.now)
    lab.network.flush()
    session_id: int = client.answer("Fetch", VERSION).session_id
    return session_id


def again(session_id: int, epoch: int, **fields: Any) -> bytes:
    return request("Fetch", VERSION, session_id=session_id, session_epoch=epoch, topics=[], **fields)


@pytest.mark.rules("AU-6", "FS-3")
def test_a_wrong_epoch_is_found_before_rights_are_asked() -> None:
    """It costs nothing, however large the session is."""
    lab = guarded_lab()
    client = client_of(lab)
    session_id = opened(lab, client)
    assert sum(turns(lab, client.socket.connection, again(session_id, 77))) < TOPICS
    lab.network.flush()
    assert client.answer("Fetch", VERSION).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


@pytest.mark.rules("AU-6")
def test_rights_are_asked_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all partitions of the session, each time."""
    make_steps_smaller(monkeypatch, SCALE)
    monkeypatch.setattr(dispatch, "MANY_PARTITIONS", dispatch.MANY_PARTITIONS // SCALE)
    lab = guarded_lab()
    client = client_of(lab)
    session_id = opened(lab, client)
    found = [*turns(lab, client.socket.connection, again(session_id, 1, max_wait_ms=0))]
    assert max(found) < sum(found) / 10
    lab.network.flush()
    answer: FetchResponse = client.answer("Fetch", VERSION)
    codes = {data.error_code for topic in answer.responses for data in topic.partitions}
    assert codes == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}


@pytest.mark.rules("AU-6")
@pytest.mark.parametrize("is_allowed", [True, False])
def test_what_a_client_has_read_to_its_end_is_judged_again(is_allowed: bool) -> None:
    """A right that was taken away since counts, though nothing has changed in the partition."""
    lab = guarded_lab()
    allow(lab, "READ")
    client = client_of(lab)
    opening = {"session_epoch": 0, "topics": [FetchTopic(topic="t", partitions=[row_of(0)])], "max_wait_ms": 0}
    session_id = client.ask("Fetch", VERSION, **opening).session_id
    for epoch in (1, 2):
        assert client.ask("Fetch", VERSION, session_id=session_id, session_epoch=epoch, max_wait_ms=0).responses == []
    if not is_allowed:
        assert lab.cluster.authorizer is not None
        lab.cluster.authorizer.acls.remove(rule("READ"))
    answer = client.ask("Fetch", VERSION, session_id=session_id, session_epoch=3, max_wait_ms=0)
    codes = [data.error_code for topic in answer.responses for data in topic.partitions]
    assert codes == ([] if is_allowed else [ErrorCode.TOPIC_AUTHORIZATION_FAILED])
