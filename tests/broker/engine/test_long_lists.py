"""Requests with very many entries in a list: the work grows with them, and the answer can be written."""

from typing import Any

import pytest

from fakebroker.protocol.wire.registry import APIS, api
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.long_lists import NAME, Path, list_paths, with_many
from tests.support.rights import AUTHORIZER, client_of
from tests.support.work_counter import calls_of

NAMES = [each.name for each in APIS.values()]
FEW, MANY = 50, 200
FIXED_CALLS = 1000  # of a request that is dear for other reasons than its entries
DEAR_CALLS = 300  # of one entry
VERY_MANY = 2_000
TOO_MANY_FOR_A_TEXT = 12_000  # even `0, 0, ...` is longer than 32 KB then


def newest(name: str) -> int:
    """The newest version of an API that is served."""
    return SimEngine().engine.listeners[0].versions[api(name).key][1]


def lab_with_topics(count: int = 20) -> SimEngine:
    """A broker with an authorizer, and with topics whose names are those of entries."""
    lab = SimEngine(AUTHORIZER)
    for number in range(count):
        lab.cluster.topics.create(NAME.format(number), 1, 1)
    return lab


def asked(name: str, version: int, target: Path, count: int, same: bool) -> tuple[SimEngine, Any, bytes]:
    """A broker, a client and what it will send."""
    lab = lab_with_topics(1 if same else min(count, VERY_MANY))
    fields = with_many(api(name).request, version, target, count, same)
    return lab, client_of(lab, "root"), request(name, version, **fields)


def calls(name: str, version: int, target: Path, count: int, same: bool) -> int:
    """What one request costs; the second of two, since the first may load and compile things."""
    work = 0
    for _ in range(2):
        _, client, data = asked(name, version, target, count, same)
        work = calls_of(lambda: client.socket.send(data))  # noqa: B023
    return work


@pytest.mark.parametrize("same", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("name", NAMES)
def test_the_work_grows_with_the_entries(name: str, same: bool) -> None:
    """Four times as many entries, in any list of any request, cost about four times as many calls.

    Where an entry costs much, other clients have their turn between those of one request.
    """
    version = newest(name)
    for target in list_paths(api(name).request, version):
        few, many = (calls(name, version, target, count, same) for count in (FEW, MANY))
        assert many < 5 * few + FIXED_CALLS, (target, few, many)
        if many > DEAR_CALLS * MANY and not same:
            assert first_turn(name, version, target, VERY_MANY) < DEAR_CALLS * VERY_MANY, target


def first_turn(name: str, version: int, target: Path, count: int) -> int:
    """What the first turn of a request costs, before another client has its own."""
    lab, client, data = asked(name, version, target, count, same=False)
    connection, now = client.socket.connection, lab.network.now
    work = calls_of(lambda: connection.receive(data, now))
    lab.network.flush()
    assert lab.engine.errors == []
    return work


@pytest.mark.slow
@pytest.mark.rules("AV-10")
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_no_text_lists_what_was_sent(name: str, same: bool, caplog: pytest.LogCaptureFixture) -> None:
    """An error message in the answer is never too long to be written because the request has many entries."""
    version = newest(name)
    for target in list_paths(api(name).request, version):
        lab, client, data = asked(name, version, target, TOO_MANY_FOR_A_TEXT, same)
        client.socket.send(data)
        assert lab.engine.errors == [], target
        assert "too long to be written" not in caplog.text, target
