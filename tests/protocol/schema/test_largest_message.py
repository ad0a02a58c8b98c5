"""How large a message without records may be: looked at before its pieces are joined, in every encoder."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.protocol.errors import AnswerTooLong
from fakebroker.protocol.pace import finished
from fakebroker.protocol.schema import Message, runtime
from fakebroker.protocol.schema.codec_errors import long_strings
from fakebroker.protocol.schema.emit_encode import FEW_PIECES
from fakebroker.protocol.schema.emit_locate import has_records
from fakebroker.protocol.schema.types import ArrayOf, Primitive
from fakebroker.protocol.wire.dialects import Overlay
from fakebroker.protocol.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from fakebroker.protocol.wire.registry import APIS, Api
from tests.support.dialects import OVERLAYS
from tests.support.failing import failing

ENTRIES = 40
MEMBER_BYTES = 1 << 20


def filled(declaration: Any, version: int, depth: int = 0) -> Any:
    """A message in which the outermost lists have `ENTRIES` entries, the others one."""
    values = {}
    for spec in declaration.fields:
        if spec.versions.includes(version) and isinstance(spec.type, ArrayOf):
            element = spec.type.element
            entry = element.zero if isinstance(element, Primitive) else filled(element, version, depth + 1)
            values[spec.name] = [entry] * (1 if depth else ENTRIES)
    if declaration.is_row:
        return tuple(values.get(spec.name, spec.fresh_default()) for spec in declaration.fields)
    return declaration(**values)


def in_steps(response: type[Message], version: int) -> Callable[[Any], Any]:
    """The encoder in steps, all of which are taken at once."""
    encode: Callable[[Any], Any] = response.stepwise_encoder(version)
    return lambda message: finished(encode(message))


def check(case: tuple[Api | Overlay, int], monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns how many encoders were seen to refuse a message."""
    api, version = case
    message = filled(api.response, version)
    pieces = len(api.response.piecer(version)(message))
    size = len(message.encode(version))
    encoders = [in_steps(api.response, version)]
    encoders += [api.response.encoder(version)] if pieces > FEW_PIECES else []
    for encode in encoders:
        monkeypatch.setattr(runtime, "MAX_MESSAGE_BYTES", size)
        encode(message)
        monkeypatch.setattr(runtime, "MAX_MESSAGE_BYTES", size - 1)
        with pytest.raises(AnswerTooLong):
            encode(message)
        monkeypatch.undo()
    return len(encoders)


def test_every_answer_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoders of all APIs, versions and dialects refuse what is larger, and nothing that is not."""
    cases: list[tuple[Api | Overlay, int]] = [
        (api, version)
        for api in APIS.values()
        if not has_records(api.response)
        for version in range(api.min, api.max + 1)
    ]
    cases += [(overlay, overlay.version) for _, overlay in OVERLAYS]
    seen = 0

    def one(case: tuple[Api | Overlay, int]) -> None:
        nonlocal seen
        seen += check(case, monkeypatch)

    assert failing(cases, one) == {}
    assert seen > 1.5 * len(cases)


def repeated(times: int) -> DescribeGroupsResponse:
    """One group with a member of `MEMBER_BYTES`, again and again."""
    group = DescribedGroup(members=[DescribedGroupMember(member_metadata=bytes(MEMBER_BYTES))])
    return DescribeGroupsResponse(groups=[group] * times)


@pytest.mark.parametrize("is_in_steps", [False, True])
def test_what_is_too_large_takes_no_memory(is_in_steps: bool) -> None:
    """An answer of many gigabytes is refused before it is there."""
    tracemalloc = pytest.importorskip("tracemalloc")
    answer, response = repeated(20_000), DescribeGroupsResponse
    encode = in_steps(response, 5) if is_in_steps else response.encoder(5)
    tracemalloc.start()
    try:
        with pytest.raises(AnswerTooLong):
            encode(answer)
        assert tracemalloc.get_traced_memory()[1] < 50 << 20
    finally:
        tracemalloc.stop()


def test_shared_entries_are_looked_at_once() -> None:
    """Whether a string is too long is found out in the time that it takes to look at what is different."""
    group = DescribedGroup(members=[DescribedGroupMember()])
    group.members *= 10_000
    answer = DescribeGroupsResponse(groups=[group] * 100_000)

    assert not any(long_strings(DescribeGroupsResponse, answer))
    answer.groups.append(DescribedGroup(group_id="x" * 40_000))
    assert any(long_strings(DescribeGroupsResponse, answer))
