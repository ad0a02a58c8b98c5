"""Long lists of entries that hold nothing, or one short thing: no turn makes the answer to all of them."""

from copy import copy
from typing import Any

import pytest

from fakebroker.broker.apis import offset_commit, offset_fetch, txn_offset_commit
from fakebroker.broker.engine import dispatch
from fakebroker.protocol.schema import emit_decode
from fakebroker.protocol.schema.types import ArrayOf, Primitive
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.registry import APIS, Api
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.long_lists import NAME, Path, list_paths, with_many
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns

FEW, MANY = 200, 800
SCALE = 100  # requests are so much shorter than in an attack; so are steps
MOST_CALLS = 300_000  # of a turn for each MB of the request: some 0.06 s
THING = NAME.format(0)  # topic and group, which all entries name
SENT: dict[str, Any] = {  # what would be refused as a whole otherwise
    "timeout_ms": 60_000, "generation_id_or_member_epoch": -1, "generation_id": -1, "member_epoch": 0, "acks": -1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    make_steps_smaller(monkeypatch, SCALE)
    for module, name in (
        (emit_decode, "BYTES_PER_STEP"),
        (offset_commit, "MAX_AT_ONCE"),
        (offset_fetch, "ROWS_AT_ONCE"),
        (txn_offset_commit, "MAX_AT_ONCE"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name) // SCALE)
    monkeypatch.setattr(dispatch, "LONG_FRAME_BYTES", 0)  # a shorter Produce is decoded at once


def with_short(declaration: Any, version: int, path: Path, count: int, *, is_empty: bool) -> dict[str, Any]:
    """The fields of a request with so many entries in the list at `path`, all alike; empty: without lists of theirs."""
    fields = with_many(declaration, version, path, 1, same=True)
    values: Any = fields
    *way, last = path
    for name in way:
        spec = next(each for each in declaration.fields if each.name == name)
        values = values[name] if isinstance(values, dict) else getattr(values, name)
        declaration = spec.type
        if isinstance(declaration, ArrayOf):
            declaration, values = declaration.element, values[0]
    element = next(each for each in declaration.fields if each.name == last).type.element
    (entry,) = values[last] if isinstance(values, dict) else getattr(values, last)
    entries = [_without_lists(element, version, entry) if is_empty else entry] * count
    if isinstance(values, dict):
        values[last] = entries
    else:
        setattr(values, last, entries)
    return fields | {name: value for name, value in SENT.items() if name in fields}


def _without_lists(element: Any, version: int, entry: Any) -> Any:
    if isinstance(element, Primitive):
        return entry
    if element.is_row:
        each = zip(element.fields, entry, strict=True)
        return tuple([] if isinstance(spec.type, ArrayOf) else value for spec, value in each)
    entry = copy(entry)
    for spec in element.fields:
        if isinstance(spec.type, ArrayOf) and spec.versions.includes(version):
            setattr(entry, spec.name, [])
    return entry


def dearest(api: Api, version: int, fields: dict[str, Any], as_release: str) -> tuple[int, int]:
    """The calls of the dearest turn, and how long the request is. All frames are read in steps, as long ones are."""
    lab = SimEngine(as_release=as_release)
    lab.cluster.topics.create(THING)
    client = lab.client()
    topic = OffsetCommitRequestTopic(name=THING, partitions=[(0, 5, -1, -1, "")])
    client.ask("OffsetCommit", 2, group_id=THING, generation_id_or_member_epoch=-1, topics=[topic])
    lab.engine.long_list_bytes = 0
    data = request(api.name, version, **fields)
    found = max(turns(lab, client.socket.connection, data))
    assert lab.engine.errors == []
    return found, len(data)


def calls_of_lists(name: str, as_release: str) -> dict[str, int]:
    """The calls of the dearest turn for each MB of a request, for each list of an API that takes too many."""
    api, found = next(each for each in APIS.values() if each.name == name), dict[str, int]()
    served = SimEngine(as_release=as_release).engine.listeners[0].versions
    for version in sorted(set(served[api.key])):
        for path in list_paths(api.request, version):
            for is_empty in (True, False):
                few, many = (with_short(api.request, version, path, each, is_empty=is_empty) for each in (FEW, MANY))
                dearest(api, version, few, as_release)  # the first may load and compile things
                (few_calls, few_bytes), (many_calls, many_bytes) = (
                    dearest(api, version, each, as_release) for each in (few, many)
                )
                calls = (many_calls - few_calls) * 1_000_000 // (many_bytes - few_bytes)
                if calls > MOST_CALLS:
                    found[f"v{version} {'.'.join(path)}{', empty' if is_empty else ''}"] = calls
    return found


SERVED = {release: SimEngine(as_release=release).engine.listeners[0].versions for release in ("4.3", "3.9")}
CASES = [(APIS[key].name, release) for release, served in SERVED.items() for key in served]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "as_release"), CASES)
def test_no_turn_goes_over_all_entries(name: str, as_release: str) -> None:
    """A frame of 4 MB may have a million of them."""
    assert calls_of_lists(name, as_release) == {}
