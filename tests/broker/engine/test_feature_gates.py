"""Groups whose feature is off: every API of theirs is answered UNSUPPORTED_VERSION, as in Kafka."""

from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequestGroup
from fakebroker.protocol.wire.messages.update_features import FeatureUpdateKey
from tests.support.engine import Client, SimEngine

MEMBER = "m" * 22
JOIN: dict[str, Any] = {
    "group_id": "g",
    "member_id": MEMBER,
    "member_epoch": 0,
    "rebalance_timeout_ms": 60_000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}
AT_THE_TOP: list[tuple[str, str, int, dict[str, Any]]] = [
    ("group.version", "ConsumerGroupHeartbeat", 1, {}),
    ("share.version", "ShareGroupHeartbeat", 1, {}),
    ("share.version", "ShareFetch", 2, {"group_id": None}),
    ("share.version", "ShareAcknowledge", 2, {"group_id": None}),
    ("share.version", "AlterShareGroupOffsets", 0, {"group_id": "g"}),
    ("share.version", "DeleteShareGroupOffsets", 0, {"group_id": "g"}),
    ("streams.version", "StreamsGroupHeartbeat", 0, {}),
]
IN_GROUPS: list[tuple[str, str, int, dict[str, Any]]] = [
    ("group.version", "ConsumerGroupDescribe", 1, {"group_ids": ["g", ""]}),
    ("share.version", "ShareGroupDescribe", 1, {"group_ids": ["g", ""]}),
    ("streams.version", "StreamsGroupDescribe", 0, {"group_ids": ["g", ""]}),
    (
        "share.version",
        "DescribeShareGroupOffsets",
        1,
        {"groups": [DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in ("g", "")]},
    ),
]


def set_level(client: Client, feature: str, level: int) -> None:
    """Give a feature a level, by safe downgrade or upgrade."""
    change = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=1 if level else 2)
    assert client.ask("UpdateFeatures", 1, feature_updates=[change]).error_code == 0


@pytest.mark.rules("CGH-1", "UF-3")
@pytest.mark.parametrize(("feature", "api", "version", "fields"), AT_THE_TOP, ids=[row[1] for row in AT_THE_TOP])
def test_off(feature: str, api: str, version: int, fields: dict[str, Any]) -> None:
    """35 before anything of the request is looked at; with the feature on it is."""
    client = SimEngine().client()
    set_level(client, feature, 0)
    assert client.ask(api, version, **fields).error_code == ErrorCode.UNSUPPORTED_VERSION

    set_level(client, feature, 1)
    assert client.ask(api, version, **fields).error_code != ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.rules("UF-3")
@pytest.mark.parametrize(("feature", "api", "version", "fields"), IN_GROUPS, ids=[row[1] for row in IN_GROUPS])
def test_off_in_each_group(feature: str, api: str, version: int, fields: dict[str, Any]) -> None:
    """35 for each group that is asked for."""
    client = SimEngine().client()
    set_level(client, feature, 0)

    answer = client.ask(api, version, **fields)

    assert [(each.group_id, each.error_code) for each in answer.groups] == [
        ("g", ErrorCode.UNSUPPORTED_VERSION),
        ("", ErrorCode.UNSUPPORTED_VERSION),
    ]


@pytest.mark.rules("UF-3")
@pytest.mark.parametrize(("feature", "api"), [("group.version", "ConsumerGroup"), ("share.version", "ShareGroup")])
def test_members_are_refused_from_then_on(feature: str, api: str) -> None:
    """A member whose heartbeats were alike for a while gets 35 when the feature goes off, and goes on when it is on."""
    engine = SimEngine()
    engine.cluster.topics.create("t", 1, 1)
    client = engine.client()
    join = JOIN if api == "ConsumerGroup" else {name: JOIN[name] for name in JOIN if name in SHARE_FIELDS}
    epoch = client.ask(f"{api}Heartbeat", 1, **join).member_epoch
    beat = {"group_id": "g", "member_id": MEMBER, "member_epoch": epoch}

    def codes() -> list[int]:
        return [client.ask(f"{api}Heartbeat", 1, **beat).error_code for _ in range(4)]

    assert codes() == [0] * 4
    set_level(client, feature, 0)
    assert codes() == [ErrorCode.UNSUPPORTED_VERSION] * 4
    set_level(client, feature, 1)
    assert codes() == [0] * 4


SHARE_FIELDS = ("group_id", "member_id", "member_epoch", "subscribed_topic_names")


@pytest.mark.rules("UF-3")
def test_classic_groups_do_not_mind() -> None:
    """JoinGroup asks for no feature."""
    client = SimEngine().client()
    set_level(client, "group.version", 0)
    assert client.join().error_code != ErrorCode.UNSUPPORTED_VERSION
