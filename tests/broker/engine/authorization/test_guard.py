"""Requests of clients that may do little: what each API answers, and what is noted."""

from typing import Any

import pytest

from fakebroker.broker.core.events import AccessDenied
from fakebroker.broker.core.security.acls import AclFilter, Permission, ResourceType
from fakebroker.broker.engine.authorization.needs import NEEDS
from fakebroker.broker.engine.error_response import getter
from fakebroker.broker.engine.faults import entries
from fakebroker.broker.release import release
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import APIS
from tests.support.engine import Client, SimEngine
from tests.support.rights import allow, ask, client_of, guarded_lab

ASKS_NOBODY = {
    ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS, ApiKey.SASL_AUTHENTICATE,  # logging in, and what a broker serves
    ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN,  # for a token's owner and renewers
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY,  # telemetry
}  # fmt: skip
GROUP_APIS = ("JoinGroup", "Heartbeat", "LeaveGroup", "SyncGroup")


def denials(lab: SimEngine) -> list[AccessDenied]:
    return [each.event for each in lab.journal.events() if isinstance(each.event, AccessDenied)]


@pytest.mark.rules("AU-6")
def test_every_api_has_its_needs() -> None:
    """Whatever a release serves is in the table, or on the list of what needs nothing."""
    served = {key for name in ("2.0", "3.9", "4.3") for key in release(name).versions if key in APIS}
    assert served - ASKS_NOBODY <= NEEDS.keys()
    assert not ASKS_NOBODY & NEEDS.keys()


@pytest.mark.rules("AU-4", "AU-6")
@pytest.mark.parametrize("name", GROUP_APIS)
def test_members_need_read_on_the_group(name: str) -> None:
    """30 in the API's own layout, until there is the right; then the request is judged as ever."""
    lab = guarded_lab()
    client = client_of(lab)
    fields: dict[str, Any] = {"GroupId": "g"} if name == "LeaveGroup" else {"GroupId": "g", "MemberId": "m"}
    if name == "JoinGroup":
        fields |= {"ProtocolType": "consumer", "SessionTimeoutMs": 10_000, "Protocols": []}
    if name == "LeaveGroup":
        fields["Members"] = [{"MemberId": "m"}]
    assert ask(client, name, 3, **fields).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    allow(lab, "READ", "GROUP", "g")
    assert ask(client, name, 3, **fields).error_code != ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.rules("AU-4")
def test_a_topic_nobody_may_describe_does_not_seem_to_exist() -> None:
    """By name it is refused, existing or not; in the list of all it is left out."""
    lab = guarded_lab()
    client = client_of(lab)
    allow(lab, "DESCRIBE", name="t")
    asked = [{"Name": each} for each in ("t", "u", "none")]

    def shown(**fields: Any) -> list[tuple[int, str]]:
        answer = ask(client, "Metadata", 8, AllowAutoTopicCreation=False, **fields)
        return [(each.error_code, each.name) for each in answer.topics]

    assert shown(Topics=asked) == [
        (0, "t"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "u"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "none"),
    ]
    assert shown(Topics=None) == [(0, "t")]
    assert [each.name for each in ask(client, "Metadata", 0, Topics=[]).topics] == ["t"]
    assert [(each.error_code, each.name) for each in ask(client, "Metadata", 0, Topics=[{"Name": "u"}]).topics] == [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "u")
    ]


@pytest.mark.rules("AU-6", "MD-2")
def test_a_topic_is_made_by_metadata_with_create_only() -> None:
    """CREATE on the topic or on the cluster; without it 29 instead of 3."""
    lab = guarded_lab(**{"auto.create.topics.enable": True})
    client = client_of(lab)

    def code(name: str) -> int:
        (topic,) = ask(client, "Metadata", 8, Topics=[{"Name": name}], AllowAutoTopicCreation=True).topics
        return int(topic.error_code)

    for each in ("a", "b", "c"):
        allow(lab, "DESCRIBE", name=each)
    allow(lab, "CREATE", name="b")
    assert [code("a"), code("b")] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    allow(lab, "CREATE", "CLUSTER", "kafka-cluster")
    assert code("c") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [lab.cluster.topics.get(each) is not None for each in ("a", "b", "c")] == [False, True, True]


