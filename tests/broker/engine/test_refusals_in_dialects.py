"""Every way to refuse a request, in every overlay of every dialect: rights, quotas, faults, errors."""

from itertools import product
from typing import Any

import pytest

from fakebroker.broker.core.events import ClientThrottled
from fakebroker.broker.core.quotas.client_quotas import REQUEST_PERCENTAGE, make_entity
from fakebroker.broker.engine.error_response import error_response
from fakebroker.broker.engine.faults.naming import nameable, names_of
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.broker.engine.journal import Recorded
from fakebroker.broker.engine.subjects import errors_of
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import finished
from fakebroker.protocol.schema.types import ArrayOf, Primitive
from fakebroker.protocol.wire.dialects import Overlay
from fakebroker.protocol.wire.drafts import Kip88DescribeGroupsRequest, Kip88DescribeGroupsResponse
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from tests.support.dialects import NAMES_OF_OVERLAYS, OVERLAYS, ask_draft, dialect_lab
from tests.support.engine import Client, SimEngine
from tests.support.frames import OffsetRow
from tests.support.rights import AUTHORIZER, allow, client_of

CODE = ErrorCode.NOT_COORDINATOR
TOPICS, GROUPS = ("n0", "n1"), ("n0", "n1")  # what `filled` names
in_every_overlay = pytest.mark.parametrize(("dialect", "overlay"), OVERLAYS, ids=NAMES_OF_OVERLAYS)


def filled(declaration: Any, number: int = 0) -> Any:
    """A request in which every list has two entries: topics or groups n0 and n1, partitions 0 and 1."""
    if isinstance(declaration, Primitive):
        return {str: f"n{number}", int: number}.get(type(declaration.zero), b"")
    values: dict[str, Any] = {}
    for spec in declaration.fields:
        if isinstance(spec.type, ArrayOf):
            values[spec.name] = [filled(spec.type.element, each) for each in (0, 1)]
        else:
            values[spec.name] = -1 if spec.name == "generation_id" else filled(spec.type, number)
    if declaration.is_row:
        return tuple(values.values())
    return declaration(**values | ({"member_id": ""} if "member_id" in values else {}))


def asked(client: Client, overlay: Overlay) -> Any:
    answer = ask_draft(client, overlay, filled(overlay.request))
    assert answer is not None, client.socket.connection.close_reason
    return answer


def codes(answer: Any) -> set[int]:
    """All codes in an answer but 0."""
    return {found.code for found in errors_of(answer)}


def entries(message: Any) -> int:
    """How many entries of a message have a code, or stand for those that have one."""
    if isinstance(message, Kip88DescribeGroupsRequest | Kip88DescribeGroupsResponse):
        return len(message.groups)
    return sum(len(getattr(topic, "partitions", None) or topic.partition_indexes) for topic in message.topics)


def is_well(lab: SimEngine, client: Client) -> bool:
    return lab.engine.errors == [] and not client.socket.is_closed


@pytest.mark.rules("AV-10", "DR-6")
@in_every_overlay
def test_the_error_answer(dialect: str, overlay: Overlay) -> None:
    """Every entry of the request has the code, and the answer can be written."""
    request = filled(overlay.request)

    answer = finished(error_response(overlay.response, request, overlay.version, CODE))

    assert overlay.response.decode(answer.encode(overlay.version), overlay.version)[0] == answer, dialect
    found = list(errors_of(answer))
    assert {each.code for each in found} == {CODE}
    assert len(found) == entries(answer) == entries(request)


