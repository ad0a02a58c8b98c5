"""A client without rights changes nothing and learns nothing; a client with some rights changes what these allow.

Requests are random (tests/support/strangers.py). FAKEBROKER_SEED is where chance begins.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from fakebroker.schema.jsonable import to_json, uuid_to_text
from fakebroker.virtual_broker import VirtualBroker
from fakebroker.wire.frame import decode_response
from fakebroker.wire.registry import Api
from tests.support.chance import IS_FUZZING, SEED
from tests.support.engine import Client
from tests.support.frames import frames
from tests.support.strangers import TOPICS, SecretRequests, client_of, secretive_broker, served, state_of, topic_ids

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
UNKNOWN_OR_DENIED = (29, 100)
UNKNOWN_OR_DENIED_TEXTS = ("Topic authorization failed.", "This server does not host this topic ID.")


class Pair:
    """A stranger at a broker with secrets, and at one without."""

    def __init__(self) -> None:
        self.brokers = [secretive_broker(has_secrets=each) for each in (True, False)]
        chance = [broker.engine.cluster.random for broker in self.brokers]
        chance[1].setstate(chance[0].getstate())  # so that ids which are made up are the same
        self.ids = {uuid_to_text(each) for each in topic_ids(self.brokers[0]).values()}
        self.clients = [client_of(broker, "stranger") for broker in self.brokers]

    def answers(self, api: Api, version: int, frame: bytes) -> list[Any]:
        """What the two say, without what `SHOWN_BY_KAFKA`."""
        told = []
        for place, broker in enumerate(self.brokers):
            if self.clients[place].socket.is_closed:
                self.clients[place] = client_of(broker, "stranger")
            client = self.clients[place]
            client.socket.send(frame)
            told.append(self._told(client, api, version))
            if told[-1] is None:  # parked, or nothing to be said: the next request gets a connection of its own
                client.socket.close()
        return told

    def _told(self, client: Client, api: Api, version: int) -> Any:
        arrived = frames(client.socket.take())
        if not arrived:
            return None
        return self._neutral(to_json(decode_response(api.key, version, arrived[0])[1], version))

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
def test_a_stranger_changes_nothing_and_learns_nothing() -> None:
    """Every request is answered as by a broker that has no secrets, and the secrets are as before."""
    pair = Pair()
    random = Random(f"strangers {SEED}")
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


def _changes(broker: VirtualBroker, before: dict[str, Any]) -> list[str]:
    now = state_of(broker)
    return [name for name in now if now[name] != before[name]]
