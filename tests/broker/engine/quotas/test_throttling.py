"""Clients that go beyond a quota: what they get, when their next request is read, what the journal says."""

from typing import Any

import pytest

from fakebroker.broker.core.events import ClientThrottled
from fakebroker.broker.core.quotas.client_quotas import make_entity
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.broker.engine.journal import Recorded
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import Listener
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology
from fakebroker.protocol.wire.registry import api
from fakebroker.testing.explanations.failure_story import story
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.engine import Client, SimEngine
from tests.support.frames import frames, request
from tests.support.logins import lab_with_sasl, logged_in
from tests.support.throttled import InVirtualTime, create_topic, delete_topic, fetch, produce, set_quotas

MISSING_INTERNAL_TOPICS = 3
FORWARDED = (
    "CreateTopics",
    "DeleteTopics",
    "CreateAcls",
    "DeleteAcls",
    "AlterConfigs",
    "CreatePartitions",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "ElectLeaders",
    "IncrementalAlterConfigs",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "AlterClientQuotas",
    "AlterUserScramCredentials",
    "UpdateFeatures",
    "UnregisterBroker",
)
ANYBODY = [("client-id", None)]


def throttled_in(lab: SimEngine) -> list[ClientThrottled]:
    """What the journal says of throttling."""
    entries = [each for each in lab.journal.entries() if isinstance(each, Recorded)]
    return [each.event for each in entries if isinstance(each.event, ClientThrottled)]


class Lab:
    """A broker with a topic, in virtual time."""

    def __init__(self, **settings: object) -> None:
        self.engine = SimEngine(settings)
        self.asker = InVirtualTime(self.engine)
        create_topic(self.asker)

    def throttled(self) -> list[ClientThrottled]:
        return throttled_in(self.engine)

    def muted_ms(self, client: Client) -> int:
        """How long it takes until a request of a client is answered; a minute at most."""
        client.socket.send(request("ApiVersions", 0))
        for waited_ms in range(60_000):
            if frames(client.socket.take()):
                return waited_ms
            self.engine.network.advance(1)
        raise AssertionError("it is not answered at all")

    def client_of(self, client_id: str) -> Client:
        client: Client = self.asker._clients[client_id]
        return client


@pytest.mark.rules("QU-7", "PD-28")
def test_a_producer_is_throttled_and_not_read() -> None:
    """The answer comes at once; the next request, sent meanwhile, is answered when the time is over."""
    lab = Lab()
    set_quotas(lab.asker, ANYBODY, producer_byte_rate=1000)
    assert produce(lab.asker, "p", 9000).throttle_time_ms == 0

    before_ms = lab.engine.engine.now.mono_ms
    throttle_ms = produce(lab.asker, "p", 3000).throttle_time_ms
    assert 2000 <= throttle_ms <= 2400
    assert lab.engine.engine.now.mono_ms == before_ms
    assert lab.muted_ms(lab.client_of("p")) == throttle_ms


def test_what_was_sent_before_the_answer_waits_as_well() -> None:
    """Requests that came in one piece with the one that is throttled are not taken up before."""
    lab = Lab()
    set_quotas(lab.asker, ANYBODY, request_percentage=0.001)
    client = lab.engine.client()
    client.socket.send(b"".join(request("ApiVersions", 0, number) for number in range(4)))
    assert len(frames(client.socket.take())) == 2
    lab.engine.network.advance(999)
    assert frames(client.socket.take()) == []
    lab.engine.network.advance(1)
    assert len(frames(client.socket.take())) == 1


def test_a_muted_connection_has_no_request_that_waits() -> None:
    """Its request was answered; stories and metrics do not say otherwise."""
    lab = Lab()
    set_quotas(lab.asker, ANYBODY, producer_byte_rate=1000)
    produce(lab.asker, "p", 30_000)

    connection = lab.client_of("p").socket.connection
    assert connection.is_parked
    assert connection.parked_call is None
    assert "unanswered" not in story(lab.engine.engine)