@pytest.mark.rules("AU-4", "DR-6")
@in_every_overlay
@pytest.mark.parametrize("rights", [*product((False, True), (0, 1, 2), (0, 1, 2))], ids=str)
def test_rights(dialect: str, overlay: Overlay, rights: tuple[bool, int, int]) -> None:
    """Every entry without the right has its code, those with it have none, and nothing else comes of the request."""
    is_named, topics, groups = rights  # with rights on how many of them, by name or on all of their type
    lab = dialect_lab(dialect, **AUTHORIZER)
    asked(client_of(lab, "root"), overlay)
    for kind, names, count in (("TOPIC", TOPICS, topics), ("GROUP", GROUPS, groups)):
        for name in names[:count] if is_named or count < 2 else ["*"]:
            allow(lab, "ALL", kind, name)
    client = client_of(lab)

    answer = asked(client, overlay)

    assert is_well(lab, client)
    has_topics = any(spec.name == "topics" for spec in overlay.request.fields)
    expected = {ErrorCode.GROUP_AUTHORIZATION_FAILED} if groups < (1 if has_topics else 2) else set[ErrorCode]()
    if has_topics and groups and topics < 2:
        expected.add(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert codes(answer) == expected
    assert entries(answer) == entries(filled(overlay.request))


@pytest.mark.rules("AU-6", "DR-10")
def test_offsets_of_topics_that_may_not_be_described() -> None:
    """The early KIP-88 shows a group the offsets of which topics the client may describe, and no other."""
    dialect, overlay = next(each for each in OVERLAYS if each[1].request is Kip88DescribeGroupsRequest)
    lab = dialect_lab(dialect, **AUTHORIZER)
    root, client = client_of(lab, "root"), client_of(lab)
    rows: list[OffsetRow] = [(index, 5, -1, -1, "") for index in (0, 1)]
    topics = [OffsetCommitRequestTopic(name=name, partitions=rows) for name in TOPICS]
    root.ask("OffsetCommit", 7, group_id="n0", generation_id_or_member_epoch=-1, topics=topics)
    allow(lab, "DESCRIBE", "GROUP", "*")

    def offsets(of: Client) -> list[Any]:
        return [offset[:2] for group in asked(of, overlay).groups for offset in group.offsets]

    assert offsets(root) == [("n0", 0), ("n0", 1), ("n1", 0), ("n1", 1)]
    assert offsets(client) == []
    allow(lab, "DESCRIBE", "TOPIC", "n1")
    assert offsets(client) == [("n1", 0), ("n1", 1)]
    assert is_well(lab, client)


FAULTS: list[dict[str, Any]] = [
    {},
    {"topic": "n1"},
    {"partition": 1},
    {"group": "n0"},
    {"group": "n1"},
    {"topic": "*"},
    {"group": "*"},
]


@pytest.mark.rules("AV-10", "DR-6")
@in_every_overlay
@pytest.mark.parametrize("after", ["received", "applied"])
@pytest.mark.parametrize("meant", FAULTS, ids=str)
def test_faults_with_an_error(dialect: str, overlay: Overlay, meant: dict[str, Any], after: str) -> None:
    """What the fault means has its code, the rest is answered as ever, and no entry is lost."""
    lab = dialect_lab(dialect)
    client = lab.client()
    before = codes(asked(client, overlay))
    spec = FaultSpec.of({"api": overlay.name, "error": CODE.name, "after": after, "throttle_ms": 5, **meant})
    if not all(getattr(nameable(overlay.request), field) for field in meant):
        return  # such a fault cannot be set: DescribeGroups names no topics
    fault = lab.engine.faults.add(spec)

    answer = asked(client, overlay)

    assert is_well(lab, client)
    assert entries(answer) == entries(filled(overlay.request))
    named = names_of(filled(overlay.request), lab.cluster.topics)
    is_hit = any(all(value in ("*", getattr(each, field)) for field, value in meant.items()) for each in named)
    assert fault.hits == is_hit
    assert codes(answer) - before == ({CODE} if is_hit else set())


@pytest.mark.rules("QU-7", "DR-6")
@in_every_overlay
def test_quotas(dialect: str, overlay: Overlay) -> None:
    """A throttled client has the answer, which has no field for the time, and is read again when that is over."""
    lab = dialect_lab(dialect, **{"fakebroker.request.time.us": 1_000_000})
    lab.cluster.client_quotas.alter(make_entity({"client-id": None}), {REQUEST_PERCENTAGE: 1.0})
    client = lab.client()

    for _ in range(3):
        asked(client, overlay)
        lab.network.advance(3_600_000)

    assert is_well(lab, client)
    events = [each.event for each in lab.journal.entries() if isinstance(each, Recorded)]
    assert len([each for each in events if isinstance(each, ClientThrottled)]) == 3
