"""FindCoordinator (FC)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.java_hash import partition_of
from fakebroker.broker.core.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]


@pytest.mark.rules("FC-1", "FC-5", "FC-7", "FC-10")
@pytest.mark.parametrize("version", range(7))
def test_a_group(make_call: MakeCall, version: int) -> None:
    """Every version names the node at the first request, which makes the topic; texts are those of the version."""
    lab = GroupApis(make_call)
    fields = {"key": "g"} if version < 4 else {"coordinator_keys": ["g"]}
    answer = lab.ask("FindCoordinator", version, **fields)
    entry = answer if version < 4 else answer.coordinators[0]

    assert (entry.error_code, entry.node_id, entry.host, entry.port) == (0, 1, "127.0.0.1", 9092)
    if version > 0:
        assert entry.error_message == ("NONE" if version < 4 else "")
    assert lab.cluster.topics.get(CONSUMER_OFFSETS) is not None


@pytest.mark.rules("FC-1", "FC-9")
def test_many_keys(make_call: MakeCall) -> None:
    """One entry per key in request order, doubles and the empty key too; no keys, no entries."""
    lab = GroupApis(make_call)
    answer = lab.ask("FindCoordinator", 4, coordinator_keys=["b", "a", "", "b"])

    assert [(entry.key, entry.error_code) for entry in answer.coordinators] == [("b", 0), ("a", 0), ("", 0), ("b", 0)]
    assert lab.ask("FindCoordinator", 6).coordinators == []


@pytest.mark.rules("FC-2", "FC-4", "CLU-1")
def test_the_leader_coordinates(make_call: MakeCall) -> None:
    """On two nodes each key's coordinator is the leader of its partition, for groups and for transactions."""
    lab = GroupApis(make_call, node_ids=(1, 2), transaction_state_log_num_partitions=7)
    keys = [f"key-{number}" for number in range(40)]

    for key_type, topic_name, size in ((0, CONSUMER_OFFSETS, 50), (1, TRANSACTION_STATE, 7)):
        answer = lab.ask("FindCoordinator", 4, key_type=key_type, coordinator_keys=keys)
        partitions = lab.cluster.topics.internal(topic_name).partitions
        assert len(partitions) == size
        leaders = [partitions[partition_of(key, len(partitions))].leader for key in keys]
        assert [entry.node_id for entry in answer.coordinators] == leaders
        assert set(leaders) == {1, 2}
        assert {(entry.node_id, entry.port) for entry in answer.coordinators} == {(1, 9092), (2, 9093)}


@pytest.mark.rules("FC-5", "FC-6", "FC-7", "CLU-5")
@pytest.mark.parametrize("version", range(7))
def test_no_leader(make_call: MakeCall, version: int) -> None:
    """A partition without a leader has no coordinator: 15, and no address."""
    lab = GroupApis(make_call)
    for partition in lab.cluster.topics.internal(CONSUMER_OFFSETS).partitions:
        partition.lead(-1, lab.now)
    answer = lab.ask("FindCoordinator", version, **({"key": "g"} if version < 4 else {"coordinator_keys": ["g"]}))
    entry = answer if version < 4 else answer.coordinators[0]

    assert (entry.error_code, entry.node_id, entry.host, entry.port) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        -1,
        "",
        -1,
    )
    if version > 0:
        assert bool(entry.error_message) == (version < 4)


@pytest.mark.rules("FC-8", "FC-7", "FC-6")
@pytest.mark.parametrize("version", range(1, 7))
@pytest.mark.parametrize("key_type", [-1, 3, 127])
def test_unknown_key_types(make_call: MakeCall, version: int, key_type: int) -> None:
    """42 with a text, on every key."""
    fields = {"key": "g"} if version < 4 else {"coordinator_keys": ["g", "h"]}
    answer = GroupApis(make_call).ask("FindCoordinator", version, key_type=key_type, **fields)

    for entry in [answer] if version < 4 else answer.coordinators:
        assert (entry.error_code, entry.node_id, entry.host, entry.port) == (ErrorCode.INVALID_REQUEST, -1, "", -1)
        assert entry.error_message


@pytest.mark.rules("FC-8")
@pytest.mark.parametrize("key_type", [2, 3, -1])
def test_unknown_key_types_in_2_1(make_call: MakeCall, key_type: int) -> None:
    """2.1.1 closes the connection."""
    lab = GroupApis(make_call, "2.1")

    with pytest.raises(CloseConnection, match=f"key type {key_type}"):
        lab.ask("FindCoordinator", 2, key_type=key_type, key="g")
    assert lab.ask("FindCoordinator", 2, key_type=1, key="x").error_code == 0


@pytest.mark.rules("FC-8")
@pytest.mark.parametrize(
    ("release", "code"), [("4.3", ErrorCode.INVALID_REQUEST), ("3.9", ErrorCode.COORDINATOR_NOT_AVAILABLE)]
)
def test_share_keys(make_call: MakeCall, release: str, code: int) -> None:
    """A share key is `group:topic id:partition` and known from v6 on."""
    lab = GroupApis(make_call, release)
    keys = ["g:AAAAAAAAAAAAAAAAAAAAAA:0", "g"]

    for version, codes in ((5, [ErrorCode.INVALID_REQUEST] * 2), (6, [0, code])):
        answer = lab.ask("FindCoordinator", version, key_type=2, coordinator_keys=keys)
        assert [entry.error_code for entry in answer.coordinators] == codes
