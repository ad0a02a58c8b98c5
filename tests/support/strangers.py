"""Brokers with secrets, and requests at random that name them: for clients that have no right to know or change them.

The requests are those of `HostileRequests` with the names of the secrets, and with entries that stand twice in a list
or beside others. Whatever is served is asked: a new API needs nothing here.
"""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from fakebroker.broker.core.security.principals import Principal
from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.schema.types import ArrayOf, FieldSpec, Primitive
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.dialects import Overlay
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.registry import APIS, Api
from fakebroker.testing.virtual_broker import VirtualBroker
from fakebroker.types import ReleaseName
from tests.support.dialects import listener_of
from tests.support.engine import Client
from tests.support.frames import framed
from tests.support.hostile_requests import HostileRequests
from tests.support.rights import AUTHORIZER, ask

TOPICS, GROUPS, TRANSACTIONAL_IDS = ("salaries", "payments"), ("payroll", "audit", "shared"), ("transfer",)
NO_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
_LOGGING_IN = (17, 36)  # change the connection, not the broker
_SETTINGS = {**AUTHORIZER, "auto.create.topics.enable": True, "delegation.token.secret.key": "key"}


def secretive_broker(*, has_secrets: bool, as_release: ReleaseName = "4.3", **settings: Any) -> VirtualBroker:
    """A started broker where User:root may do everything, and anybody else nothing; root has made secrets there."""
    broker = VirtualBroker(seed=1, profile="kafka", as_release=as_release, config={**_SETTINGS, **settings})
    broker.start()
    if has_secrets:
        for name in TOPICS:
            broker.create_topic(name, partitions=2)
            broker.topic(name).produce("amount", key="person")
        broker.quotas.set(user="carol", producer_byte_rate=10.0)
        broker.acls.allow("User:carol", "READ", topic=TOPICS[0])
        root, highest = client_of(broker, "root"), {key: each[1] for key, each in _versions(broker).items()}
        _make_groups(root, highest)
        _make_rest(root, highest)
    return broker


def _versions(broker: VirtualBroker) -> Mapping[int, tuple[int, int]]:
    return broker._engine.listeners[0].versions


def _make_groups(root: Client, highest: Mapping[int, int]) -> None:
    """Groups of all kinds that the release has, with offsets of both topics."""
    for each in GROUPS:
        ask(root, "FindCoordinator", 1, KeyType=0, Key=each)
    offsets = [{"Name": each, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]} for each in TOPICS]
    version = min(8, highest[ApiKey.OFFSET_COMMIT])
    assert ask(root, "OffsetCommit", version, GroupId="payroll", Topics=offsets).topics[0].partitions[0][1] == 0
    if ApiKey.SHARE_GROUP_HEARTBEAT not in highest:
        return
    joined = ask(
        root, "ConsumerGroupHeartbeat", 1, GroupId="audit", MemberId=NO_ID, MemberEpoch=0, RebalanceTimeoutMs=60_000,
        SubscribedTopicNames=[TOPICS[0]], TopicPartitions=[],
    )  # fmt: skip
    assert joined.error_code == 0
    shares = ask(
        root, "ShareGroupHeartbeat", 1, GroupId="shared", MemberId=NO_ID, MemberEpoch=0, SubscribedTopicNames=[*TOPICS]
    )
    assert shares.error_code == 0


def _make_rest(root: Client, highest: Mapping[int, int]) -> None:
    for each in TRANSACTIONAL_IDS:
        ask(root, "FindCoordinator", 1, KeyType=1, Key=each)
    version = min(4, highest[ApiKey.INIT_PRODUCER_ID])
    made = ask(root, "InitProducerId", version, TransactionalId=TRANSACTIONAL_IDS[0], TransactionTimeoutMs=60_000)
    assert made.error_code == 0
    scram = {
        "Name": "carol",
        "Mechanism": 1,
        "Iterations": 4096,
        "Salt": {"hex": "00"},
        "SaltedPassword": {"hex": "00"},
    }
    if ApiKey.ALTER_USER_SCRAM_CREDENTIALS in highest:
        ask(root, "AlterUserScramCredentials", 0, Deletions=[], Upsertions=[scram])