@pytest.mark.rules("QU-7")
def test_others_go_on() -> None:
    """Another client id is measured by itself, and another connection of the throttled one is read."""
    lab = Lab()
    set_quotas(lab.asker, ANYBODY, producer_byte_rate=1000)
    assert produce(lab.asker, "p", 30_000).throttle_time_ms > 0

    assert produce(lab.asker, "q", 100).throttle_time_ms == 0
    assert lab.muted_ms(lab.engine.client()) == 0


@pytest.mark.rules("QU-7")
def test_the_journal_says_who_was_throttled_by_what() -> None:
    """Before the request itself."""
    lab = Lab()
    set_quotas(lab.asker, [("user", None), ("client-id", "p")], producer_byte_rate=1000)
    throttle_ms = produce(lab.asker, "p", 30_000).throttle_time_ms

    (event,) = lab.throttled()
    assert (event.client_id, event.principal, event.api, event.version) == ("p", "User:ANONYMOUS", "Produce", 9)
    assert (event.quota, event.entity) == ("producer_byte_rate", "user <default>, client-id p")
    assert (event.limit, event.throttle_ms) == (1000, throttle_ms)
    assert event.measured > 3000


@pytest.mark.rules("FT-19")
def test_a_fetch_beyond_the_quota_gets_nothing() -> None:
    """And nothing is counted of it: after the time the records come."""
    lab = Lab()
    produce(lab.asker, "admin", 4000)
    set_quotas(lab.asker, ANYBODY, consumer_byte_rate=1000)
    assert [len(fetch(lab.asker, "f", 10_000).responses) for _ in range(2)] == [1, 1]

    refused = fetch(lab.asker, "f", 10_000)
    assert (refused.responses, refused.error_code) == ([], 0)
    assert refused.throttle_time_ms > 2000
    lab.asker.wait(refused.throttle_time_ms + 9000)
    assert len(fetch(lab.asker, "f", 10_000).responses) == 1


@pytest.mark.rules("FT-19")
def test_a_session_goes_on_after_an_empty_answer() -> None:
    """What was not sent is not taken for known: it comes with the next answer."""
    lab = Lab()
    session = fetch(lab.asker, "f", 10_000, session_epoch=0)
    produce(lab.asker, "admin", 4000)
    set_quotas(lab.asker, ANYBODY, consumer_byte_rate=500)

    def reported(epoch: int) -> tuple[bool, int]:
        answer = fetch(lab.asker, "f", 4500, session_epoch=epoch, session_id=session.session_id)
        assert (answer.error_code, answer.session_id) == (0, session.session_id)
        return answer.throttle_time_ms > 0, len(answer.responses)

    assert reported(1) == (False, 1)
    produce(lab.asker, "admin", 4000)
    assert reported(2) == (True, 0)
    lab.asker.wait(11_000)
    assert reported(3) == (False, 1)


@pytest.mark.rules("FT-19")
def test_a_fetch_that_would_begin_a_session_begins_none_when_it_is_throttled() -> None:
    """Its session id is 0, and the broker keeps nothing."""
    lab = Lab()
    produce(lab.asker, "admin", 4000)
    set_quotas(lab.asker, ANYBODY, consumer_byte_rate=300)
    answer = fetch(lab.asker, "f", 10_000, session_epoch=0)

    assert (answer.session_id, answer.responses) == (0, [])
    assert len(lab.engine.cluster.nodes[1].fetch_sessions) == 0


def test_a_fetch_that_waits_is_measured_when_it_is_answered() -> None:
    """By the producer that wakes it up."""
    lab = Lab()
    set_quotas(lab.asker, ANYBODY, consumer_byte_rate=300)
    waiting = lab.engine.client()
    rows: list[Any] = [(0, -1, 0, -1, -1, 10_000, bytes(16), 2**63 - 1)]
    asked = {"session_epoch": -1, "max_wait_ms": 5000, "min_bytes": 1, "max_bytes": 10_000}
    topics = [FetchTopic(topic="t", partitions=rows)]
    assert waiting.ask("Fetch", 12, topics=topics, **asked) is None
    produce(lab.asker, "admin", 4000)

    answer = waiting.answer("Fetch", 12)
    assert answer.throttle_time_ms > 0
    assert lab.muted_ms(waiting) == answer.throttle_time_ms


