"""A request may have half a million entries in any of its lists: no turn goes through all of them.

Counting calls does not see what a comprehension does, and half a million rounds of one take a second. So this counts
operations of the interpreter, beside those of reading and writing frames (`test_turns_of_long_lists.py`).
"""

from collections.abc import Callable

import pytest

from fakebroker.protocol.wire.registry import APIS, api
from tests.support import long_lists
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.long_lists import Path, list_paths, with_many
from tests.support.rights import AUTHORIZER, client_of
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns
from tests.support.work_counter import operations_of

SCALE = 100  # steps are so much smaller than in an attack
FEW, MANY = 1_500, 3_000  # more than some handlers look at in one turn
MOST = 55  # operations of an entry in one turn: some microseconds
DEARER = {  # known, and why
    "Fetch": 200,  # a session with all of its partitions is made in one step: 16 MB take 1.2 s
    "ShareFetch": 80,  # all that a session is to have is compared with what it has
    "WriteTxnMarkers": 65,  # needs ALTER on the cluster
    "DeleteRecords": 65,
    # Of these more than so many are refused, or done in steps: 5,000 or more, however small other steps are.
    "CreatePartitions": 100,
    "ElectLeaders": 320,
    "AlterPartitionReassignments": 320,
    "ShareGroupHeartbeat": 260,
    "StreamsGroupHeartbeat": 160,
}


@pytest.mark.slow
@pytest.mark.parametrize("user", [None, "stranger"])
@pytest.mark.parametrize("name", [each.name for each in APIS.values()])
def test_no_turn_goes_through_a_whole_list(name: str, user: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an authorizer, for a user without rights, and without one."""
    version = newest(name)
    if version is None:
        pytest.skip("this release does not serve it")
    make_steps_smaller(monkeypatch, SCALE)
    monkeypatch.setattr(long_lists, "NAME", "n{}")  # like no setting, which would be looked for
    for path in list_paths(api(name).request, version):
        dearest(name, version, path, 10, user)  # the first may load and compile things
        few, many = (dearest(name, version, path, count, user) for count in (FEW, MANY))
        assert many - few < (MANY - FEW) * DEARER.get(name, MOST), path


def newest(name: str) -> int | None:
    versions = SimEngine().engine.listeners[0].versions
    return versions[api(name).key][1] if api(name).key in versions else None


def dearest(name: str, version: int, path: Path, count: int, user: str | None) -> int:
    """The operations of the dearest turn."""
    lab = SimEngine(None if user is None else AUTHORIZER)
    client = lab.client() if user is None else client_of(lab, user)
    data = request(name, version, **with_many(api(name).request, version, path, count))
    return max(turns(lab, client.socket.connection, data, operations_of_handlers))


def operations_of_handlers(work: Callable[[], object]) -> int:
    """Without those of the functions that were written for messages: their files have no names."""
    return operations_of(work, lambda frame: not frame.f_code.co_filename.startswith("<"))
