"""Members of consumer, share and streams groups, driven by hand: what they send, what they make of the answers."""

from typing import Any

import pytest

from fakebroker.client.connection import Pending
from fakebroker.client.requesting import Flow
from fakebroker.client.share_acknowledgements import batches, by_offset
from fakebroker.client.steps import ClientSteps
from fakebroker.client.streams_group_steps import InternalTopic, Subtopology
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, InvalidArgument
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from fakebroker.protocol.wire.registry import api

TOPIC_ID = bytes(range(16))
EVERYTHING = ApiVersionsResponse(
    api_keys=[ApiVersion(api_key=key, min_version=0, max_version=99) for key in range(100)]
)


class Broker:
    """Answers the requests of a client as `answers` says for each API, and keeps what was sent."""

    def __init__(self) -> None:
        self.steps = ClientSteps("c")
        self.steps.connection.watch = self
        self.requests: list[tuple[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {"Metadata": {"topics": [{"topic_id": TOPIC_ID, "name": "orders"}]}}

    def sent(self, pending: Pending, request: Message | None) -> None:
        """The client tells of a request."""
        self.requests.append((api(pending.api_key).name, request))

    def ended(self, pending: Pending) -> None:
        """The client tells that a request has ended."""

    def take(self, flow: Flow[Any], **answer: Any) -> Any:
        """Run a step to its end, whose last request is answered so; what it gives."""
        pending = next(flow)
        while True:
            name = api(pending.api_key).name
            fields = self.answers.get(name, answer)
            try:
                pending = flow.send(EVERYTHING if name == "ApiVersions" else built(api(name).response, fields))
            except StopIteration as end:
                return end.value

    def last(self, name: str) -> Any:
        """The last request to an API."""
        return next(request for api_name, request in reversed(self.requests) if api_name == name)

    @property
    def apis(self) -> list[str]:
        """The APIs of all requests but the first handshake."""
        return [name for name, _ in self.requests if name != "ApiVersions"]


@pytest.fixture
def broker() -> Broker:
    """Nothing was sent."""
    return Broker()


def assigned(*partitions: int) -> dict[str, Any]:
    """An assignment of partitions of the topic."""
    return {"topic_partitions": [{"topic_id": TOPIC_ID, "partitions": list(partitions)}] if partitions else []}


def joined(broker: Broker) -> ClientSteps:
    """A member of a consumer group with partitions 0 and 1."""
    flow = broker.steps.join_consumer_group("g", ["orders"], group_instance_id="i")
    broker.take(flow, member_id="m", member_epoch=2, heartbeat_interval_ms=5000, assignment=assigned(0, 1))
    return broker.steps


@pytest.mark.rules("CGH-2", "CGH-10", "CGH-40")
def test_a_member_joins_with_epoch_0_and_knows_its_partitions_by_name(broker: Broker) -> None:
    """The join owns nothing and says everything; the names of topics are asked for by their ids."""
    steps = joined(broker)
    request = broker.last("ConsumerGroupHeartbeat")

    assert (request.member_epoch, request.topic_partitions, request.rebalance_timeout_ms) == (0, [], 300_000)
    assert (request.member_id, request.instance_id) == (steps.own_member_id, "i")
    assert broker.apis == ["ConsumerGroupHeartbeat", "Metadata"]
    assert broker.last("Metadata").topics[0].topic_id == TOPIC_ID
    assert steps.group_membership is not None
    assert (steps.group_membership.member_epoch, steps.group_membership.assignment) == (2, {"orders": [0, 1]})


@pytest.mark.rules("CGH-11", "CGR-4")
def test_a_heartbeat_says_nothing_but_what_is_given(broker: Broker) -> None:
    """What is left out is null; an answer without assignment leaves the partitions as they are."""
    steps = joined(broker)
    broker.take(steps.consumer_group_heartbeat(), member_epoch=2)
    request = broker.last("ConsumerGroupHeartbeat")

    assert (request.member_epoch, request.topic_partitions, request.subscribed_topic_names) == (2, None, None)
    assert request.rebalance_timeout_ms == -1
    assert steps.group_membership is not None
    assert steps.group_membership.assignment == {"orders": [0, 1]}


@pytest.mark.rules("CGR-3", "CGR-4")
def test_reconciling_owns_what_is_assigned(broker: Broker) -> None:
    """After an answer with fewer partitions the next step says that the others were given up."""
    steps = joined(broker)
    broker.take(steps.consumer_group_heartbeat(), member_epoch=2, assignment=assigned(0))
    broker.take(steps.reconcile(), member_epoch=3)
    (owned,) = broker.last("ConsumerGroupHeartbeat").topic_partitions

    assert (owned.topic_id, owned.partitions) == (TOPIC_ID, [0])
    assert steps.group_membership is not None
    assert steps.group_membership.member_epoch == 3


@pytest.mark.rules("CGH-30", "CGS-2")
@pytest.mark.parametrize(("is_temporary", "epoch"), [(False, -1), (True, -2)])
def test_leaving_ends_the_membership(broker: Broker, is_temporary: bool, epoch: int) -> None:
    """For good or for a while: it has nothing any more, and says so by its epoch."""
    steps = joined(broker)
    broker.take(steps.leave_consumer_group(is_temporary=is_temporary), member_epoch=epoch)

    assert broker.last("ConsumerGroupHeartbeat").member_epoch == epoch
    assert steps.group_membership is not None
    assert (steps.group_membership.member_epoch, steps.group_membership.assignment) == (epoch, {})


def test_a_refused_heartbeat_changes_nothing(broker: Broker) -> None:
    """The answer is given as it is; the member goes by its epoch until a test does something about it."""
    steps = joined(broker)
    answer = broker.take(steps.consumer_group_heartbeat(), error_code=ErrorCode.FENCED_MEMBER_EPOCH)

    assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert steps.group_membership is not None
    assert (steps.group_membership.member_epoch, steps.group_membership.assignment) == (2, {"orders": [0, 1]})


@pytest.mark.rules("CGO-1")
def test_commits_carry_the_member_epoch(broker: Broker) -> None:
    """The same step commits for members of any kind of group."""
    steps = joined(broker)
    broker.take(steps.commit({("orders", 0): 5}))
    request = broker.last("OffsetCommit")

    assert (request.group_id, request.member_id, request.generation_id_or_member_epoch) == ("g", "m", 2)
    assert request.group_instance_id == "i"


def test_each_client_makes_a_member_id_of_its_own() -> None:
    """Clients of one client id are different members, and the same ones in every run."""
    ids = [ClientSteps(client_id, number=number).own_member_id for client_id in ("a", None) for number in (0, 1)]

    assert ids == ["a-member-1", "a-member-2", "client-member-1", "client-member-2"]
    long = [ClientSteps(letter * 200, number=10**6).own_member_id for letter in "ab"]
    assert max(map(len, long)) <= 36
    assert long[0] != long[1]


def test_a_step_of_a_member_needs_a_group(broker: Broker) -> None:
    """A heartbeat before any join, or in a group of another kind, is a mistake of the test."""
    for flow in (broker.steps.share_group_heartbeat, broker.steps.consumer_group_heartbeat, broker.steps.reconcile):
        with pytest.raises(FakebrokerError, match="has joined no"):
            broker.take(flow())
    with pytest.raises(FakebrokerError, match="name the group with group_id"):
        broker.take(broker.steps.share_fetch([("orders", 0)]))


# Share groups


def fetched(*values: str, acquired: tuple[int, int, int] | None = (0, 0, 1)) -> dict[str, Any]:
    """The answer to a ShareFetch with these records, from offset 0 on, and one acquired range."""
    names = ("first_offset", "last_offset", "delivery_count")
    rows = [] if acquired is None else [dict(zip(names, acquired, strict=True))]
    records = [Record(index, 7, None, value.encode()) for index, value in enumerate(values)]
    data = build_batch(records) if records else b""
    partition = {"partition_index": 0, "records": data, "acquired_records": rows}
    return {"responses": [{"topic_id": TOPIC_ID, "partitions": [partition]}]}


@pytest.mark.rules("SGF-1", "SGF-2", "SGF-10")
def test_a_share_fetch_gives_what_was_acquired(broker: Broker) -> None:
    """The answer has whole batches; records outside of the acquired ranges are for others. Epochs count up."""
    first = broker.take(
        broker.steps.share_fetch([("orders", 0)], group_id="g"), **fetched("a", "b", "c", acquired=(1, 2, 3))
    )
    assert [(each.topic, each.offset, each.value, each.delivery_count) for each in first] == [
        ("orders", 1, b"b", 3),
        ("orders", 2, b"c", 3),
    ]
    assert broker.steps.acquired == {("orders", 0): [1, 2]}
    opened = broker.last("ShareFetch")
    assert (opened.share_session_epoch, len(opened.topics), opened.group_id) == (0, 1, "g")

    broker.take(broker.steps.share_fetch([("orders", 0)]), **fetched(acquired=None))
    second = broker.last("ShareFetch")
    assert (second.share_session_epoch, second.topics, second.member_id) == (1, [], broker.steps.own_member_id)


@pytest.mark.rules("SGF-5")
def test_partitions_that_are_not_asked_for_are_forgotten(broker: Broker) -> None:
    """The session has the partitions of the last fetch."""
    broker.take(broker.steps.share_fetch([("orders", 0), ("orders", 1)], group_id="g"), **fetched(acquired=None))
    broker.take(broker.steps.share_fetch([("orders", 1), ("orders", 2)]), **fetched(acquired=None))
    request = broker.last("ShareFetch")

    assert [each.partition_index for topic in request.topics for each in topic.partitions] == [2]
    assert [topic.partitions for topic in request.forgotten_topics_data] == [[0]]


@pytest.mark.rules("SGK-1", "SGF-2")
def test_all_that_was_acquired_is_acknowledged_with_one_word(broker: Broker) -> None:
    """The client remembers what it has; the counter of the session goes on."""
    broker.take(broker.steps.share_fetch([("orders", 0)], group_id="g"), **fetched("a", "b", acquired=(0, 1, 1)))
    broker.take(broker.steps.share_acknowledge("orders", 0), responses=[])
    request = broker.last("ShareAcknowledge")
    (batch,) = request.topics[0].partitions[0].acknowledgement_batches

    assert (request.share_session_epoch, batch.first_offset, batch.last_offset) == (1, 0, 1)
    assert (batch.acknowledge_types, request.is_renew_ack) == ([1], False)
    assert broker.steps.acquired == {("orders", 0): []}


@pytest.mark.rules("SGK-7", "SGK-9")
def test_what_is_renewed_or_refused_stays_acquired(broker: Broker) -> None:
    """Only what the broker has taken is done with."""
    broker.take(broker.steps.share_fetch([("orders", 0)], group_id="g"), **fetched("a", "b", acquired=(0, 1, 1)))
    broker.take(broker.steps.share_acknowledge("orders", 0, "renew"))
    assert broker.last("ShareAcknowledge").is_renew_ack
    refused = {"partition_index": 0, "error_code": ErrorCode.INVALID_RECORD_STATE}
    answer = {"responses": [{"topic_id": TOPIC_ID, "partitions": [refused]}]}
    broker.take(broker.steps.share_acknowledge("orders", 0, {0: "accept"}), **answer)

    assert broker.steps.acquired == {("orders", 0): [0, 1]}


@pytest.mark.rules("SGF-6")
def test_closing_the_session_ends_it(broker: Broker) -> None:
    """The next fetch opens another one."""
    broker.take(broker.steps.share_fetch([("orders", 0)], group_id="g"), **fetched("a"))
    broker.take(broker.steps.close_share_session())
    assert broker.last("ShareAcknowledge").share_session_epoch == -1
    assert broker.steps.acquired == {}

    broker.take(broker.steps.share_fetch([("orders", 0)], group_id="g"), **fetched("a"))
    assert broker.last("ShareFetch").share_session_epoch == 0


def test_a_refused_share_fetch_is_said(broker: Broker) -> None:
    """As with a fetch; the session goes on with the same epoch."""
    with pytest.raises(FakebrokerError, match="share fetch: SHARE_SESSION_NOT_FOUND"):
        broker.take(
            broker.steps.share_fetch([("orders", 0)], group_id="g"), error_code=ErrorCode.SHARE_SESSION_NOT_FOUND
        )
    unknown = {"partition_index": 0, "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "records": b""}
    with pytest.raises(FakebrokerError, match="share fetch of orders-0: UNKNOWN_TOPIC_OR_PARTITION"):
        broker.take(
            broker.steps.share_fetch([("orders", 0)], group_id="g"),
            responses=[{"topic_id": TOPIC_ID, "partitions": [unknown]}],
        )


@pytest.mark.rules("SGK-5")
def test_neighbours_of_one_kind_are_one_batch() -> None:
    """Offsets in any order become ascending batches."""
    words = by_offset({3: "accept", 1: "accept", 2: "accept", 5: "accept", 4: "release"}, [])

    assert [tuple(each.values()) for each in batches(words)] == [(1, 3, [1]), (4, 4, [2]), (5, 5, [1])]


@pytest.mark.parametrize("wrong", ["done", {0: "done"}, {"0": "accept"}, [0]])
def test_what_is_no_acknowledgement_is_refused(wrong: Any) -> None:
    """The text says which words there are."""
    with pytest.raises(InvalidArgument):
        by_offset(wrong, [0])


# Streams groups


@pytest.mark.rules("STH-3", "STH-30", "STR-2")
def test_a_streams_member_joins_with_its_topology_and_owns_its_tasks(broker: Broker) -> None:
    """All three task lists are given when any is; the endpoint epoch is that of the last answer."""
    steps = broker.steps
    store = InternalTopic("app-store-changelog", configs={"cleanup.policy": "compact"})
    topology = [Subtopology("0", ["orders"], changelog_topics=[store, "app-other-changelog"])]
    tasks = {"active_tasks": [{"subtopology_id": "0", "partitions": [0, 1]}], "standby_tasks": [], "warmup_tasks": []}
    flow = steps.join_streams_group("app", topology, process_id="p", client_tags={"zone": "a"}, endpoint="h:1")
    broker.take(flow, member_id="m", member_epoch=1, endpoint_information_epoch=4, **tasks)
    request = broker.last("StreamsGroupHeartbeat")

    (sub,) = request.topology.subtopologies
    assert (sub.subtopology_id, sub.source_topics) == ("0", ["orders"])
    assert [each.name for each in sub.state_changelog_topics] == ["app-store-changelog", "app-other-changelog"]
    assert (request.member_epoch, request.active_tasks, request.standby_tasks, request.warmup_tasks) == (0, [], [], [])
    assert (request.process_id, request.user_endpoint.port, request.endpoint_information_epoch) == ("p", 1, -1)

    broker.take(steps.reconcile_tasks(), member_epoch=1, endpoint_information_epoch=4)
    request = broker.last("StreamsGroupHeartbeat")
    assert [(each.subtopology_id, each.partitions) for each in request.active_tasks] == [("0", [0, 1])]
    assert (request.warmup_tasks, request.topology, request.endpoint_information_epoch) == ([], None, 4)

    broker.take(steps.leave_streams_group(), member_epoch=-1)
    assert broker.last("StreamsGroupHeartbeat").member_epoch == -1
    assert steps.group_membership is not None
    assert steps.group_membership.active_tasks == {}


@pytest.mark.parametrize("endpoint", ["h", ":1", "h:", "h:x", "h:70000"])
def test_an_endpoint_is_a_host_and_a_port(endpoint: str) -> None:
    """Anything else is a mistake of the test."""
    with pytest.raises(InvalidArgument, match="is not HOST:PORT"):
        ClientSteps("c").join_streams_group("app", [], endpoint=endpoint)


# Administrators


@pytest.mark.parametrize(
    ("api_name", "take"),
    [
        ("ShareGroupDescribe", lambda steps: steps.describe_share_group("g")),
        ("ConsumerGroupDescribe", lambda steps: steps.describe_consumer_group("g")),
        ("StreamsGroupDescribe", lambda steps: steps.describe_streams_group("g")),
        ("DescribeShareGroupOffsets", lambda steps: steps.share_group_offsets("g", [("orders", 0)])),
        ("AlterShareGroupOffsets", lambda steps: steps.alter_share_group_offsets("g", {("orders", 0): 4})),
        ("DeleteShareGroupOffsets", lambda steps: steps.delete_share_group_offsets("g", ["orders"])),
    ],
)
def test_questions_about_groups_are_one_request(broker: Broker, api_name: str, take: Any) -> None:
    """Each administrator's step sends its request, which can be encoded."""
    broker.take(take(broker.steps))

    assert broker.apis == [api_name]