@pytest.mark.rules("QU-10", "GEN-8")
def test_every_request_takes_time() -> None:
    """By the setting, not by a clock: the eleventh of 100 us is beyond a hundredth of a percent of ten seconds."""
    lab = Lab()
    set_quotas(lab.asker, [("client-id", "r")], request_percentage=0.01)
    reported = [lab.asker.ask("r", "Heartbeat", 3, group_id="g", member_id="m").throttle_time_ms for _ in range(12)]

    assert reported[:10] == [0] * 10
    assert 0 < reported[10] <= 1000
    assert [event.quota for event in lab.throttled()] == ["request_percentage"] * 2
    assert [event.api for event in lab.throttled()] == ["Heartbeat"] * 2


@pytest.mark.rules("QU-10")
def test_requests_between_brokers_are_not_measured() -> None:
    """Who writes the markers of a transaction is a broker, whatever its client id."""
    lab = Lab()
    set_quotas(lab.asker, ANYBODY, request_percentage=0.00001)
    for _ in range(3):
        lab.asker.ask("r", "WriteTxnMarkers", 1, markers=[])

    assert lab.throttled() == []
    assert lab.asker.ask("r", "ApiVersions", 1).throttle_time_ms == 1000


@pytest.mark.rules("QU-7", "QU-8", "QU-10")
def test_of_several_quotas_that_are_exceeded_the_longest_time_counts() -> None:
    """Whichever of them is asked first: the bytes of a Produce, and the time of a Fetch."""
    lab = Lab()
    produce(lab.asker, "admin", 4000)
    set_quotas(lab.asker, ANYBODY, producer_byte_rate=1000, consumer_byte_rate=10, request_percentage=0.00001)

    assert produce(lab.asker, "p", 30_000).throttle_time_ms > 20_000
    set_quotas(lab.asker, [("client-id", "f")], consumer_byte_rate=10_000)
    assert fetch(lab.asker, "f", 10_000).throttle_time_ms == 1000
    said = {event.client_id: event.quota for event in lab.throttled()}
    assert (said["p"], said["f"]) == ("producer_byte_rate", "request_percentage")


@pytest.mark.rules("QU-10")
@pytest.mark.parametrize("name", FORWARDED)
def test_what_is_passed_on_to_the_controller_is_measured_there(name: str) -> None:
    """Whichever broker was asked: one request is within the quota, and the second, to another broker, is not."""
    listeners = [Listener(node_id, "127.0.0.1", 9091 + node_id) for node_id in (1, 2)]
    lab = SimEngine(node_ids=(1, 2), listeners=listeners)
    lab.cluster.client_quotas.alter(make_entity({"client-id": None}), {"request_percentage": 0.001})
    version, (one, other) = api(name).max, map(lab.client, listeners)
    one.ask(name, version)
    assert throttled_in(lab) == []

    other.ask(name, version)
    assert [(each.node_id, each.api) for each in throttled_in(lab)] == [(2, name)]


def test_requests_that_take_no_time_are_never_throttled() -> None:
    """By a setting of 0."""
    lab = Lab(**{"fakebroker.request.time.us": 0})
    set_quotas(lab.asker, ANYBODY, request_percentage=0.00001)

    assert lab.asker.ask("r", "ApiVersions", 1).throttle_time_ms == 0
    assert lab.throttled() == []


@pytest.mark.rules("QU-7", "QU-11")
def test_mutations_of_topics_are_refused_or_throttled() -> None:
    """89 in strict versions, with the throttle time; validated ones count as well."""
    lab = Lab()
    set_quotas(lab.asker, [("client-id", "m")], controller_mutation_rate=1)
    create_topic(lab.asker, "a", 10, client_id="m", validate_only=True)
    create_topic(lab.asker, "a", 5, client_id="m")

    refused = create_topic(lab.asker, "b", 1, client_id="m")
    assert ([topic.error_code for topic in refused.topics], refused.throttle_time_ms) == (
        [ErrorCode.THROTTLING_QUOTA_EXCEEDED],
        4000,
    )
    done = create_topic(lab.asker, "c", 2, client_id="m", version=5)
    assert ([topic.error_code for topic in done.topics], done.throttle_time_ms) == ([0], 2000)
    deleted = delete_topic(lab.asker, "a", "m", version=4)
    assert ([topic.error_code for topic in deleted.responses], deleted.throttle_time_ms) == ([0], 5000)
    refused = delete_topic(lab.asker, "c", "m")
    assert refused.responses[0].error_code == 0
    assert lab.engine.cluster.topics.get("b") is None


