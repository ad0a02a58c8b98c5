"""Ids that follow from the seed, so that every client can reckon those of others: they give it nothing."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema.jsonable import uuid_to_text
from tests.support.engine import Client, SimEngine
from tests.support.rights import ask, client_of, guarded_lab

TOPICS = ("t", "u")


def fetched(lab: SimEngine, client: Client, version: int, session: int, epoch: int, *names: str) -> Any:
    """The answer to a Fetch that names these topics."""
    ids = {topic.name: uuid_to_text(topic.id) for topic in lab.cluster.topics}
    partitions = [{"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1000}]
    topics = [{"TopicId" if version >= 13 else "Topic": ids[name] if version >= 13 else name} for name in names]
    asked = [each | {"Partitions": partitions} for each in topics]
    return ask(client, "Fetch", version, SessionId=session, SessionEpoch=epoch, Topics=asked, MaxBytes=1000)


@pytest.mark.rules("FS-13", "AU-2")
@pytest.mark.parametrize("version", [7, 12, 13, 18])
@pytest.mark.parametrize("names", [(), ("t",)])
def test_a_session_of_another(version: int, names: tuple[str, ...]) -> None:
    """Whatever the epoch is, the answer is that of a session that does not exist, and the session stays as it was."""
    lab = guarded_lab()
    root, stranger = client_of(lab, "root"), client_of(lab)
    session = fetched(lab, root, version, 0, 0, *TOPICS).session_id
    assert session

    for epoch in (-1, 0, 1, 2, -2):
        answers = [fetched(lab, stranger, version, each, epoch, *names) for each in (session, session + 1)]
        for answer in answers:
            answer.session_id = bool(answer.session_id)
        assert answers[0] == answers[1]
        assert len(answers[0].responses) <= len(names)

    other = client_of(lab, "root")
    assert fetched(lab, other, version, session, 1).error_code == ErrorCode.NONE
    assert fetched(lab, other, version, session, -1).error_code == ErrorCode.NONE
    assert fetched(lab, root, version, session, 2).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.rules("FS-13")
@pytest.mark.parametrize("version", [7, 18])
def test_a_session_of_another_without_an_authorizer(version: int) -> None:
    """As in Kafka it is there for all: there is nothing that one of them may not see."""
    lab = SimEngine()
    lab.cluster.topics.create("t")
    root, other = client_of(lab, "root"), client_of(lab)
    session = fetched(lab, root, version, 0, 0, "t").session_id

    assert fetched(lab, other, version, session, 1).error_code == ErrorCode.NONE
    assert fetched(lab, root, version, session, 1).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert fetched(lab, other, version, session, -1).error_code == ErrorCode.NONE
    assert fetched(lab, root, version, session, 2).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.rules("TE-4")
def test_a_client_of_telemetry_of_another() -> None:
    """What a stranger says with its id does not end it and does not count against its time."""
    lab = guarded_lab()
    root, stranger = client_of(lab, "root"), client_of(lab)

    def get(client: Client, instance_id: str) -> Any:
        return ask(client, "GetTelemetrySubscriptions", 0, ClientInstanceId=instance_id)

    def push(client: Client, is_terminating: bool) -> int:
        fields = {"ClientInstanceId": known, "SubscriptionId": asked.subscription_id, "Terminating": is_terminating}
        return int(ask(client, "PushTelemetry", 0, CompressionType=0, Metrics={"hex": ""}, **fields).error_code)

    asked = get(root, "AAAAAAAAAAAAAAAAAAAAAA")
    known = uuid_to_text(asked.client_instance_id)
    get(stranger, known)
    push(stranger, True)

    assert push(root, False) == ErrorCode.NONE
