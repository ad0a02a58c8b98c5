"""What fields mean in a comparison comes from the declarations of the messages."""

import pytest

from fakebroker.protocol.schema.entities import inner_of
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.comparison import fields


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MemberId", "member"),
        ("TopicId", "topic"),
        ("ProducerId", "producer"),
        ("NodeId", "node"),
        ("ReplicaNodes", "node"),
        ("GroupId", None),
        ("NoSuchField", None),
    ],
)
def test_ids_that_a_broker_chooses_are_known_by_what_they_mean(name: str, kind: str | None) -> None:
    """Ids of members, topics, producers and brokers; the name of a group is the test's own."""
    assert fields.thing_kind(name) == kind


def test_times_of_records_and_of_messages_are_times() -> None:
    """A record as data has `TimestampMs`, which no message has."""
    assert {fields.entity_of(name) for name in ("TimestampMs", "Timestamp", "LogAppendTimeMs")} == {"timestamp"}
    assert fields.entity_of("SessionTimeoutMs") is None


def test_all_names_of_fields_with_a_meaning_are_found() -> None:
    """Also those of messages and versions that nothing else here mentions."""

    def names(declaration: type[Declaration]) -> set[str]:
        inner = [each for each in map(inner_of, declaration.fields) if each is not None]
        own = {spec.name for spec in declaration.fields if spec.entity == "groupId"}
        return own.union(*map(names, inner))

    declared = set().union(*(names(api.request) | names(api.response) for api in APIS.values()))

    assert declared >= {"group_id", "groups_names", "group_ids"}
    assert fields.names_of_fields("groupId") == declared
