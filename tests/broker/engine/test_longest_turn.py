"""Requests of nearly 1 MB: whatever list is full, no turn of the loop that serves all clients takes long."""

import pytest

from fakebroker.protocol.schema import emit_decode
from fakebroker.protocol.wire.registry import APIS, api
from tests.support import long_lists
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.long_lists import Path, list_paths, with_many
from tests.support.rights import AUTHORIZER, client_of
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns

NAMES = [each.name for each in APIS.values()]
FEW, MANY = 300, 900
FRAME_BYTES = 1_000_000
MAX_CALLS = 5_000_000  # of a turn: less than a second
MAX_CALLS_REFUSED = 1_500_000  # the same for a client without rights
NOT_REFUSED_IN_STEPS = {  # APIs of which a turn takes more
    "StreamsGroupHeartbeat": "a topology has 20,000 parts at most",
}
SCALE = 100  # the counts are so much smaller than those of a frame of 1 MB; so are the steps


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that are as much smaller as the requests of these tests are."""
    make_steps_smaller(monkeypatch, SCALE)
    monkeypatch.setattr(long_lists, "NAME", "{:x}")  # short names: a frame has room for most of them
    monkeypatch.setattr(emit_decode, "BYTES_PER_STEP", emit_decode.BYTES_PER_STEP // SCALE)


def dearest_turn(name: str, version: int, target: Path, count: int, user: str | None) -> tuple[int, int]:
    """What the dearest turn of a request costs, in calls, and the length of its frame."""
    lab = SimEngine(None if user is None else AUTHORIZER)
    lab.engine.long_list_bytes = 1000
    client = lab.client() if user is None else client_of(lab, user)
    fields = with_many(api(name).request, version, target, count)
    data = request(name, version, **(fields | {"acks": 1} if name == "Produce" else fields))
    found = max(turns(lab, client.socket.connection, data))
    lab.network.flush()
    assert lab.engine.errors == []
    return found, len(data)


@pytest.mark.parametrize("user", [None, pytest.param("stranger", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_no_turn_takes_all_entries(name: str, user: str | None) -> None:
    """A request with as many entries as a frame of 1 MB holds is served in turns of less than a second."""
    version = SimEngine().engine.listeners[0].versions[api(name).key][1]
    for target in list_paths(api(name).request, version):
        dearest_turn(name, version, target, FEW, user)  # the first may load and compile things
        (few, few_bytes), (many, many_bytes) = (
            dearest_turn(name, version, target, count, user) for count in (FEW, MANY)
        )
        calls = (many - few) / (many_bytes - few_bytes) * FRAME_BYTES
        most = MAX_CALLS if user is None or name in NOT_REFUSED_IN_STEPS else MAX_CALLS_REFUSED
        assert calls < most, (target, few, many, many_bytes)
