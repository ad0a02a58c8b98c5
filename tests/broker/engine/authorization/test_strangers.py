"""A client without rights changes nothing and learns nothing; a client with some rights changes what these allow.

Requests are random (tests/support/strangers.py). FAKEBROKER_SEED is where chance begins.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from fakebroker.protocol.schema.jsonable import to_json, uuid_to_text
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.dialects import Overlay
from fakebroker.protocol.wire.frame import decode_response
from fakebroker.protocol.wire.messages.fetch import FetchResponse
from fakebroker.protocol.wire.registry import Api
from fakebroker.testing.virtual_broker import VirtualBroker
from fakebroker.types import ReleaseName
from tests.support.chance import IS_FUZZING, SEED
from tests.support.dialects import NAMES_OF_OVERLAYS, OVERLAYS
from tests.support.engine import Client
from tests.support.frames import frames
from tests.support.strangers import (
    TOPICS,
    SecretRequests,
    client_of,
    secretive_broker,
    served,
    session_of_root,
    state_of,
    topic_ids,
    with_dialect,
)

FACTOR = 40 if IS_FUZZING else 1
OF_EACH_VERSION, OF_EACH_API = 5 * FACTOR, 30 * FACTOR  # requests, at least
# What Kafka itself shows to everybody, and how much of an answer may differ therefore.
SHOWN_BY_KAFKA = {
    "topic id": "an id that exists is answered 29, one that does not 100 (Metadata, DeleteTopics, Produce, Fetch ...)",
    "GetTelemetrySubscriptions": "gives each client an id and needs no right",
    "PushTelemetry": "is about the subscription above",
    "CreateDelegationToken": "everybody may make tokens of their own",
    "DescribeDelegationToken": "shows those",
    "RenewDelegationToken": "changes those",
    "ExpireDelegationToken": "ends those",
}
releases = pytest.mark.parametrize("as_release", ["4.3", "3.9", "2.1"])
UNKNOWN_OR_DENIED = (29, 100)
UNKNOWN_OR_DENIED_TEXTS = ("Topic authorization failed.", "This server does not host this topic ID.")


class Pair:
    """A stranger at a broker with secrets, and at one without; `dialect` is what is spoken."""

    def __init__(self, dialect: str = "", as_release: ReleaseName = "4.3") -> None:
        self.brokers = [secretive_broker(has_secrets=each, as_release=as_release) for each in (True, False)]
        self.have_the_same_chance()
        self.ids = {uuid_to_text(each) for each in topic_ids(self.brokers[0]).values()}
        self.listeners = [with_dialect(broker, dialect) if dialect else None for broker in self.brokers]
        self.clients = [self._client(place) for place in (0, 1)]

    def have_the_same_chance(self) -> None:
        """Ids that the brokers make up from now on are the same."""
        chance = [broker._engine.cluster.random for broker in self.brokers]
        chance[1].setstate(chance[0].getstate())

    def _client(self, place: int) -> Client:
        return client_of(self.brokers[place], "stranger", self.listeners[place])

    def answers(self, api: Api | Overlay, version: int, frame: bytes) -> list[Any]:
        """What the two say, without what `SHOWN_BY_KAFKA`."""
        refused = []
        for place in (0, 1):
            if self.clients[place].socket.is_closed:
                self.clients[place] = self._client(place)
            client = self.clients[place]
            client.socket.send(frame)
            refused.append(self._answer_to(client, api, version))
            if refused[-1] is None:  # parked, or nothing to be said: the next request gets a connection of its own
                client.socket.close()
        return refused

    def _answer_to(self, client: Client, api: Api | Overlay, version: int) -> Any:
        arrived = frames(client.socket.take())
        if not arrived:
            return None
        return self._neutral(to_json(decode_response(api.key, version, arrived[0], api.response)[1], version))

    def _neutral(self, value: Any) -> Any:
        if isinstance(value, list):
            return sorted((self._neutral(each) for each in value), key=repr)  # refused entries come last
        if not isinstance(value, dict):
            return value
        is_by_id = value.get("TopicId") in self.ids
        return {name: _of_any_id(each) if is_by_id else self._neutral(each) for name, each in value.items()}


def _of_any_id(value: Any) -> Any:
    """A part of an entry for an id: one that exists and one that does not look alike."""
    if isinstance(value, list):
        return sorted((_of_any_id(each) for each in value), key=repr)
    if isinstance(value, dict):
        return {name: _of_any_id(each) for name, each in value.items()}
    if value in UNKNOWN_OR_DENIED or value in UNKNOWN_OR_DENIED_TEXTS:
        return "unknown or denied"
    return value


def _asked(broker: VirtualBroker) -> Iterator[tuple[Api, int, int]]:
    """Every API and version that is not in the table, and how often it is asked."""
    pairs = [(api, version) for api, version in served(broker) if api.name not in SHOWN_BY_KAFKA]
    versions = Counter(api.key for api, _ in pairs)
    for api, version in pairs:
        yield api, version, max(OF_EACH_VERSION, OF_EACH_API // versions[api.key])


@pytest.mark.random
@pytest.mark.rules("AU-2", "AU-4", "AU-6")
@releases
def test_a_stranger_changes_nothing_and_learns_nothing(as_release: ReleaseName) -> None:
    """Every request is answered as by a broker that has no secrets, and the secrets are as before."""
    pair = Pair(as_release=as_release)
    random = Random(f"strangers {as_release} {SEED}")
    requests = SecretRequests(random, topic_ids(pair.brokers[0]))
    before = [state_of(broker) for broker in pair.brokers]
    for api, version, times in _asked(pair.brokers[0]):
        asked = []
        for _ in range(times):
            frame = requests.frame(api, version)
            asked.append(frame.hex())
            with_secrets, without = pair.answers(api, version, frame)
            assert with_secrets == without, f"seed {SEED}, {api.name} v{version}: {frame.hex()}"
        for broker, known in zip(pair.brokers, before, strict=True):
            assert _changes(broker, known) == [], f"seed {SEED}, {api.name} v{version}, one of {asked}"


@pytest.mark.random
@pytest.mark.rules("AU-2", "FS-13")
def test_a_stranger_who_knows_the_session_of_another() -> None:
    """Any Fetch is answered as by a broker that has no such session, which stays as it was."""
    pair = Pair()
    session_id = session_of_root(pair.brokers[0])
    pair.have_the_same_chance()
    requests = SecretRequests(Random(f"sessions {SEED}"), topic_ids(pair.brokers[0]))
    requests.learn(FetchResponse(session_id=session_id))
    for api, version in served(pair.brokers[0]):
        for _ in range(OF_EACH_VERSION if api.key == ApiKey.FETCH else 0):
            frame = requests.frame(api, version)
            with_secrets, without = pair.answers(api, version, frame)
            assert with_secrets == without, f"seed {SEED}, {api.name} v{version}: {frame.hex()}"
    session = pair.brokers[0]._engine.cluster.nodes[1].fetch_sessions.get(session_id, "User:root")
    assert session is not None
    assert session.epoch == 1


@pytest.mark.random
@pytest.mark.rules("AU-2", "AU-4", "AU-6", "DR-6")
@pytest.mark.parametrize(("dialect", "overlay"), OVERLAYS, ids=NAMES_OF_OVERLAYS)
def test_a_stranger_who_speaks_a_dialect(dialect: str, overlay: Overlay) -> None:
    """The same of every overlay of every dialect, and each request is answered."""
    pair = Pair(dialect)
    requests = SecretRequests(Random(f"strangers {dialect} {SEED}"), topic_ids(pair.brokers[0]))
    before = [state_of(broker) for broker in pair.brokers]
    for _ in range(OF_EACH_API):
        frame = requests.frame(overlay, overlay.version)
        with_secrets, without = pair.answers(overlay, overlay.version, frame)
        assert with_secrets is not None, f"seed {SEED}: {frame.hex()}"
        assert with_secrets == without, f"seed {SEED}: {frame.hex()}"
    assert [broker.errors for broker in pair.brokers] == [[], []]
    for broker, known in zip(pair.brokers, before, strict=True):
        assert _changes(broker, known) == []


@pytest.mark.random
@pytest.mark.rules("AU-6", "DR-10")
@pytest.mark.parametrize(("dialect", "overlay"), OVERLAYS, ids=NAMES_OF_OVERLAYS)
def test_rights_on_groups_show_no_topics(dialect: str, overlay: Overlay) -> None:
    """No answer in a dialect names a topic that the client may not describe and has not named."""
    broker = secretive_broker(has_secrets=True)
    broker.acls.allow("User:stranger", "ALL", group="*")
    client = client_of(broker, "stranger", with_dialect(broker, dialect))
    requests = SecretRequests(Random(f"groups {dialect} {SEED}"), topic_ids(broker))
    for _ in range(OF_EACH_API):
        frame = requests.frame(overlay, overlay.version)
        client.socket.send(frame)
        answer = client.socket.take()
        assert answer, client.close_reason
        shown = [name for name in TOPICS if name.encode() in answer and name.encode() not in frame]
        assert shown == [], f"seed {SEED}: {frame.hex()}"
    assert broker.errors == []


def _changes(broker: VirtualBroker, before: dict[str, Any]) -> list[str]:
    now = state_of(broker)
    return [name for name in now if now[name] != before[name]]


MINE, NOT_MINE = TOPICS[1], TOPICS[0]
MAY_CHANGE = {"topics", "next_producer_id"}  # with rights on MINE


@pytest.mark.random
@pytest.mark.rules("AU-2", "AU-6")
@releases
def test_rights_on_one_topic_change_that_topic_alone(as_release: ReleaseName) -> None:
    """A client with all rights on one topic changes it, now and then, and never another, whatever it asks beside."""
    broker = secretive_broker(has_secrets=True, as_release=as_release)
    broker.acls.allow("User:stranger", "ALL", topic=MINE)
    random = Random(f"owner of one topic {SEED}")
    requests = SecretRequests(random, topic_ids(broker))
    before, client = state_of(broker), client_of(broker, "stranger")
    times_changed = 0
    for api, version, times in _asked(broker):
        for _ in range(times):
            client = client_of(broker, "stranger") if client.socket.is_closed else client
            client.socket.send(requests.frame(api, version))
            if not client.socket.take():
                client.socket.close()
        after = state_of(broker)
        assert _of_others(after) == _of_others(before), f"seed {SEED}, {api.name} v{version}"
        times_changed += _of(MINE, after) != _of(MINE, before)
        if MINE not in topic_ids(broker):
            broker.create_topic(MINE, partitions=2)
            after = state_of(broker)
        before = after
    assert times_changed >= 1


def _of(name: str, state: dict[str, Any]) -> list[Any]:
    return [topic for topic in state["topics"] if topic.name == name]


def _of_others(state: dict[str, Any]) -> dict[str, Any]:
    # What groups know of a topic goes with it, so internal topics may change.
    others = [topic for topic in state["topics"] if topic.name != MINE and not topic.name.startswith("__")]
    return {"topics": others} | {name: value for name, value in state.items() if name not in MAY_CHANGE}
