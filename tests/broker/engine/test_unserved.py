"""Warnings for clients that ask in vain: once for each client and API, never for those that go on."""

from struct import pack
from typing import Any

import pytest

from fakebroker.broker.engine import unserved
from fakebroker.broker.engine.dispatch import versions_served
from fakebroker.broker.engine.journal import Peer
from fakebroker.broker.release import release
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.explanations.failure_story import story
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed, request

PEER = Peer(1, "/127.0.0.1", 1)
IN_TRANSACTION: dict[str, Any] = {"transactional_id": "tx", "transaction_timeout_ms": 60_000}


def send(lab: SimEngine, name: str, version: int, client_id: str = "svc-1", **fields: Any) -> Client:
    """One request on a connection of its own."""
    client = lab.client()
    client.socket.send(request(name, version, 1, client_id, **fields))
    return client


def look_up(client: Client, group_id: str = "g", client_id: str = "svc-1") -> None:
    client.socket.send(request("FindCoordinator", 2, 1, client_id, key=group_id, key_type=0))


def look_for_the_new_protocol(lab: SimEngine) -> Client:
    """What librdkafka 2.16 does with group.protocol=consumer, as recorded: four connections, one dropped at once."""
    send(lab, "FindCoordinator", 2, key="g", key_type=0).socket.close()
    main = send(lab, "ApiVersions", 0)
    look_up(main)
    coordinator = send(lab, "ApiVersions", 0)
    look_up(main)
    coordinator.socket.close()
    send(lab, "ApiVersions", 0)
    return main


def test_a_client_learns_once_per_api(caplog: pytest.LogCaptureFixture) -> None:
    """However often it tries again; another client gets lines of its own."""
    lab = SimEngine()
    for client_id in ("svc-1", "svc-1", "svc-2"):
        lab.engine.unserved.warn(client_id, PEER, 68, "this: no")
        lab.engine.unserved.warn(client_id, PEER, 76, "that: no")
    assert caplog.messages == [
        f'client "{client_id}" (127.0.0.1) asked for {what}: no'
        for client_id in ("svc-1", "svc-2")
        for what in ("this", "that")
    ]
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 4


def test_the_warnings_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """A thousand client ids do not fill the log."""
    lab = SimEngine()
    for number in range(unserved.MAX_WARNINGS + 50):
        lab.engine.unserved.warn(f"svc-{number}", PEER, 68, "this: no")
    assert len(caplog.messages) == len(lab.engine.unserved.lines) == unserved.MAX_WARNINGS


def test_producers_and_consumers_are_not_warned(caplog: pytest.LogCaptureFixture) -> None:
    """They get their ids and coordinators, with a transactional id and without."""
    lab = SimEngine()
    send(lab, "InitProducerId", 4, transactional_id=None, transaction_timeout_ms=60_000)
    send(lab, "FindCoordinator", 2, key="g", key_type=0)
    send(lab, "FindCoordinator", 2, key="tx", key_type=1)
    send(lab, "InitProducerId", 4, **IN_TRANSACTION)
    assert caplog.messages == []


def test_the_story_of_a_failed_test_begins_with_what_is_missing() -> None:
    """Also for a connection that was closed because of the API."""
    lab = SimEngine()
    lab.engine.unserved.warn("svc-1", PEER, 29, "DescribeAcls: no")
    lab.client().socket.send(framed(pack(">hhih", 67, 0, 1, 5) + b"svc-1"))
    first, *lines = story(lab.engine).splitlines()
    assert first == "unsupported requests:"
    assert lines[0].startswith('  client "svc-1" (127.0.0.1) asked for DescribeAcls: no')
    assert lines[1].startswith('  client "svc-1" (127.0.0.1): AllocateProducerIds (67) is not supported: ')


