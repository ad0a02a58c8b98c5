"""A fault of some entries: for every API and version that has error codes in entries."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker.broker.engine.error_response import ENTRIES, MIRRORS, Mirror, element_of, value_of
from fakebroker.broker.engine.faults.entries import Parts, merge_in_steps, mirrors_of, parts_of
from fakebroker.broker.engine.faults.naming import Named, names_of
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import AT_ONCE, finished
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.types import UUID, ArrayOf, Primitive
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.dialects import Overlay
from fakebroker.protocol.wire.registry import APIS, Api
from tests.support.cluster import make_cluster
from tests.support.dialects import OVERLAYS
from tests.support.failing import failing

CODE = ErrorCode.NOT_CONTROLLER
TOPIC_RESOURCE = 2
CLUSTER = make_cluster()
IDS = [CLUSTER.topics.create(name, 2).id for name in ("n0", "n1")]


def filled(declaration: Any, version: int, number: int) -> Any:
    """A request in which every list has two entries, which are about topic n0 and n1, partition 0 and 1."""
    if isinstance(declaration, Primitive):
        if declaration is UUID:
            return IDS[number]
        return {str: f"n{number}", int: number, bool: False}.get(type(declaration.zero), b"")
    values: dict[str, Any] = {}
    for spec in declaration.fields:
        if not spec.versions.includes(version):
            continue
        if isinstance(spec.type, ArrayOf):
            values[spec.name] = [filled(spec.type.element, version, each) for each in (0, 1)]
        elif isinstance(spec.type, Primitive):
            values[spec.name] = TOPIC_RESOURCE if spec.name == "resource_type" else filled(spec.type, version, number)
    if declaration.is_row:
        return tuple(values.get(spec.name, spec.fresh_default()) for spec in declaration.fields)
    return declaration(**values)


def with_entries() -> Iterator[tuple[Api | Overlay, int]]:
    """Every version of the APIs that have entries, and the overlays of dialects."""
    for _, overlay in OVERLAYS:
        yield overlay, overlay.version
    for key in sorted({*MIRRORS, *ENTRIES} & APIS.keys()):
        api = APIS[key]
        for version in range(api.min, api.max + 1):
            yield api, version


def codes(declaration: Any, answer: Any, mirror: Mirror) -> list[int]:
    """The error code of every entry that can have one, in order."""
    element = element_of(declaration, mirror.answered)
    entries = value_of(declaration, answer, mirror.answered)
    if mirror.inner is None:
        [code_field] = [spec.name for spec in element.fields if spec.entity == "errorCode"]
        return [value_of(element, entry, code_field) for entry in entries]
    return [code for entry in entries for code in codes(element, entry, mirror.inner)]


def put_errors(answer: Message, parts: Parts, version: int, code: ErrorCode) -> None:
    for _ in merge_in_steps(answer, finished(parts.errors(type(answer), version, code))):
        pass


def is_n1(named: Named) -> bool:
    return "n1" in (named.topic, named.group)


def is_partition_1(named: Named) -> bool:
    return named.partition == 1


def check_chosen(api: Api | Overlay, version: int, is_chosen: Callable[[Named], bool]) -> None:
    request = filled(api.request, version, 0)
    mirrors = mirrors_of(api.response, api.request, of_groups=False)
    parts = finished(parts_of(request, mirrors, is_chosen, CLUSTER.topics, AT_ONCE))
    names = list(names_of(request, CLUSTER.topics))
    if not any(map(is_chosen, names)):
        assert parts.chosen is None
        assert parts.rest is request
        return
    if parts.chosen is None:  # no entries of its answer are about it
        assert api.name in ("FindCoordinator", "DescribeLogDirs")
        return
    everything = finished(parts_of(request, mirrors, lambda _named: True, CLUSTER.topics, AT_ONCE))
    answer = api.response()
    put_errors(answer, everything, version, ErrorCode.NONE)
    before = [codes(api.response, answer, mirror) for mirror in mirrors]
    put_errors(answer, parts, version, CODE)
    after = [codes(api.response, answer, mirror) for mirror in mirrors]

    assert [len(each) for each in after] == [len(each) for each in before]
    assert everything.rest is None
    assert any(CODE in each for each in after)
    assert not any(map(is_chosen, names_of(parts.rest, CLUSTER.topics))) or parts.rest is None
    if api.key != ApiKey.FETCH:
        assert api.response.decode(answer.encode(version), version)[0] == answer


@pytest.mark.parametrize("is_chosen", [is_n1, is_partition_1])
def test_just_what_is_chosen_has_the_code(is_chosen: Callable[[Named], bool]) -> None:
    """For every API and version the entries stand for what they stood for, none is lost or twice; what is left of the
    request has the rest.
    """
    found = failing(with_entries(), lambda case: check_chosen(*case, is_chosen), lambda case: f"{case[0]} v{case[1]}")

    assert found == {}
