"""A fault may mean some of half a million entries of one request: no turn takes all of them apart.

Each API is asked with many entries in each of its lists, with and without a fault. What a fault adds to the dearest
turn is counted by calls.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.broker.engine.faults.naming import nameable
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.wire.registry import APIS, api
from tests.support import long_lists
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.long_lists import Path, list_paths, with_many
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns

SCALE = 100  # steps are so much smaller than in an attack
SERVED = SimEngine().engine.listeners[0].versions
FEW, MANY = 250, 500
MOST = 15  # calls of an entry that a fault adds to one turn: writing it is ten at most, taking it apart thirty and more
ERROR = "UNKNOWN_SERVER_ERROR"
MEANT: dict[str, tuple[Any, ...]] = {  # all, some, and one or none
    "topic": ("n*", "*[02468]", "none"),
    "group": ("n*", "*[02468]", "none"),
    "partition": (0,),
    "transactional_id": ("none",),
}
"""What a fault may mean of entries that are called n0, n1 and so on."""


def faults_of(name: str) -> Iterator[dict[str, Any]]:
    """The faults of an API that mean entries, and one that means the whole request."""
    able = nameable(api(name).request)._asdict()
    meant = [{field: value} for field, values in MEANT.items() if able[field] for value in values]
    for one in [*meant, {}] if meant else []:
        for after in ("received", "applied"):
            yield {"api": name, "error": ERROR, "after": after, **one}


def versions_of(name: str) -> list[int]:
    """The newest, and the oldest if it has other lists; none if the release does not serve the API."""
    by_lists = {tuple(list_paths(api(name).request, version)): version for version in SERVED.get(api(name).key, ())}
    return list(by_lists.values())


NAMES = [each.name for each in APIS.values() if versions_of(each.name) and any(faults_of(each.name))]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_turn_takes_a_whole_list_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever of it the fault means, before and after the request is handled."""
    check(name, monkeypatch)


@pytest.mark.parametrize("name", ["DeleteGroups", "OffsetCommit"])
def test_no_turn_takes_the_list_of_some_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, of few APIs."""
    check(name, monkeypatch)


def check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_steps_smaller(monkeypatch, SCALE)
    monkeypatch.setattr(long_lists, "NAME", "n{}")
    found = {}
    for version in versions_of(name):
        for path in list_paths(api(name).request, version):
            plain = growth(name, version, path, None)
            for fault in faults_of(name):
                added = growth(name, version, path, fault) - plain
                if added > (MANY - FEW) * MOST:
                    found[f"v{version} {path} {fault}"] = round(added / (MANY - FEW))
    assert found == {}


def growth(name: str, version: int, path: Path, fault: dict[str, Any] | None) -> int:
    """By how much the dearest turn of a request grows with its entries."""
    dearest(name, version, path, 10, fault)  # the first may load and compile things
    few, many = (dearest(name, version, path, count, fault) for count in (FEW, MANY))
    return many - few


def dearest(name: str, version: int, path: Path, count: int, fault: dict[str, Any] | None) -> int:
    """The calls of the dearest turn."""
    lab = SimEngine()
    if fault is not None:
        lab.engine.faults.add(FaultSpec.of(fault))
    data = request(name, version, **with_many(api(name).request, version, path, count))
    found = max(turns(lab, lab.client().socket.connection, data))
    assert lab.engine.errors == []
    return found