def client_of(broker: VirtualBroker, name: str, listener: Listener | None = None) -> Client:
    """A client that is this user; the login itself is another matter."""
    client = Client(broker._server.connect(listener))
    client.socket.connection.principal = Principal(name)
    return client


def served(broker: VirtualBroker) -> Iterator[tuple[Api, int]]:
    """Every API in every version, but those of logging in."""
    for key, (lowest, highest) in sorted(_versions(broker).items()):
        if key in APIS and key not in _LOGGING_IN:
            for version in range(lowest, highest + 1):
                yield APIS[key], version


def with_dialect(broker: VirtualBroker, dialect: str) -> Listener:
    """A listener of the broker where a dialect is spoken."""
    listener = listener_of(dialect)
    broker._server.ports.listeners.append(listener)
    broker._engine.add_listener(listener)
    return listener


def session_of_root(broker: VirtualBroker) -> int:
    """The id of a fetch session of root, on a connection that stays open, in which it reads the secret topics."""
    partitions = [{"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1000}]
    topics = [{"Topic": name, "Partitions": partitions} for name in TOPICS]
    made = ask(client_of(broker, "root"), "Fetch", 12, SessionEpoch=0, Topics=topics, MaxBytes=1000)
    assert made.session_id
    return int(made.session_id)


def topic_ids(broker: VirtualBroker) -> dict[str, bytes]:
    """The ids of the topics that there are, by their names."""
    return {topic.name: topic.id for topic in broker._engine.cluster.topics}


def state_of(broker: VirtualBroker) -> dict[str, Any]:
    """All that the broker keeps durably, without where chance has come to."""
    cluster = broker.snapshot().state.cluster
    return {name: getattr(cluster, name) for name in cluster._fields if name != "random"}


class SecretRequests(HostileRequests):
    """Requests that name secrets, and what does not exist."""

    def __init__(self, random: Random, topics: dict[str, bytes]) -> None:
        super().__init__(random)
        self._topic_ids = [*topics.values()]
        for topic_id in topics.values():
            self.learn_topic(topic_id)

    def frame(self, api: Api | Overlay, version: int) -> bytes:
        """A request, framed."""
        request = api.request(**self.fields(api.request, version))
        return framed(encode_request(request, version, 1, "stranger"))

    def _value(self, spec: FieldSpec, version: int, depth: int) -> Any:
        value = super()._value(spec, version, depth)
        if isinstance(spec.type, ArrayOf) and value and self.random.random() < 0.4:
            value = self._mixed(spec.type.element, value, version)
        return value

    def _mixed(self, kind: Any, entries: list[Any], version: int) -> list[Any]:
        """Entries of which one is there again: as it is, with another field changed, or by name and by id."""
        random = self.random
        again = random.choice(entries)
        if not isinstance(kind, Primitive) and not kind.is_row:
            specs = {spec.name: spec for spec in kind.fields if spec.versions.includes(version)}
            fields = {name: getattr(again, name) for name in specs}
            if {"name", "topic_id"} <= fields.keys() and specs["name"].nullable.includes(version):
                known = random.choice(self._topic_ids)
                name = fields["name"] or TOPICS[0]
                fields["name"], fields["topic_id"] = random.choice(((name, bytes(16)), (None, known), (name, known)))
            elif "resource_type" in fields:
                fields["resource_type"] = random.choice((99, 2, 4))
            again = kind(**fields)
        mixed = [*entries, again]
        random.shuffle(mixed)
        return mixed

    def _text(self, name: str) -> str:
        random = self.random
        if random.random() < 0.2:
            return super()._text(name)
        if "config" in name:
            return random.choice(("retention.ms", "cleanup.policy"))
        if "topic" in name or name in ("name", "resource_name", "resource_name_filter"):
            return random.choice((*TOPICS, *TOPICS, "none", "carol", "retention.ms"))
        if "transactional" in name:
            return random.choice((*TRANSACTIONAL_IDS, "none"))
        if "group" in name and "instance" not in name:
            return random.choice((*GROUPS, "none"))
        if name in ("key", "coordinator_keys"):
            return random.choice((*GROUPS, *TRANSACTIONAL_IDS))
        if name == "value":
            return "7777"
        if name == "member_id":
            return NO_ID
        return random.choice(("User:carol", "carol", "User:root", "")) if "principal" in name else super()._text(name)