def test_a_consumer_of_the_new_protocol_is_logged_when_it_has_fallen_silent(caplog: pytest.LogCaptureFixture) -> None:
    """librdkafka never asks for ConsumerGroupHeartbeat where ApiVersions does not list it: only its silence shows."""
    lab = SimEngine()
    look_for_the_new_protocol(lab)
    lab.network.advance(unserved.SILENCE_MS - 1)
    assert caplog.messages == []
    lab.network.advance(1)
    (message,) = caplog.messages
    assert message.startswith('client "svc-1" (127.0.0.1) asked for FindCoordinator of group "g" several times')
    assert "ConsumerGroupHeartbeat" in message
    assert "group.protocol=classic" in message


@pytest.mark.parametrize("name", ["JoinGroup", "OffsetFetch", "Fetch"])
def test_a_consumer_that_goes_on_is_not_warned(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Parked or answered: whoever asks more than for the coordinator is served."""
    fields: dict[str, dict[str, Any]] = {
        "JoinGroup": {"group_id": "g", "protocol_type": "consumer", "session_timeout_ms": 30_000},
        "OffsetFetch": {"group_id": "g", "topics": []},
        "Fetch": {"max_wait_ms": 60_000, "min_bytes": 1, "topics": []},
    }
    lab = SimEngine()
    main = look_for_the_new_protocol(lab)
    main.socket.send(request(name, {"Fetch": 4}.get(name, 3), 1, "svc-1", **fields[name]))
    lab.network.advance(unserved.SILENCE_MS)
    assert caplog.messages == []


def test_a_consumer_that_does_nothing_is_not_warned(caplog: pytest.LogCaptureFixture) -> None:
    """Three lookups happen; without a connection that was dropped for its ApiVersions they mean nothing."""
    lab = SimEngine()
    main = send(lab, "ApiVersions", 0)
    send(lab, "ApiVersions", 0)
    for _ in range(5):
        look_up(main)
    lab.network.advance(unserved.SILENCE_MS)
    assert caplog.messages == []


def test_each_client_is_judged_once_and_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the whole journal is not for every lookup: thousands of groups or clients must not cost seconds."""
    lab = SimEngine()
    judged: list[str | None] = []
    monkeypatch.setattr(lab.engine.unserved, "_judge", lambda client_id, *_: judged.append(client_id))
    client = lab.client()
    for number in range(unserved.MAX_JUDGED + 10):
        for group in ("g-1", "g-2", "g-2", "g-3", "g-4", "g-5", "g-6"):
            look_up(client, group, f"svc-{number}")
    lab.network.advance(unserved.SILENCE_MS)
    assert judged == [f"svc-{number}" for number in range(unserved.MAX_JUDGED)]


def test_every_api_of_kafka_has_messages_or_a_reason() -> None:
    """0 to 92 are the APIs of Kafka 4.3."""
    assert sorted({*APIS, *unserved.MISSING}) == list(range(93))
    assert not APIS.keys() & unserved.MISSING.keys()
    assert not versions_served(release("4.3")).keys() & unserved.MISSING.keys()


def test_an_api_that_came_later_names_the_release() -> None:
    """A broker that answers as an old Kafka says so."""
    lab = SimEngine(as_release="2.1")
    client = lab.client()
    client.socket.send(framed(pack(">hhih", 75, 0, 1, 5) + b"svc-1"))
    assert client.close_reason == "DescribeTopicPartitions (75) is not supported: Kafka 2.1.1 does not have it"


@pytest.mark.parametrize("user", ["alice77", "Alice77"])
def test_a_login_that_came_too_early_names_nobody(user: str, caplog: pytest.LogCaptureFixture) -> None:
    """A bare message of PLAIN, read as a request, has its password in the place of the client id."""
    lab = SimEngine()
    client = lab.client()
    password = "\x0cSECRETSECRET"
    client.socket.send(framed(f"\0{user}\0{password}".encode()))
    assert client.socket.is_closed
    assert len(caplog.messages) == 1
    assert "SECRET" not in caplog.text + story(lab.engine) + "".join(lab.engine.unserved.lines)
