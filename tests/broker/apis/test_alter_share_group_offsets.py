"""AlterShareGroupOffsets (SGO-4)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_group_apis import NO_ID, ShareGroupApis

MakeCall = Callable[..., Call]


@pytest.fixture
def lab(make_call: MakeCall) -> ShareGroupApis:
    return ShareGroupApis(make_call)


@pytest.mark.rules("SGO-4")
def test_altering(lab: ShareGroupApis) -> None:
    """What exists is altered, what does not is error 3; in the order of the request."""
    answer = lab.alter({"t": {1: 7, 5: 0, 0: 4}, "none": {0: 1}})

    assert (answer.error_code, answer.error_message) == (0, None)
    known, unknown = answer.responses
    assert (known.topic_name, known.topic_id) == ("t", lab.topic.id)
    assert [(each.partition_index, each.error_code) for each in known.partitions] == [
        (1, 0),
        (5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, 0),
    ]
    assert (unknown.topic_id, unknown.partitions[0].error_code) == (NO_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert unknown.partitions[0].error_message


@pytest.mark.rules("SGO-4")
def test_members_are_in_the_way(lab: ShareGroupApis) -> None:
    """68 at top level."""
    lab.beat(0)

    answer = lab.alter({"t": {0: 1}})

    assert (answer.error_code, answer.responses) == (ErrorCode.NON_EMPTY_GROUP, [])
    assert answer.error_message


def test_without_a_group_id(lab: ShareGroupApis) -> None:
    """24."""
    assert lab.ask("AlterShareGroupOffsets", 0, group_id="", topics=[]).error_code == ErrorCode.INVALID_GROUP_ID
