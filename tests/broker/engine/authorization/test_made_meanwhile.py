"""A topic that is made or deleted between two steps of a request is judged as if it had been so before."""

from typing import Any

import pytest

from fakebroker.broker.apis import offset_commit
from fakebroker.broker.core.logs.produce_validation import append
from fakebroker.broker.core.topics import Topic
from fakebroker.broker.engine.authorization import access
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicState
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequestGroup
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.engine import SimEngine
from tests.support.fetch_rows import row_of
from tests.support.frames import request
from tests.support.rights import allow, client_of, guarded_lab

STEP = 10
COUNT = 5 * STEP
SECRET = "secret"
BATCH = build_batch([Record(0, 0, b"k", b"forged")])
IDS = [number.to_bytes(16, "big") for number in range(1, COUNT + 1)]


def secret_id() -> bytes:
    """The id that the next topic of `guarded_lab` gets: it follows from the seed."""
    return guarded_lab().cluster.topics.create(SECRET).id


def asked(name: str) -> dict[str, Any]:
    """The fields of a request whose last entry is the topic."""
    last = secret_id()
    match name:
        case "DeleteTopics":
            return {"topics": [DeleteTopicState(name=None, topic_id=each) for each in [*IDS, last]], "timeout_ms": 1000}
        case "Metadata":
            return {"topics": [MetadataRequestTopic(name=None, topic_id=each) for each in [*IDS, last]]}
        case "Fetch":
            topics = [FetchTopic(topic_id=each, partitions=[row_of(0)]) for each in [last, *IDS]]
            return {"topics": topics, "session_epoch": -1, "max_bytes": 1 << 20}
    data = [PartitionProduceData(index=0, records=BATCH)]
    return {
        "acks": -1,
        "timeout_ms": 1000,
        "topic_data": [TopicProduceData(topic_id=each, partition_data=data) for each in [last, *IDS]],
    }


def played(lab: SimEngine, user: str, data: bytes, made_at: int, name: str, version: int) -> Any:
    """The answer if the topic is made after so many steps; None if the request had fewer."""
    client = client_of(lab, user)
    client.socket.connection.receive(data, lab.network.now)
    for _ in range(made_at):
        if not lab.engine.works:
            return None
        lab.engine.step(lab.network.now)
    lab.cluster.topics.create(SECRET)
    lab.network.flush()
    return client.answer(name, version)


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "NAMES_PER_STEP", STEP)
    monkeypatch.setattr("fakebroker.broker.apis.delete_topics.GROUPS_PER_STEP", STEP)
    monkeypatch.setattr("fakebroker.broker.apis.produce.PARTITIONS_PER_STEP", STEP)
    monkeypatch.setattr("fakebroker.broker.apis.fetch.PARTITIONS_PER_STEP", STEP)
    monkeypatch.setattr("fakebroker.broker.apis.fetch_request.PARTITIONS_PER_STEP", STEP)


@pytest.mark.parametrize(("name", "version"), [("DeleteTopics", 6), ("Metadata", 12), ("Produce", 13), ("Fetch", 13)])
def test_a_stranger_names_it_by_its_id(name: str, version: int) -> None:
    """Nothing is done to it, and its name is not in the answer, in whichever step it was made."""
    data, steps = request(name, version, **asked(name)), 0
    while True:
        lab = guarded_lab()
        answer = played(lab, "stranger", data, steps, name, version)
        if answer is None:
            break
        steps += 1
        topic = lab.cluster.topics.get(SECRET)
        assert topic is not None
        assert topic.partitions[0].log.log_end_offset == 0
        assert SECRET not in str(answer)
        assert lab.engine.errors == []
    assert steps > 4