@pytest.mark.rules("AU-6")
def test_topics_that_no_name_or_id_stands_for() -> None:
    """Without rights an empty name is refused, an id of zeros is unknown, and what names no partition not answered."""
    lab = guarded_lab()
    client = client_of(lab)
    for version in (4, 7, 12):
        topics = [{"Topic": "", "Partitions": [{"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1}]}]
        (row,) = ask(client, "Fetch", version, Topics=topics, SessionEpoch=-1).responses[0].partitions
        assert row.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    nameless = [{"TopicId": uuid_to_text(bytes(16)), "PartitionData": [{"Index": 0, "Records": None}]}]
    (row,) = ask(client, "Produce", 13, Acks=1, TopicData=nameless).responses[0].partition_responses
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    allow(lab, "READ", "GROUP", "g")
    nameless = [{"TopicId": uuid_to_text(bytes(16)), "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]}]
    (row,) = ask(client, "OffsetCommit", 10, GroupId="g", Topics=nameless).topics[0].partitions
    assert row[1] == ErrorCode.UNKNOWN_TOPIC_ID
    unknown = {"TopicId": uuid_to_text(bytes(16)), "PartitionIndexes": [0]}
    (group,) = ask(client, "OffsetFetch", 10, Groups=[{"GroupId": "g", "Topics": [unknown]}]).groups
    assert group.topics[0].partitions[0][-1] == ErrorCode.UNKNOWN_TOPIC_ID
    assert ask(client, "Produce", 12, Acks=1, TopicData=[{"Name": "t", "PartitionData": []}]).responses == []
    twice = [{"PartitionIndex": 0, "Offset": 0}] * 2
    deleted = ask(
        client, "DeleteRecords", 2, Topics=[{"Name": "t", "Partitions": twice}, {"Name": "u", "Partitions": []}]
    )
    (topic,) = deleted.topics
    assert [row.error_code for row in topic.partitions] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]


@pytest.mark.parametrize("replica_id", [0, 1, 2**31 - 1])
def test_who_fetches_as_a_broker_without_the_right_reads_nothing(replica_id: int) -> None:
    """All is refused alike, what there is and what there is not: the answer says nothing about ids."""
    lab = guarded_lab()
    allow(lab, "ALL")
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    topic_ids = [topic.id, b"\x07" * 16, bytes(16)]
    topics = [{"TopicId": uuid_to_text(each), "Partitions": [{"Partition": 0}]} for each in topic_ids]
    answer = ask(client_of(lab), "Fetch", 17, ReplicaState={"ReplicaId": replica_id}, Topics=topics, SessionEpoch=-1)
    codes = [row.error_code for each in answer.responses for row in each.partitions]
    assert codes == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 3


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_a_partition_that_ends_its_session_is_not_read(version: int) -> None:
    """A request that names the session's only partition and forgets it, too, gets no records without READ (FS-8)."""
    lab = guarded_lab()
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    topic.partitions[0].log.append(build_batch([Record(0, 1_700_000_000_000, b"k", b"secret")]), lab.network.now)
    client = client_of(lab)
    name = {"TopicId": uuid_to_text(topic.id)} if version >= 13 else {"Topic": "t"}
    wanted = [{**name, "Partitions": [{"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1000}]}]
    begun = ask(client, "Fetch", version, SessionEpoch=0, Topics=wanted, MaxBytes=1000)
    assert begun.session_id
    forgotten = [{**name, "Partitions": [0]}]
    ended = ask(
        client, "Fetch", version, SessionId=begun.session_id, SessionEpoch=1, Topics=wanted,
        ForgottenTopicsData=forgotten, MaxBytes=1000,
    )  # fmt: skip
    (row,) = ended.responses[0].partitions
    assert (row.error_code, row.records or b"") == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, b"")


def test_a_right_that_is_taken_away_ends_a_fetch_session() -> None:
    """The next fetch of the session says 29 for a partition that it does not even name; and 0 again later."""
    lab = guarded_lab()
    client = client_of(lab)
    allow(lab, "READ", name="t")
    allow(lab, "READ", name="u")
    partitions = [{"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1000}]
    topics = [{"Topic": each, "Partitions": partitions} for each in ("t", "u")]

    def codes(session_id: int, epoch: int, asked: list[Any]) -> tuple[int, list[tuple[str, int]]]:
        answer = ask(client, "Fetch", 12, SessionId=session_id, SessionEpoch=epoch, Topics=asked, MaxBytes=1000)
        found = [(each.topic, data.error_code) for each in answer.responses for data in each.partitions]
        return answer.session_id, found

    session_id, found = codes(0, 0, topics)
    assert found == [("t", 0), ("u", 0)]
    assert codes(session_id, 1, [])[1] == []
    assert lab.cluster.authorizer is not None
    (entry,) = lab.cluster.authorizer.acls.find(AclFilter(ResourceType.TOPIC, "u"))
    lab.cluster.authorizer.acls.remove(entry)
    assert codes(session_id, 2, [])[1] == [("u", ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    assert codes(session_id, 3, [])[1] == [("u", ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    lab.cluster.authorizer.acls.add(entry)
    assert codes(session_id, 4, [])[1] == [("u", 0)]
    assert codes(session_id, 5, [])[1] == []


@pytest.mark.rules("AU-6", "PD-5")
def test_a_producer_that_wants_no_answer_is_disconnected() -> None:
    """As with every other error; nothing is appended."""
    lab = guarded_lab()
    client = client_of(lab)
    data = [{"Name": "t", "PartitionData": [{"Index": 0, "Records": {"hex": ""}}]}]
    assert ask(client, "Produce", 9, Acks=0, TimeoutMs=1, TopicData=data) is None
    assert "not authorized" in client.close_reason


@pytest.mark.rules("AU-14")
def test_authorized_operations() -> None:
    """What the client may do, where it asks: of topics, groups and the cluster."""
    lab = guarded_lab()
    client = client_of(lab)
    allow(lab, "READ", name="t")
    allow(lab, "READ", "GROUP", "g")

    def shown(client: Client) -> tuple[int, int, int]:
        answer = ask(client, "Metadata", 8, Topics=[{"Name": "t"}], IncludeTopicAuthorizedOperations=True,
            IncludeClusterAuthorizedOperations=True,
        )  # fmt: skip
        groups = ask(client, "DescribeGroups", 3, Groups=["g"], IncludeAuthorizedOperations=True).groups
        topic, cluster = answer.topics[0].topic_authorized_operations, answer.cluster_authorized_operations
        return topic, cluster, groups[0].authorized_operations

    assert shown(client) == (1 << 3 | 1 << 8, 0, 1 << 3 | 1 << 8)
    assert shown(client_of(lab, "root")) == (3576, 8096, 3400)
    answer = ask(client, "DescribeCluster", 1, IncludeClusterAuthorizedOperations=True)
    assert (answer.error_code, answer.cluster_authorized_operations) == (0, 0)


@pytest.mark.rules("AU-2")
def test_who_was_refused_what_is_noted() -> None:
    """One event for each operation and resource of a request, with the entry that decided; none for lists."""
    lab = guarded_lab()
    client = client_of(lab)
    allow(lab, "ALL", permission=Permission.DENY)
    topics = [{"Name": each, "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}] * 2} for each in ("t", "u", "t")]
    assert ask(client, "Metadata", 8, Topics=None).topics == []
    assert ask(client, "ListGroups", 3).groups == []
    ask(client, "ListOffsets", 3, Topics=topics)
    first, second = denials(lab)
    reason = "DENY User:alice ALL on TOPIC 't'"
    assert first[:7] == ("User:alice", "127.0.0.1", "DESCRIBE", "TOPIC", "t", reason, "ListOffsets")
    assert second[4:6] == ("u", "no ACL matches the resource")


def test_without_an_authorizer_nothing_is_asked() -> None:
    """The routes are those of the handlers, with what makes repeated requests cheap."""
    lab = SimEngine()
    dispatcher = lab.engine.dispatchers[0]
    route = dispatcher.find(12 << 16 | 3)
    assert route.repeat is not None
    assert route.handle.__module__ == "fakebroker.broker.apis.heartbeat"


@pytest.mark.rules("AU-4", "AU-6", "XT-2")
def test_a_topic_is_deleted_with_delete() -> None:
    """By name also DESCRIBE is asked for, which may be denied; by id only DELETE, and who may not describe it sees no
    name.
    """
    lab = guarded_lab()
    client = client_of(lab)
    topic = lab.cluster.topics.get("t")
    assert topic is not None
    by_id = {"Name": None, "TopicId": uuid_to_text(topic.id)}

    def deleted(**entry: Any) -> tuple[int, str | None]:
        (result,) = ask(client, "DeleteTopics", 6, Topics=[entry], TimeoutMs=1000).responses
        return result.error_code, result.name

    assert [deleted(Name="t"), deleted(Name="none"), deleted(**by_id)] == [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "t"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "none"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None),
    ]
    allow(lab, "DESCRIBE", name="t")
    allow(lab, "DESCRIBE", name="none")
    assert [deleted(Name="t"), deleted(Name="none"), deleted(**by_id)] == [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "t"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "none"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "t"),
    ]
    allow(lab, "DELETE", name="t")
    allow(lab, "DESCRIBE", name="t", permission=Permission.DENY)
    assert deleted(Name="t") == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "t")
    assert deleted(**by_id) == (0, "t")


@pytest.mark.rules("AU-6", "PD-25")
def test_transactional_records_need_write_on_the_id() -> None:
    """53 for every partition without it; with it the topic's right is asked for."""
    lab = guarded_lab()
    client = client_of(lab)
    batch = build_batch(
        [Record(0, 0, b"k", b"v")], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True
    )
    data = [{"Name": "t", "PartitionData": [{"Index": 0, "Records": {"hex": batch.hex()}}]}]

    def answered(transactional_id: str | None) -> tuple[int, int]:
        answer = ask(client, "Produce", 9, TransactionalId=transactional_id, Acks=-1, TimeoutMs=1, TopicData=data)
        (partition,) = answer.responses[0].partition_responses
        return partition.error_code, partition.base_offset

    assert [answered("x"), answered(None)] == [(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)] * 2
    allow(lab, "WRITE", "TRANSACTIONAL_ID", "x")
    assert answered("x") == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1)
    allow(lab, "WRITE", name="t")
    assert answered("x")[0] not in (
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
    assert answered(None)[0] == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.mark.rules("AU-6")
@pytest.mark.parametrize("version", [7, 8])
def test_offsets_of_topics_that_may_not_be_described(version: int) -> None:
    """Those that were named are refused one by one; of all topics only the others are shown."""
    lab = guarded_lab()
    root = client_of(lab, "root")
    for name in ("t", "u"):
        topics = [{"Name": name, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 5}]}]
        assert ask(root, "OffsetCommit", 8, GroupId="g", Topics=topics).topics[0].partitions
    client = client_of(lab)
    allow(lab, "DESCRIBE", "GROUP", "g")
    allow(lab, "DESCRIBE", name="t")
    named = [{"Name": name, "PartitionIndexes": [0]} for name in ("t", "u")]

    def fetched(topics: Any) -> list[tuple[str, int, int]]:
        group = {"GroupId": "g", "Topics": topics}
        answer = ask(client, "OffsetFetch", version, **(group if version == 7 else {"Groups": [group]}))
        shown = answer if version == 7 else answer.groups[0]
        return [(topic.name, row[1], row[4]) for topic in shown.topics for row in topic.partitions]

    assert fetched(named) == [("t", 5, 0), ("u", -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    assert fetched(None) == [("t", 5, 0)]


def test_long_names_are_cut_in_the_journal() -> None:
    """A client that asks for names as long as can be, again and again, does not fill the memory."""
    lab = guarded_lab()
    ask(client_of(lab), "FindCoordinator", 4, KeyType=0, CoordinatorKeys=["g" * 30_000])

    (denied,) = denials(lab)
    assert denied.resource_name == "g" * 300
    assert len(denied.reason) < 1500


def test_thousands_of_refused_names_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work for refused entries is in proportion to their number: fields are looked at a few times each."""
    lab = guarded_lab()
    client = client_of(lab)
    allow(lab, "DELETE", "GROUP", "mine")
    looks = 0

    def counting(declaration: Any, name: str) -> Any:
        take = getter(declaration, name)

        def counted(entry: Any) -> Any:
            nonlocal looks
            looks += 1
            return take(entry)

        return counted

    monkeypatch.setattr(entries, "getter", counting)
    names = [f"g{number}" for number in range(500)]
    answer = ask(client, "DeleteGroups", 2, GroupsNames=[*names, "mine"])

    assert len(answer.results) == 501
    assert 500 <= looks <= 5000
