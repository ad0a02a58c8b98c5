"""Brokers with very many ACLs: no turn looks at all of them, whoever asks for what."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.delete_acls import DeleteAclsFilter
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from tests.support.frames import request
from tests.support.rights import Permission, client_of, guarded_lab, rule
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns
from tests.support.work_counter import operations_of

FEW, MANY = 200, 1_200
MOST_OF_ENTRY = 20  # operations of a turn for each entry: what a list of them takes, and no look at any
NAMES = 20
ANY, MATCH = 1, 2
TOPICS = [MetadataRequestTopic(topic_id=ZERO_UUID, name=f"name{number}") for number in range(NAMES)]
NOBODYS: dict[str, Any] = {
    "resource_type_filter": ANY, "pattern_type_filter": MATCH, "principal_filter": "User:nobody", "operation": ANY,
    "permission_type": ANY,
}  # fmt: skip
REQUESTS: list[tuple[str, str, int, dict[str, Any]]] = [
    ("root", "DescribeAcls", 3, NOBODYS),
    ("root", "DeleteAcls", 3, {"filters": [DeleteAclsFilter(**NOBODYS)]}),
    ("stranger", "InitProducerId", 4, {"transactional_id": None, "transaction_timeout_ms": 1_000}),
    ("stranger", "Metadata", 12, {"topics": TOPICS, "include_topic_authorized_operations": True}),
]  # fmt: skip


def turns_among(user: str, data: bytes, count: int, names: str) -> Iterator[int]:
    """What the turns of a request cost, where there are so many ACLs: of one name, or of one each."""
    lab = guarded_lab()
    assert lab.cluster.authorizer is not None
    for number in range(count):
        permission = Permission.DENY if number % 2 else Permission.ALLOW
        entry = rule("WRITE", name=names.format(number), permission=permission, principal=f"User:{number}")
        lab.cluster.authorizer.acls.add(entry)
    client = client_of(lab, user)
    yield from turns(lab, client.socket.connection, data, operations_of)
    assert lab.engine.errors == []
    lab.network.flush()
    assert client.socket.take()


@pytest.mark.parametrize("names", ["*", "name{}"])
@pytest.mark.parametrize(("user", "name", "version", "fields"), REQUESTS, ids=[each[1] for each in REQUESTS])
def test_no_turn_looks_at_all(
    user: str, name: str, version: int, fields: dict[str, Any], names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a request lists them, or asks for rights of somebody about whom there is none, or few."""
    make_steps_smaller(monkeypatch, 100)
    data = request(name, version, **fields)
    max(turns_among(user, data, FEW, names))  # the first may load things
    few, many = (max(turns_among(user, data, count, names)) for count in (FEW, MANY))
    assert many - few < (MANY - FEW) * MOST_OF_ENTRY
