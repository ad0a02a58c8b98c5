"""Heartbeats of members that tell more of themselves than a group can store: refused before any work is done."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import streams_group_heartbeat
from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.handlers import handler
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    KeyValue,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from fakebroker.protocol.wire.registry import api
from tests.support.group_apis import GroupApis
from tests.support.work_counter import calls_of

MakeCall = Callable[..., Call]
NAMES = [f"topic-{number:07}" for number in range(80_000)]  # of 1.2 MB, with their lengths
STREAMS = {
    "rebalance_timeout_ms": 5_000,
    "active_tasks": [],
    "standby_tasks": [],
    "warmup_tasks": [],
    "process_id": "p",
}
ONE_PART = Topology(epoch=1, subtopologies=[Subtopology(subtopology_id="0", source_topics=["t"])])
TOO_LONG: dict[str, tuple[int, dict[str, Any]]] = {
    "ConsumerGroupHeartbeat": (
        1,
        {"rebalance_timeout_ms": 5_000, "subscribed_topic_names": NAMES, "topic_partitions": []},
    ),
    "ShareGroupHeartbeat": (1, {"subscribed_topic_names": NAMES}),
    "StreamsGroupHeartbeat": (
        0,
        {**STREAMS, "topology": ONE_PART, "client_tags": [KeyValue(key=name, value="") for name in NAMES]},
    ),
}


@pytest.mark.rules("ST-8")
@pytest.mark.parametrize("name", TOO_LONG)
def test_what_cannot_be_stored_is_refused_at_once(make_call: MakeCall, name: str) -> None:
    """A few calls for each name are made before the answer that a failed write gets; nothing has changed."""
    lab = GroupApis(make_call)
    version, fields = TOO_LONG[name]
    call = make_call(lab.cluster, version, now=lab.now)
    make_request: Any = api(name).request
    request = make_request(group_id="g", member_id="m", member_epoch=0, **fields)
    handle = handler(api(name).key).handle
    answers: list[Any] = []

    handle(call, request)  # the first makes the topic
    calls = calls_of(lambda: answers.append(handle(call, request)))

    assert calls < 4 * len(NAMES)
    (answer,) = answers
    text = "the group could not be stored: MESSAGE_TOO_LARGE"
    assert (answer.error_code, answer.error_message) == (ErrorCode.UNKNOWN_SERVER_ERROR, text)
    assert lab.cluster.group_ids(lab.now) == []


def topology(count: int, what: str) -> Topology:
    """A topology that has `count` of something, in one subtopology or in as many."""
    if what == "subtopologies":
        return Topology(epoch=1, subtopologies=[Subtopology(subtopology_id=str(n)) for n in range(count)])
    names = [f"s{number}" for number in range(count)]
    infos = [TopicInfo(name=name) for name in names]
    configs = [KeyValue(key=name, value="") for name in names]
    values: dict[str, dict[str, Any]] = {
        "source topics": {"source_topics": names},
        "sinks": {"repartition_sink_topics": names},
        "repartition sources": {"repartition_source_topics": infos},
        "changelogs": {"state_changelog_topics": infos},
        "configs": {"state_changelog_topics": [TopicInfo(name="c", topic_configs=configs)]},
        "copartition groups": {"copartition_groups": [CopartitionGroup()] * count},
        "indexes": {"copartition_groups": [CopartitionGroup(source_topics=[0] * count)]},
    }
    return Topology(epoch=1, subtopologies=[Subtopology(subtopology_id="0", **values[what])])


def test_a_member_with_more_tasks_than_a_group_may_have(make_call: MakeCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot own them; of fewer it is said which one does not exist."""
    monkeypatch.setattr(streams_group_heartbeat, "MOST_TASKS", 50)
    lab = GroupApis(make_call)
    lab.cluster.topics.create("t", 3, 1)
    joined = {"group_id": "g", "member_id": "m", **STREAMS, "topology": ONE_PART}
    assert lab.ask("StreamsGroupHeartbeat", 0, **joined).error_code == ErrorCode.NONE

    def beat(count: int) -> Any:
        tasks = [TaskIds(subtopology_id="0", partitions=list(range(count)))]
        owned: dict[str, Any] = {"active_tasks": [], "standby_tasks": tasks, "warmup_tasks": []}
        return lab.ask("StreamsGroupHeartbeat", 0, group_id="g", member_id="m", member_epoch=1, **owned)

    many, some = beat(51), beat(50)
    assert (many.error_code, many.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "the member has 51 tasks, and a group has at most 50",
    )
    assert "at most" not in str(some.error_message)


KINDS = (
    "subtopologies",
    "source topics",
    "sinks",
    "repartition sources",
    "changelogs",
    "configs",
    "copartition groups",
    "indexes",
)


@pytest.mark.parametrize("what", KINDS)
def test_a_topology_of_too_many_parts(make_call: MakeCall, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """It is refused, whatever it has too many of; one of fewer is looked at."""
    monkeypatch.setattr(streams_group_heartbeat, "MOST_PARTS", 50)
    lab = GroupApis(make_call)

    def beat(count: int) -> str:
        request = {"group_id": "g", "member_id": "m", **STREAMS, "topology": topology(count, what)}
        return str(lab.ask("StreamsGroupHeartbeat", 0, **request).error_message)

    assert beat(51).endswith("parts, and at most 50 are taken")
    assert "parts" not in beat(47)
