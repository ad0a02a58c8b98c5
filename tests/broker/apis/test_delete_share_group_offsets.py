"""DeleteShareGroupOffsets (SGO-5)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.share_group_apis import NO_ID, ShareGroupApis

MakeCall = Callable[..., Call]


@pytest.fixture
def lab(make_call: MakeCall) -> ShareGroupApis:
    return ShareGroupApis(make_call)


@pytest.mark.rules("SGO-5")
def test_members_are_in_the_way(lab: ShareGroupApis) -> None:
    """68 at top level."""
    lab.beat(0)

    answer = lab.delete("t")

    assert (answer.error_code, answer.responses) == (ErrorCode.NON_EMPTY_GROUP, [])
    assert answer.error_message


@pytest.mark.rules("SGO-5")
def test_deleting(lab: ShareGroupApis) -> None:
    """Topics with a state go; unknown ones and those without are 3 and have no id."""
    lab.cluster.topics.create("u", 1, 1)
    lab.alter({"t": {0: 4}})

    answer = lab.delete("t", "u", "none")

    assert answer.error_code == 0
    assert [(each.topic_name, each.topic_id, each.error_code) for each in answer.responses] == [
        ("t", lab.topic.id, 0),
        ("u", NO_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("none", NO_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert [bool(each.error_message) for each in answer.responses] == [False, True, True]
    assert lab.describe().topics == []


@pytest.mark.rules("SGO-5")
def test_deleting_of_an_unknown_group(lab: ShareGroupApis) -> None:
    """69 at top level."""
    assert lab.delete("t").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_without_a_group_id(lab: ShareGroupApis) -> None:
    """24."""
    assert lab.ask("DeleteShareGroupOffsets", 0, group_id="", topics=[]).error_code == ErrorCode.INVALID_GROUP_ID