def owing_lab() -> Lab:
    """The client "m" owes 4 tokens, which come back one a second; the first request of a client makes 2 partitions."""
    lab = Lab(**{"num.partitions": 2, "group.streams.initial.rebalance.delay.ms": 0})
    set_quotas(lab.asker, [("client-id", "m")], controller_mutation_rate=1)
    create_topic(lab.asker, "a", 15, client_id="m")
    return lab


def metadata(lab: Lab, *names: str, client_id: str = "m") -> Any:
    """A Metadata that allows auto-creation; nobody is throttled for it."""
    topics = [MetadataRequestTopic(name=name) for name in names]
    answer = lab.asker.ask(client_id, "Metadata", 12, topics=topics, allow_auto_topic_creation=True)
    assert answer.throttle_time_ms == 0
    return answer


@pytest.mark.rules("QU-11", "NT-11")
def test_metadata_makes_no_topic_while_the_client_owes_tokens() -> None:
    """It answers as ever; for another client, and when the tokens are back, it makes one, which takes tokens."""
    lab, topics = owing_lab(), ("b", "c")
    assert [each.error_code for each in metadata(lab, *topics).topics] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
    assert [lab.engine.cluster.topics.get(name) for name in topics] == [None, None]

    lab.asker.wait(5000)
    metadata(lab, *topics)
    assert [name in lab.engine.cluster.topics for name in topics] == [True, False]
    refused = create_topic(lab.asker, "d", 1, client_id="m")
    assert (refused.topics[0].error_code, refused.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 1000)
    metadata(lab, "c", client_id="other")
    assert "c" in lab.engine.cluster.topics


@pytest.mark.rules("QU-11", "STT-5")
def test_a_heartbeat_makes_no_internal_topic_while_the_client_owes_tokens() -> None:
    """Its status says why, and nobody is throttled for it; when the tokens are back, the topic is made."""
    lab, names = owing_lab(), [TopicInfo(name="log")]
    part = Subtopology(subtopology_id="0", source_topics=["t"], state_changelog_topics=names)
    said: dict[str, Any] = {"topology": Topology(epoch=1, subtopologies=[part]), "rebalance_timeout_ms": 5000}
    said |= {"active_tasks": [], "standby_tasks": [], "warmup_tasks": [], "process_id": "p"}

    def beat(epoch: int, **fields: Any) -> Any:
        fields |= {"group_id": "g", "member_id": "m", "member_epoch": epoch}
        answer = lab.asker.ask("m", "StreamsGroupHeartbeat", 0, **fields)
        assert (answer.error_code, answer.throttle_time_ms) == (0, 0)
        return answer

    joined = beat(0, **said)
    assert [each.status_code for each in joined.status] == [MISSING_INTERNAL_TOPICS]
    assert "log (The throttling quota has been exceeded.)" in joined.status[0].status_detail
    assert "log" not in lab.engine.cluster.topics
    lab.asker.wait(4000)
    beat(joined.member_epoch)
    assert "log" in lab.engine.cluster.topics


@pytest.mark.rules("QU-11")
def test_topics_of_coordinators_are_made_by_the_broker_itself() -> None:
    """FindCoordinator makes what it needs whatever its client owes; a Metadata of the same topic does not."""
    lab = owing_lab()
    metadata(lab, CONSUMER_OFFSETS)
    assert CONSUMER_OFFSETS not in lab.engine.cluster.topics

    lab.asker.ask("m", "FindCoordinator", 3, key="g", key_type=0)
    assert CONSUMER_OFFSETS in lab.engine.cluster.topics


