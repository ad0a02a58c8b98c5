"""Messages from fields by name."""

import pytest

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest
from fakebroker.protocol.wire.registry import api


def test_mappings_become_structs_and_rows() -> None:
    """A request from plain values encodes as the one that is made of its classes."""
    request = built(api("OffsetFetch").request, {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]})
    commit = built(
        api("OffsetCommit").request,
        {"group_id": "g", "topics": [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 7}]}]},
    )

    assert request.topics[0].partition_indexes == [0]
    assert OffsetCommitRequest.decode(commit.encode(2), 2)[0].group_id == "g"


def test_a_field_that_does_not_exist_is_named_with_its_place() -> None:
    """The message has the path to the field and the fields that there are."""
    with pytest.raises(
        InvalidArgument, match=r"^topics\[0\]\.nam: OffsetFetchRequestTopic has no such field; did you mean 'name'"
    ) as refused:
        built(api("OffsetFetch").request, {"topics": [{"nam": "t"}]})

    assert refused.value.field == "topics[0].nam"
