"""Reading messages by what their fields mean."""

from typing import Any

from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.entities import field_of, fields_of, inner_of, value_in, values_of
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from fakebroker.protocol.wire.messages.describe_groups import DescribeGroupsRequest
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchResponse, FetchTopic
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequest
from fakebroker.protocol.wire.messages.metadata import MetadataRequest


def paths(declaration: type[Declaration], entity: str) -> list[str]:
    return [".".join(spec.name for spec in path) for path in fields_of(declaration, entity)]  # type: ignore[arg-type]


def test_fields_are_found_at_any_depth() -> None:
    """The paths to the fields with an entity, in wire order."""
    assert paths(FetchRequest, "partitionIndex") == ["topics.partitions.partition", "forgotten_topics_data.partitions"]
    assert paths(AddPartitionsToTxnRequest, "transactionalId") == [
        "transactions.transactional_id",
        "v3_and_below_transactional_id",
    ]
    assert paths(FetchResponse, "groupId") == []


def test_fields_are_found_once() -> None:
    """A second look at a class answers with what the first has found."""
    assert fields_of(FetchRequest, "topicName") is fields_of(FetchRequest, "topicName")


def test_values_of_structures_lists_and_bare_fields() -> None:
    """Values come one by one, whether a field has one or a list of them."""
    assert list(values_of(JoinGroupRequest(group_id="g"), "groupId")) == ["g"]
    assert list(values_of(DescribeGroupsRequest(groups=["a", "b"]), "groupId")) == ["a", "b"]
    topic = AddPartitionsToTxnTopic(name="t", partitions=[3, 4])
    request = AddPartitionsToTxnRequest(
        transactions=[AddPartitionsToTxnTransaction(transactional_id="x", topics=[topic])],
        v3_and_below_transactional_id="y",
    )
    assert list(values_of(request, "transactionalId")) == ["x", "y"]
    assert list(values_of(request, "partitionIndex")) == [3, 4]


def test_null_has_no_values() -> None:
    """A null list or text has no value; an empty text is one."""
    assert list(values_of(MetadataRequest(topics=None), "topicName")) == []
    assert list(values_of(JoinGroupRequest(group_instance_id=None), "groupInstanceId")) == []
    assert list(values_of(JoinGroupRequest(member_id=""), "memberId")) == [""]


def test_values_of_rows() -> None:
    """Rows are tuples: a value is at the place of its field."""
    [(_, partitions, index)] = fields_of(FetchRequest, "partitionIndex")[:1]
    row = inner_of(partitions)
    assert row is not None
    assert row.is_row
    entry: Any = tuple(7 if spec is index else spec.fresh_default() for spec in row.fields)

    assert value_in(row, entry, index) == 7
    request = FetchRequest(topics=[FetchTopic(topic="t", topic_id=ZERO_UUID, partitions=[entry])])
    assert list(values_of(request, "partitionIndex")) == [7]


def test_field_of_a_structure_by_the_first_entity_it_has() -> None:
    """The structure's own field, of several entities the first there is; not its lists and what is in them."""
    by_name, by_id = field_of(FetchTopic, "topicName", "topicId"), field_of(FetchTopic, "topicId", "topicName")

    assert (by_name and by_name.name, by_id and by_id.name) == ("topic", "topic_id")
    assert field_of(FetchTopic, "partitionIndex") is None
    assert field_of(DescribeGroupsRequest, "groupId") is None