@pytest.mark.rules("AU-6", "FS-10")
@pytest.mark.parametrize("version", [11, 13])
def test_a_session_that_changes_meanwhile_is_judged_as_it_is_read(version: int) -> None:
    """Its other connection adds a topic that the client may not read, in whichever step of a long request."""
    steps = 0
    while True:
        lab = guarded_lab()
        secret, own = lab.cluster.topics.create(SECRET), lab.cluster.topics.get("t")
        assert own is not None
        append(secret.partitions[0], 1, BATCH, 1, lab.network.now)
        allow(lab, "READ")

        def rows(topic: Topic, count: int) -> list[FetchTopic]:
            return [FetchTopic(topic=topic.name, topic_id=topic.id, partitions=[row_of(each) for each in range(count)])]

        first, other = client_of(lab), client_of(lab)
        answer = other.ask("Fetch", version, session_epoch=0, max_bytes=1 << 20, topics=rows(own, 1))
        fields = {"session_id": answer.session_id, "max_bytes": 1 << 20}
        long = request("Fetch", version, session_epoch=2, topics=rows(own, COUNT), **fields)
        first.socket.connection.receive(long, lab.network.now)
        for _ in range(steps):
            if lab.engine.works:
                lab.engine.step(lab.network.now)
        if steps and not lab.engine.works:
            break
        other.socket.connection.receive(
            request("Fetch", version, session_epoch=1, topics=rows(secret, 1), **fields), lab.network.now
        )
        lab.network.flush()
        answer = first.answer("Fetch", version)
        assert b"forged" not in b"".join(data.records or b"" for each in answer.responses for data in each.partitions)
        assert lab.engine.errors == []
        steps += 1
    assert steps > 4


def test_who_may_only_describe_it_names_it() -> None:
    """DeleteTopics by name of what is not there says so, and deletes nothing that comes to be there."""
    names = [*(f"{SECRET}{number}" for number in range(COUNT)), SECRET]
    data, steps = request("DeleteTopics", 4, topic_names=names, timeout_ms=1000), 0
    while True:
        lab = guarded_lab()
        for each in names:
            allow(lab, "DESCRIBE", name=each)
        answer = played(lab, "alice", data, steps, "DeleteTopics", 4)
        if answer is None:
            break
        steps += 1
        codes = {each.name: each.error_code for each in answer.responses}
        assert codes[SECRET] in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        assert lab.cluster.topics.get(SECRET) is not None
    assert steps > 4


@pytest.mark.rules("AU-6", "MD-2")
@pytest.mark.parametrize("may_create", [False, True])
def test_metadata_makes_anew_what_is_deleted_meanwhile_with_create_only(
    may_create: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may only describe a topic does not bring it back, in whichever step of the answer it is deleted."""
    monkeypatch.setattr("fakebroker.broker.apis.metadata.PARTITIONS_PER_STEP", STEP)
    names = [*(f"t{number}" for number in range(COUNT)), SECRET]
    asked_for = [MetadataRequestTopic(name=each) for each in names]
    data, made, deleted_at = request("Metadata", 4, topics=asked_for, allow_auto_topic_creation=True), set[bool](), 0
    while True:
        lab = guarded_lab(**{"auto.create.topics.enable": True})
        for each in names:
            allow(lab, "DESCRIBE", name=each)
            lab.cluster.topics.create(each)
        if may_create:
            allow(lab, "CREATE", name=SECRET)
        client = client_of(lab)
        client.socket.connection.receive(data, lab.network.now)
        for _ in range(deleted_at):
            if lab.engine.works:
                lab.engine.step(lab.network.now)
        if not lab.engine.works:
            break
        lab.cluster.topics.delete(SECRET, lab.network.now)
        lab.network.flush()
        codes = {topic.name: topic.error_code for topic in client.answer("Metadata", 4).topics}
        if codes[SECRET]:
            made.add(lab.cluster.topics.get(SECRET) is not None)
        else:  # it was shown before it was deleted
            assert lab.cluster.topics.get(SECRET) is None
        deleted_at += 1
    assert made == {may_create}
    assert deleted_at > 4


@pytest.mark.rules("AU-6", "OC-17")
def test_nothing_is_committed_for_a_topic_that_is_made_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its id was unknown when rights were judged, and needed none; it stays unknown to the commit."""
    for name in ("MAX_AT_ONCE", "ENTRIES_PER_STEP", "_ENTRIES_OF_PART"):
        monkeypatch.setattr(offset_commit, name, STEP)
    row = (0, 4711, -1, -1, "")
    topics = [OffsetCommitRequestTopic(topic_id=each, partitions=[row]) for each in [*IDS, secret_id()]]
    fields: dict[str, Any] = {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": topics}
    data, steps = request("OffsetCommit", 10, **fields), 0
    while True:
        lab = guarded_lab()
        allow(lab, "READ", "GROUP", "g")
        if played(lab, "alice", data, steps, "OffsetCommit", 10) is None:
            break
        steps += 1
        answer = client_of(lab, "root").ask(
            "OffsetFetch", 9, groups=[OffsetFetchRequestGroup(group_id="g", topics=None)]
        )
        assert answer.groups[0].topics == []
        assert lab.engine.errors == []
    assert steps > 4
