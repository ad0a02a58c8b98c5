"""The generic error layout: for every API that is served, in every version (AV-10)."""

from typing import Any

import pytest

from fakebroker.apis.handlers import MODULES
from fakebroker.engine.refusal import refusal
from fakebroker.errors import ErrorCode
from fakebroker.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from fakebroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse
from fakebroker.wire.messages.produce import ProduceRequest, ProduceResponse
from fakebroker.wire.registry import APIS

CODE = ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.rules("AV-10")
def test_every_version_of_every_api_can_say_that_it_failed() -> None:
    """The answer to an empty request encodes, and decodes to itself."""
    served = [APIS[key] for key in MODULES if key in APIS]
    assert len(served) > 30
    for api, version in [(each, version) for each in served for version in range(each.min, each.max + 1)]:
        answer = refusal(api.response, api.request(), version, CODE)
        data = answer.encode(version)
        assert api.response.decode(data, version) == (answer, len(data))


def named(entries: list[Any]) -> list[tuple[str, int]]:
    return [(entry.group_id, entry.error_code) for entry in entries]


@pytest.mark.rules("AV-10")
def test_a_list_of_bare_names_becomes_entries_with_codes() -> None:
    """DescribeGroups asks by name only."""
    answer = refusal(DescribeGroupsResponse, DescribeGroupsRequest(groups=["a", "b"]), 5, CODE)
    assert named(answer.groups) == [("a", -1), ("b", -1)]


@pytest.mark.rules("AV-10")
def test_nested_lists_of_bare_numbers_become_entries_with_codes() -> None:
    """OffsetFetch before v2 has no code but those of partitions; from v2 on one at the top says it all."""
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[4, 6])])
    old = refusal(OffsetFetchResponse, request, 1, CODE)
    new = refusal(OffsetFetchResponse, request, 2, CODE)
    assert [(topic.name, [(row[0], row[-1]) for row in topic.partitions]) for topic in old.topics] == [
        ("t", [(4, -1), (6, -1)])
    ]
    assert (new.error_code, new.topics) == (-1, [])


@pytest.mark.rules("AV-10")
def test_lists_by_other_names_are_found() -> None:
    """Produce asks in topic_data and answers in responses."""
    request = ProduceRequest(acks=1, topic_data=[topic_data("t", 3)])
    answer = refusal(ProduceResponse, request, 9, CODE)
    decoded, _ = ProduceResponse.decode(answer.encode(9), 9)
    assert [topic.name for topic in decoded.responses] == ["t"]
    assert repr(decoded).count("-1") >= 1


def topic_data(name: str, partition: int) -> Any:
    from fakebroker.wire.messages import produce

    rows = ProduceRequest.fields[-1].type.element.fields[-1].type.element  # type: ignore[union-attr]
    data: Any = (partition, None) if rows.is_row else rows(index=partition, records=None)
    return produce.TopicProduceData(name=name, partition_data=[data])
