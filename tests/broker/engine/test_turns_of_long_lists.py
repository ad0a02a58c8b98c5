"""Requests that change very much, each entry something else: no turn does all of it."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.protocol.wire.messages import add_partitions_to_txn as txn
from fakebroker.protocol.wire.messages import alter_client_quotas as quotas
from fakebroker.protocol.wire.messages import alter_user_scram_credentials as scram
from fakebroker.protocol.wire.messages import create_acls as acls
from fakebroker.protocol.wire.messages import create_partitions as grown
from fakebroker.protocol.wire.messages import delete_acls as deleted
from fakebroker.protocol.wire.messages import describe_quorum as quorum
from fakebroker.protocol.wire.messages import describe_share_group_offsets as share
from fakebroker.protocol.wire.messages import describe_topic_partitions as paged
from fakebroker.protocol.wire.messages import elect_leaders as elected
from fakebroker.protocol.wire.messages import incremental_alter_configs as incremental
from fakebroker.protocol.wire.messages import update_features as updates
from fakebroker.protocol.wire.messages.describe_log_dirs import DescribableLogDirTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.rights import AUTHORIZER, client_of
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns
from tests.support.work_counter import calls_of, operations_of

FEW, MANY = 100, 500
SCALE = 100  # requests are so much shorter than in an attack; so are steps
READ = 15  # calls of an entry in one turn: what it takes to read it, and less than to do what it says
SHORT = 3  # an entry is a name
PLAIN = 6  # an entry is a name, a number and a text
ALMOST_NONE = 1  # an entry is a number, which is read with all others at once
Cost = Callable[[Callable[[], object]], int]


def quotas_of_users(count: int) -> dict[str, Any]:
    """With one that comes twice, and one that cannot be."""
    op = quotas.OpData(key="producer_byte_rate", value=1e9)
    named = [[quotas.EntityData(entity_type="user", entity_name=f"u{number // 2}")] for number in range(count)]
    return {"entries": [quotas.EntryData(entity=each, ops=[op]) for each in [*named, []]]}


def quotas_of_a_user(count: int) -> dict[str, Any]:
    """That are removed: of these any may be named."""
    ops = [quotas.OpData(key=f"k{number}", remove=True) for number in range(count)]
    return {"entries": [quotas.EntryData(entity=[quotas.EntityData(entity_type="user", entity_name="u")], ops=ops)]}


def names_of_an_entity(count: int) -> dict[str, Any]:
    """Of types that there are not."""
    entity = [quotas.EntityData(entity_type=f"t{number}", entity_name="") for number in range(count)]
    return {"entries": [quotas.EntryData(entity=entity, ops=[])]}


def rules(count: int) -> dict[str, Any]:
    """Without an authorizer."""
    fields: dict[str, Any] = {"resource_type": 2, "resource_pattern_type": 3, "operation": 3, "permission_type": 3}
    names: dict[str, Any] = {"resource_name": "t", "principal": "User:a", "host": "*"}
    return {"creations": [acls.AclCreation(**fields, **names) for _ in range(count)]}


def filters(count: int) -> dict[str, Any]:
    """Without an authorizer."""
    fields: dict[str, Any] = {"pattern_type_filter": 3, "operation": 3, "permission_type": 3}
    return {"filters": [deleted.DeleteAclsFilter(resource_type_filter=2, **fields) for _ in range(count)]}


def features(count: int) -> dict[str, Any]:
    """One again and again."""
    each = updates.FeatureUpdateKey(feature="group.version", max_version_level=1, upgrade_type=1)
    return {"timeout_ms": 1000, "feature_updates": [each] * count, "validate_only": True}


def elections(count: int, election_type: int = 0) -> dict[str, Any]:
    """Of partitions of one topic, that there are not."""
    topic = elected.TopicPartitions(topic="t", partitions=list(range(1, count)))
    return {"election_type": election_type, "topic_partitions": [topic], "timeout_ms": 1000}


def elections_of_an_unknown_type(count: int) -> dict[str, Any]:
    return elections(count, 7)


def users(count: int) -> dict[str, Any]:
    each = [f"u{number}" for number in range(count // 2)]
    return {
        "deletions": [scram.ScramCredentialDeletion(name=f"not {name}", mechanism=1) for name in each],
        "upsertions": [
            scram.ScramCredentialUpsertion(name=name, mechanism=1, iterations=4096, salt=b"s", salted_password=b"p")
            for name in each
        ],
    }


def transactions(count: int) -> dict[str, Any]:
    topic = txn.AddPartitionsToTxnTopic(name="t", partitions=[0])
    fields: dict[str, Any] = {"producer_id": 1, "producer_epoch": 1, "verify_only": True, "topics": [topic]}
    return {
        "transactions": [
            txn.AddPartitionsToTxnTransaction(transactional_id=f"x{number}", **fields) for number in range(count)
        ]
    }


def partitions_of_a_transaction(count: int) -> dict[str, Any]:
    """That there are not."""
    topic = txn.AddPartitionsToTxnTopic(name="t", partitions=list(range(1, count)))
    return {"v3_and_below_transactional_id": "x", "v3_and_below_topics": [topic]}


def verified_partitions(count: int) -> dict[str, Any]:
    """One again and again."""
    topic = txn.AddPartitionsToTxnTopic(name="t", partitions=[0] * count)
    one = txn.AddPartitionsToTxnTransaction(transactional_id="x", producer_id=1, verify_only=True, topics=[topic])
    return {"transactions": [one]}


def partitions_of_a_quorum(count: int) -> dict[str, Any]:
    asked = [quorum.PartitionData(partition_index=number) for number in range(count)]
    return {"topics": [quorum.TopicData(topic_name="t", partitions=asked)]}


def partitions_of_a_share_group(count: int) -> dict[str, Any]:
    """That there is not."""
    topic = share.DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=list(range(count)))
    return {"groups": [share.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=[topic])]}


def topics_to_grow(count: int) -> dict[str, Any]:
    """That there are not."""
    topics = [grown.CreatePartitionsTopic(name=f"u{number}", count=2) for number in range(count)]
    return {"topics": topics, "timeout_ms": 1000}


def topics_to_describe(count: int) -> dict[str, Any]:
    """That there are not."""
    return {"topics": [paged.TopicRequest(name=f"u{number}") for number in range(count)]}


def configs_of_a_resource(count: int, resource_type: int = 2) -> dict[str, Any]:
    configs = [incremental.AlterableConfig(name=f"c{number}", value="") for number in range(count)]
    resource = incremental.AlterConfigsResource(resource_type=resource_type, resource_name="1", configs=configs)
    return {"resources": [resource]}


def configs_of_a_broker(count: int) -> dict[str, Any]:
    return configs_of_a_resource(count, 4)


def dearest(name: str, version: int, fields: dict[str, Any], user: str | None = None, cost: Cost = calls_of) -> int:
    """The calls of the dearest turn, or what it costs otherwise; `user` is one without rights."""
    lab = SimEngine(None if user is None else AUTHORIZER)
    lab.cluster.topics.create("t")
    client = lab.client() if user is None else client_of(lab, user)
    client.ask("FindCoordinator", 4, key_type=1, coordinator_keys=["x"])
    found = max(turns(lab, client.socket.connection, request(name, version, **fields), cost))
    lab.network.flush()
    assert client.answer(name, version) is not None
    assert lab.engine.errors == []
    return found


@pytest.mark.parametrize(
    ("name", "version", "asked", "most_calls"),
    [
        ("AlterClientQuotas", 1, quotas_of_users, READ),
        ("AlterUserScramCredentials", 0, users, READ),
        ("AddPartitionsToTxn", 4, transactions, READ),
        ("AddPartitionsToTxn", 3, partitions_of_a_transaction, ALMOST_NONE),
        ("AddPartitionsToTxn", 5, verified_partitions, ALMOST_NONE),
        ("DescribeQuorum", 2, partitions_of_a_quorum, ALMOST_NONE),
        ("CreatePartitions", 3, topics_to_grow, READ),
        ("DescribeTopicPartitions", 0, topics_to_describe, SHORT),
        ("DescribeShareGroupOffsets", 1, partitions_of_a_share_group, ALMOST_NONE),
    ],
)
def test_no_turn_does_all(
    name: str, version: int, asked: Any, most_calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some 100,000 entries, or a million numbers, fit into 5 MB, and take seconds together."""
    make_steps_smaller(monkeypatch, SCALE)
    dearest(name, version, asked(FEW))  # the first may load and compile things
    few, many = (dearest(name, version, asked(count)) for count in (FEW, MANY))
    assert many - few < (MANY - FEW) * most_calls


