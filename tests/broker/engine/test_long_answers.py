"""Answers that grow with what the cluster has: they are made in steps, between which others are served."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from fakebroker.broker.apis import (
    describe_acls,
    describe_client_quotas,
    describe_user_scram_credentials,
    offset_fetch,
)
from fakebroker.protocol.wire.messages.alter_client_quotas import EntityData, EntryData, OpData
from fakebroker.protocol.wire.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from fakebroker.protocol.wire.messages.create_acls import AclCreation
from tests.support.engine import Client, SimEngine
from tests.support.rights import AUTHORIZER, ask, client_of

COUNT = 5
ANY = 1  # in filters of ACLs


class Case(NamedTuple):
    """An API whose answer lists what `fill` made, and the constant that says how much of it is a step."""

    name: str
    version: int
    fields: dict[str, Any]
    fill: Callable[[Client], None]
    module: ModuleType
    step: str
    rows: Callable[[Any], list[Any]]


def some_acls(client: Client) -> None:
    creations = [
        AclCreation(
            resource_type=2,
            resource_name=f"topic-{number}",
            resource_pattern_type=3,
            principal="User:alice",
            host="*",
            operation=3,
            permission_type=3,
        )
        for number in range(COUNT)
    ]
    client.ask("CreateAcls", 3, creations=creations)


def some_quotas(client: Client) -> None:
    entries = [
        EntryData(
            entity=[EntityData(entity_type="user", entity_name=f"user-{number}")],
            ops=[OpData(key="consumer_byte_rate", value=1000.0)],
        )
        for number in range(COUNT)
    ]
    client.ask("AlterClientQuotas", 1, entries=entries)


def some_credentials(client: Client) -> None:
    upsertions = [
        ScramCredentialUpsertion(
            name=f"user-{number}", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"x" * 32
        )
        for number in range(COUNT)
    ]
    client.ask("AlterUserScramCredentials", 0, upsertions=upsertions)


CASES = [
    Case(
        "DescribeAcls",
        3,
        {
            "resource_type_filter": ANY,
            "resource_name_filter": None,
            "pattern_type_filter": ANY,
            "principal_filter": None,
            "host_filter": None,
            "operation": ANY,
            "permission_type": ANY,
        },
        some_acls,
        describe_acls,
        "ENTRIES_PER_STEP",
        lambda answer: [acl for resource in answer.resources for acl in resource.acls],
    ),
    Case(
        "DescribeClientQuotas",
        1,
        {"components": [], "strict": False},
        some_quotas,
        describe_client_quotas,
        "ENTITIES_PER_STEP",
        lambda answer: answer.entries,
    ),
    Case(
        "DescribeUserScramCredentials",
        0,
        {"users": None},
        some_credentials,
        describe_user_scram_credentials,
        "USERS_PER_STEP",
        lambda answer: answer.results,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_others_are_served_while_a_long_answer_is_made(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer has all that there is, in as many steps as it takes."""
    monkeypatch.setattr(case.module, case.step, 1)
    lab = SimEngine(AUTHORIZER)
    client = client_of(lab, "root")
    case.fill(client)
    works: list[int] = []
    monkeypatch.setattr(lab.engine, "begin", lambda work: (works.append(1), type(lab.engine).begin(lab.engine, work)))

    answer = client.ask(case.name, case.version, **case.fields)

    assert works == [1, 1]  # to make it, and to write it
    assert len(case.rows(answer)) == COUNT
    assert lab.engine.errors == []


@pytest.mark.parametrize("version", range(1, 11))
def test_many_offsets_of_one_topic_are_a_long_answer(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is how many offsets are answered: one group, and one topic, may have very many of them."""
    monkeypatch.setattr(offset_fetch, "ROWS_PER_STEP", COUNT - 1)
    lab = SimEngine()
    client = lab.client()
    lab.cluster.topics.create("t", COUNT, 1)
    partitions = [{"PartitionIndex": number, "CommittedOffset": 1} for number in range(COUNT)]
    topics = [{"Name": "t", "Partitions": partitions}]
    ask(client, "OffsetCommit", 2, GroupId="g", GenerationIdOrMemberEpoch=-1, MemberId="", Topics=topics)
    works: list[int] = []
    monkeypatch.setattr(lab.engine, "begin", lambda work: (works.append(1), type(lab.engine).begin(lab.engine, work)))

    wanted = {"Topics": None if version > 1 else [{"Name": "t", "PartitionIndexes": [*range(COUNT)]}]}
    group = {"GroupId": "g", **wanted}
    answer = ask(client, "OffsetFetch", version, **({"Groups": [group]} if version >= 8 else group))

    [topic] = (answer.groups[0] if version >= 8 else answer).topics
    assert len(topic.partitions) == COUNT
    assert works == [1]
    assert lab.engine.errors == []