@pytest.mark.rules("QU-12")
def test_addresses_that_connect_too_often_are_not_let_in() -> None:
    """The connection is there, nothing on it is read, and it is closed after the throttle time."""
    lab = Lab()
    set_quotas(lab.asker, [("ip", "127.0.0.1")], connection_creation_rate=1)
    let_in = [lab.engine.client() for _ in range(10)]
    refused = lab.engine.client()

    assert all(client.ask("ApiVersions", 0) for client in let_in)
    assert refused.ask("ApiVersions", 0) is None
    assert [(event.quota, event.entity, event.api) for event in lab.throttled()] == [
        ("connection_creation_rate", "ip 127.0.0.1", "")
    ]
    lab.engine.network.advance(lab.throttled()[0].throttle_ms)
    assert "connection_creation_rate" in refused.close_reason


def test_a_throttled_client_that_leaves_is_forgotten() -> None:
    """At once, for its time may be 24 days; and nothing of it comes up when that is over."""
    lab = Lab()
    set_quotas(lab.asker, ANYBODY, producer_byte_rate=1000)
    before = len(lab.engine.cluster.timers.mono)
    produce(lab.asker, "p", 30_000)
    assert len(lab.engine.cluster.timers.mono) == before + 1
    lab.client_of("p").socket.close()

    assert len(lab.engine.cluster.timers.mono) == before
    lab.engine.network.advance(60_000)
    assert lab.engine.engine.errors == []


@pytest.mark.rules("QU-7")
def test_quotas_of_users_hold_for_who_has_logged_in() -> None:
    """Whatever the client id, and for nobody else."""
    broker = VirtualBroker(users={"alice": "pa", "bob": "pb"})
    broker.quotas.set(user="alice", request_percentage=0.0001)
    reported = {
        name: broker.client("app", user=name, password=password).request("Metadata", 8, topics=[]).throttle_time_ms
        for name, password in (("alice", "pa"), ("bob", "pb"))
    }

    assert reported == {"alice": 1000, "bob": 0}
    [throttled] = broker.journal.events("client_throttled")
    assert throttled.event.principal == "User:alice"


@pytest.mark.rules("QU-10", "SA-1")
def test_what_comes_before_a_login_is_not_measured() -> None:
    """However many strangers ask for ApiVersions, a login is not throttled; once logged in, a client is."""
    lab = lab_with_sasl()
    lab.cluster.client_quotas.alter(make_entity({"user": None}), {"request_percentage": 0.00001})
    assert [lab.client().ask("ApiVersions", 1).throttle_time_ms for _ in range(3)] == [0, 0, 0]

    client = logged_in(lab)
    assert client.ask("ApiVersions", 1).throttle_time_ms == 1000


def test_without_quotas_no_route_has_a_stage() -> None:
    """Those that no quota concerns stay as they were, and all of them when the last quota is removed."""
    lab = Lab()
    (dispatcher,) = lab.engine.engine.dispatchers
    plain = dispatcher.find(12 << 16 | 3)
    set_quotas(lab.asker, ANYBODY, producer_byte_rate=1000)
    assert dispatcher.find(12 << 16 | 3) is plain
    assert dispatcher.find(9) is not dispatcher._plain[9]

    set_quotas(lab.asker, ANYBODY, producer_byte_rate=None)
    assert dispatcher.find(9) is dispatcher._plain[9]


def test_a_fault_and_a_quota_go_together() -> None:
    """The answer is late by the fault, and then the client is muted by the quota."""
    lab = Lab()
    set_quotas(lab.asker, ANYBODY, producer_byte_rate=1000)
    lab.engine.engine.faults.add(FaultSpec.of({"api": "Produce", "delay_s": 1.0}))
    before_ms = lab.engine.engine.now.mono_ms
    throttle_ms = produce(lab.asker, "p", 30_000).throttle_time_ms

    assert throttle_ms > 20_000
    assert lab.engine.engine.now.mono_ms - before_ms == 1000
    assert lab.muted_ms(lab.client_of("p")) == throttle_ms