@pytest.mark.parametrize(
    ("name", "version", "asked"),
    [
        ("AlterClientQuotas", 1, quotas_of_a_user),
        ("AlterClientQuotas", 1, names_of_an_entity),
        ("CreateAcls", 3, rules),
        ("DeleteAcls", 3, filters),
        ("UpdateFeatures", 1, features),
        ("ElectLeaders", 2, elections),
        ("ElectLeaders", 2, elections_of_an_unknown_type),
    ],
)
def test_no_turn_loops_over_all(name: str, version: int, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes no calls takes its time, too: 495,000 such entries took 0.4 to 0.7 s in one turn."""
    make_steps_smaller(monkeypatch, SCALE)
    few, many = [dearest(name, version, asked(count), cost=handled) for count in (FEW, FEW, MANY)][1:]
    assert many - few < (MANY - FEW) * ALMOST_NONE


def handled(turn: Callable[[], object]) -> int:
    """The operations of handlers in a turn."""
    return operations_of(turn, lambda frame: "/broker/apis/" in frame.f_code.co_filename)


def test_filters_that_nobody_knows_are_refused_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an authorizer: each of them has its own answer."""
    make_steps_smaller(monkeypatch, SCALE)

    def unknown(count: int) -> dict[str, Any]:
        asked = filters(count)
        for each in asked["filters"]:
            each.operation = 100
        return asked

    few, many = [dearest("DeleteAcls", 3, unknown(count), "root", handled) for count in (1000, 1000, 2000)][1:]
    assert many - few < 1000 * ALMOST_NONE


@pytest.mark.parametrize("asked", [configs_of_a_resource, configs_of_a_broker])
def test_what_is_looked_at_before_rights_has_turns(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configs of one resource, of a client without any right."""
    make_steps_smaller(monkeypatch, SCALE)
    few, many = [dearest("IncrementalAlterConfigs", 1, asked(count), "mallory") for count in (FEW, FEW, MANY)][1:]
    assert many - few < (MANY - FEW) * PLAIN


@pytest.mark.parametrize(
    ("name", "version", "fields"),
    [
        ("AddPartitionsToTxn", 4, transactions(10)),
        ("DescribeLogDirs", 4, {"topics": [DescribableLogDirTopic(topic="t", partitions=[0])] * 10}),
        ("Metadata", 12, {"topics": [MetadataRequestTopic(name=f"t{number}") for number in range(10)]}),
    ],
)
def test_entries_that_take_long_have_turns_of_their_own(name: str, version: int, fields: dict[str, Any]) -> None:
    """Of a few entries each may stand for very much: the stopwatch ends a step that the count does not."""
    lab = SimEngine()
    lab.cluster.topics.create("t")
    client = lab.client()
    client.ask("FindCoordinator", 4, key_type=1, coordinator_keys=["x"])
    passed_s = itertools.count()
    lab.cluster.timers.passes.stopwatch = lambda: float(next(passed_s))
    data = request(name, version, **fields)
    assert len([*turns(lab, client.socket.connection, data)]) > 4
    lab.network.flush()
    assert client.answer(name, version) is not None
