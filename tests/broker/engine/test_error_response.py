"""The generic error layout: for every API that is served, in every version (AV-10)."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from fakebroker.broker.apis.handlers import handler
from fakebroker.broker.engine.error_response import (
    BESIDE_TOP,
    ENTRIES,
    ITSELF,
    MIRRORS,
    Mirror,
    error_response,
    has_code,
)
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import finished
from fakebroker.protocol.schema.types import ArrayOf, Primitive
from fakebroker.protocol.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from fakebroker.protocol.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from fakebroker.protocol.wire.messages.produce import ProduceRequest, ProduceResponse
from fakebroker.protocol.wire.registry import APIS, Api

CODE = ErrorCode.UNKNOWN_SERVER_ERROR
ERROR_CODES = ("error_code", "partition_error_code")


@pytest.mark.rules("AV-10")
def test_every_version_of_every_api_can_say_that_it_failed() -> None:
    """The answer to an empty request encodes, and decodes to itself."""
    served = list(APIS.values())
    assert len(served) > 30
    for api, version in every_version(served):
        answer = finished(error_response(api.response, api.request(), version, CODE))
        data = answer.encode(version)
        assert api.response.decode(data, version) == (answer, len(data))


def every_version(apis: list[Api]) -> list[tuple[Api, int]]:
    return [(api, version) for api in apis for version in range(api.min, api.max + 1)]


def has_own(api: Api) -> bool:
    return hasattr(handler(api.key), "error_response")


@pytest.mark.parametrize(
    ("mirrors", "key", "expected"),
    [
        (MIRRORS, 15, [Mirror("groups", "groups", {"group_id": ITSELF})]),
        (MIRRORS, 30, [Mirror("results", "creations", {})]),  # ACLs are about nothing that has a field of its own
        (MIRRORS, 35, []),  # DescribeLogDirs answers with directories
        (
            MIRRORS,
            34,
            [
                Mirror(
                    "results",
                    "dirs.topics",
                    {"topic_name": "name"},
                    Mirror("partitions", "partitions", {"partition_index": ITSELF}),
                )
            ],
        ),
        (
            MIRRORS,
            90,
            [Mirror("groups", "groups", {"group_id": "group_id"})],
        ),
        (
            ENTRIES,
            90,
            [
                Mirror(
                    "groups",
                    "groups",
                    {"group_id": "group_id"},
                    Mirror(
                        "topics",
                        "topics",
                        {"topic_name": "topic_name"},
                        Mirror("partitions", "partitions", {"partition_index": ITSELF}),
                    ),
                )
            ],
        ),
        (
            ENTRIES,
            1,
            [
                Mirror(
                    "responses",
                    "topics",
                    {"topic_id": "topic_id", "topic": "topic"},
                    Mirror("partitions", "partitions", {"partition_index": "partition"}),
                )
            ],
        ),
        (BESIDE_TOP, 50, [Mirror("results", "users", {"user": "name"})]),
    ],
)
def test_entries_mirror_what_means_the_same(
    mirrors: Mapping[int, tuple[Mirror, ...]], key: int, expected: list[Mirror]
) -> None:
    """The lists of an answer are paired with those of the request by what their entries are about."""
    assert list(mirrors[key]) == expected


def test_other_apis_have_no_mirrors() -> None:
    """Heartbeat has a code at the top, and nobody serves 9999."""
    assert 12 not in MIRRORS
    assert ENTRIES.get(9999) is None
    assert set(ENTRIES) == {1, 9, 45, 47, 90}


@pytest.mark.rules("AV-10")
def test_an_answer_without_a_code_of_its_own_is_in_the_table() -> None:
    """The table has just the APIs that need it: some version without a code at the top, no layout of its own."""
    served = list(APIS.values())
    needed = {api.key for api, version in every_version(served) if not has_code(api.response, version)}
    assert MIRRORS.keys() == needed - {api.key for api in served if has_own(api)}


def filled(declaration: Any, version: int) -> Any:
    """A request in which every list of the version has two entries, every name and number is not the default."""
    values = {}
    for spec in declaration.fields:
        if not spec.versions.includes(version):
            continue
        kind = spec.type
        if isinstance(kind, ArrayOf):
            values[spec.name] = [entry_of(kind.element, version) for _ in range(2)]
        elif isinstance(kind, Primitive) and type(kind.zero) in (str, int):
            values[spec.name] = entry_of(kind, version)
    if declaration.is_row:
        return tuple(values.get(spec.name, spec.fresh_default()) for spec in declaration.fields)
    return declaration(**values)


def entry_of(element: Any, version: int) -> Any:
    if isinstance(element, Primitive):
        return "name" if isinstance(element.zero, str) else 3
    return filled(element, version)


def repeated_in(mirror: Mirror, element: Any, entries: list[Any], version: int) -> Iterator[tuple[str, Any]]:
    """What the entries of an answer repeat, by the names of its fields."""
    kind = next(spec.type for spec in element.fields if spec.name == mirror.answered)
    assert isinstance(kind, ArrayOf)
    inner: Any = kind.element
    columns = {spec.name: place for place, spec in enumerate(inner.fields) if spec.versions.includes(version)}
    for entry in entries:
        for name in (*mirror.repeated, *(ERROR_CODES if has_code(inner, version) else ())):
            if name in columns and name != "topic_id":
                yield name, entry[columns[name]] if inner.is_row else getattr(entry, name)
        if mirror.inner:
            yield from repeated_in(mirror.inner, inner, getattr(entry, mirror.inner.answered), version)


@pytest.mark.rules("AV-10")
@pytest.mark.parametrize("key", MIRRORS)
def test_every_entry_asked_for_is_answered_by_its_name(key: int) -> None:
    """In every version each entry of the request has one in the answer, which names it and has the code."""
    api = APIS[key]
    for version in range(api.min, api.max + 1):
        answer = finished(error_response(api.response, filled(api.request, version), version, CODE))
        assert api.response.decode(answer.encode(version), version)[0] == answer
        if has_code(api.response, version):
            continue
        found = [
            each
            for mirror in {mirror.answered: mirror for mirror in MIRRORS[key]}.values()
            for each in repeated_in(mirror, api.response, getattr(answer, mirror.answered), version)
        ]
        assert all(
            value == (CODE if name in ERROR_CODES else "name" if isinstance(value, str) else 3) for name, value in found
        )
        if key != 35:  # DescribeLogDirs
            assert sum(name in ERROR_CODES for name, _ in found) in (2, 4, 8), (api, version)


def named(entries: list[Any]) -> list[tuple[str, int]]:
    return [(entry.group_id, entry.error_code) for entry in entries]


@pytest.mark.rules("AV-10")
def test_a_list_of_bare_names_becomes_entries_with_codes() -> None:
    """DescribeGroups asks by name only."""
    answer = finished(error_response(DescribeGroupsResponse, DescribeGroupsRequest(groups=["a", "b"]), 5, CODE))
    assert named(answer.groups) == [("a", ErrorCode.UNKNOWN_SERVER_ERROR), ("b", ErrorCode.UNKNOWN_SERVER_ERROR)]


@pytest.mark.rules("AV-10")
def test_nested_lists_of_bare_numbers_become_entries_with_codes() -> None:
    """OffsetFetch before v2 has no code but those of partitions; from v2 on one at the top says it all."""
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[4, 6])])
    old = finished(error_response(OffsetFetchResponse, request, 1, CODE))
    new = finished(error_response(OffsetFetchResponse, request, 2, CODE))
    assert [(topic.name, [(row[0], row[-1]) for row in topic.partitions]) for topic in old.topics] == [
        ("t", [(4, -1), (6, -1)])
    ]
    assert (new.error_code, new.topics) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])


@pytest.mark.rules("AV-10")
def test_lists_by_other_names_are_found() -> None:
    """Produce asks in topic_data and answers in responses."""
    request = ProduceRequest(acks=1, topic_data=[topic_data("t", 3)])
    answer = finished(error_response(ProduceResponse, request, 9, CODE))
    decoded, _ = ProduceResponse.decode(answer.encode(9), 9)
    assert [topic.name for topic in decoded.responses] == ["t"]
    assert repr(decoded).count("-1") >= 1


def topic_data(name: str, partition: int) -> Any:
    from fakebroker.protocol.wire.messages import produce

    data = produce.PartitionProduceData(index=partition, records=None)
    return produce.TopicProduceData(name=name, partition_data=[data])
