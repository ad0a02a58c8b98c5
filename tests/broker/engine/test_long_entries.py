"""Short requests for what takes long to write: a thing with few parts and long texts, again and again, or several."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.protocol.schema.jsonable import from_json
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.registry import api
from tests.support.engine import SimEngine
from tests.support.frames import framed
from tests.support.rights import AUTHORIZER, ask, client_of, rule
from tests.support.turns_of_request import turns

TEXTS = 10  # that the thing has
TEXT = "x" * 30_000
TIMES = 60
MOST_BYTES = 4 * TEXTS * len(TEXT)  # of the answer in a turn; a thing is written in one


def many_texts() -> list[str]:
    return [f"{number}{TEXT}" for number in range(TEXTS)]


def classic_group(lab: SimEngine) -> None:
    """Its members have long ids, client ids and metadata."""
    for text in many_texts():
        fields = {
            "GroupId": "g", "SessionTimeoutMs": 60_000, "RebalanceTimeoutMs": 60_000, "ProtocolType": "consumer",
            "GroupInstanceId": text, "Protocols": [{"Name": "range", "Metadata": {"hex": "00"}}],
        }  # fmt: skip
        request = from_json(api("JoinGroup").request, 5, fields)
        client_of(lab, "root").socket.send(framed(encode_request(request, 5, 1, TEXT)))


def classic_groups(lab: SimEngine) -> None:
    """Each has one member with long metadata."""
    for number in range(TIMES):
        fields = {
            "GroupId": f"g{number}", "SessionTimeoutMs": 60_000, "RebalanceTimeoutMs": 60_000, "MemberId": "",
            "ProtocolType": "consumer", "Protocols": [{"Name": "range", "Metadata": {"hex": "00" * TEXTS * len(TEXT)}}],
        }  # fmt: skip
        request = from_json(api("JoinGroup").request, 3, fields)
        client = client_of(lab, "root")
        client.socket.send(framed(encode_request(request, 3, 1, "test")))
        joined = client.answer("JoinGroup", 3)
        fields = {"GroupId": f"g{number}", "GenerationId": 1, "MemberId": joined.member_id}
        ask(client, "SyncGroup", 1, **fields, Assignments=[])


def consumer_group(lab: SimEngine) -> None:
    ask(
        client_of(lab, "root"), "ConsumerGroupHeartbeat", 1, GroupId="g", MemberId="m", MemberEpoch=0,
        RebalanceTimeoutMs=60_000, SubscribedTopicNames=many_texts(), TopicPartitions=[],
    )  # fmt: skip


def share_group(lab: SimEngine) -> None:
    fields = {"GroupId": "g", "MemberId": "m", "MemberEpoch": 0, "SubscribedTopicNames": many_texts()}
    ask(client_of(lab, "root"), "ShareGroupHeartbeat", 1, **fields)


def streams_group(lab: SimEngine) -> None:
    """Its member has long tags."""
    lab.cluster.topics.create("t")
    subtopology: dict[str, Any] = {"SubtopologyId": "0", "SourceTopics": ["t"]}
    for name in ("SourceTopicRegex", "RepartitionSinkTopics", "StateChangelogTopics", "RepartitionSourceTopics"):
        subtopology[name] = []
    ask(
        client_of(lab, "root"), "StreamsGroupHeartbeat", 0, GroupId="g", MemberId="m", MemberEpoch=0, ProcessId="p",
        RebalanceTimeoutMs=60_000, Topology={"Epoch": 1, "Subtopologies": [{**subtopology, "CopartitionGroups": []}]},
        ClientTags=[{"Key": text, "Value": "v"} for text in many_texts()],
        ActiveTasks=[], StandbyTasks=[], WarmupTasks=[],
    )  # fmt: skip


def acls(lab: SimEngine) -> None:
    assert lab.cluster.authorizer is not None
    for text in many_texts():
        lab.cluster.authorizer.acls.add(rule("READ", name="t", principal=f"User:{text}"))


def broker_configs(lab: SimEngine) -> None:
    configs = [
        {"Name": f"listener.name.l{number}.metric.reporters", "ConfigOperation": 0, "Value": TEXT}
        for number in range(TEXTS)
    ]
    resource = {"ResourceType": 4, "ResourceName": "1", "Configs": configs}
    answer = ask(client_of(lab, "root"), "IncrementalAlterConfigs", 1, Resources=[resource], ValidateOnly=False)
    assert answer.responses[0].error_code == 0


def filters(operation: int) -> dict[str, Any]:
    """Of each entry, or each time another one of the same."""
    meant = {
        "ResourceTypeFilter": 1, "ResourceNameFilter": None, "PatternTypeFilter": 1, "PrincipalFilter": None,
        "HostFilter": None, "Operation": operation, "PermissionType": 1,
    }  # fmt: skip
    return {"Filters": [{**meant, "ResourceNameFilter": name} for name in (None, "t") * (TIMES // 2)]}


def resources(keys: Callable[[int], list[str] | None]) -> dict[str, Any]:
    each = {"ResourceType": 4, "ResourceName": "1"}
    return {"Resources": [{**each, "ConfigurationKeys": keys(number)} for number in range(TIMES)]}


def spellings() -> dict[str, Any]:
    return {"Resources": [{"ResourceType": 4, "ResourceName": "0" * number + "1"} for number in range(TIMES)]}


def some_keys(number: int) -> list[str]:
    return [f"listener.name.l{each}.metric.reporters" for each in range(TEXTS)] + [f"no.such{number}"]


GROUPS = {"GroupIds": ["g"] * TIMES}
Case = tuple[str, Callable[[SimEngine], None], dict[str, Any]]
CASES: dict[str, Case] = {
    "classic group": ("DescribeGroups", classic_group, {"Groups": ["g"] * TIMES}),
    "classic groups": ("DescribeGroups", classic_groups, {"Groups": [f"g{number}" for number in range(TIMES)]}),
    "consumer group": ("ConsumerGroupDescribe", consumer_group, GROUPS),
    "share group": ("ShareGroupDescribe", share_group, GROUPS),
    "streams group": ("StreamsGroupDescribe", streams_group, GROUPS),
    "configs": ("DescribeConfigs", broker_configs, resources(lambda _number: None)),
    "configs by other keys": ("DescribeConfigs", broker_configs, resources(some_keys)),
    "configs by other spellings": ("DescribeConfigs", broker_configs, spellings()),
    "deleted ACLs": ("DeleteAcls", acls, filters(1)),
}


@pytest.mark.parametrize(("name", "fill", "fields"), CASES.values(), ids=CASES)
def test_no_turn_writes_all(name: str, fill: Callable[[SimEngine], None], fields: dict[str, Any]) -> None:
    """What is asked for again is written again, and an answer of that length is made and written in steps."""
    lab = SimEngine(AUTHORIZER if "Acls" in name else None)
    fill(lab)
    client = client_of(lab, "root")
    version = lab.engine.listeners[0].versions[api(name).key][1]
    data = framed(encode_request(from_json(api(name).request, version, fields), version, 1, "test"))
    connection = client.socket.connection

    count = sum(1 for _ in turns(lab, connection, data, cost=lambda work: int(bool(work()))))

    size_bytes = connection.out_bytes
    assert size_bytes > TIMES / 2 * TEXTS * len(TEXT)
    assert size_bytes / count < MOST_BYTES
    assert lab.engine.errors == []
