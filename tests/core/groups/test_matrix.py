"""Section 9a of the specification: each request in each state."""

from collections.abc import Callable

import pytest

from fakebroker.core.groups.messages import Leaver
from fakebroker.errors import ErrorCode
from tests.core.groups.lab import COMPLETING, EMPTY, PREPARING, STABLE, Lab

STATES = (EMPTY, PREPARING, COMPLETING, STABLE)
NEW = [("range", b"new")]


def of_join(**request: object) -> Callable[[Lab, str, str], str]:
    """What becomes of a JoinGroup of the follower `b`, or of whom `request` says."""

    def send(lab: Lab, a: str, b: str) -> str:
        member = {"a": a, "b": b, "pending": "", "": ""}[str(request.get("who", ""))]
        if request.get("who") == "pending":
            member = lab.ask_for_id()
        before = lab.group.generation, lab.group.state
        join = lab.join(member, **{name: value for name, value in request.items() if name != "who"})
        return outcome(lab, before, None if join.is_parked else join.code)

    return send


def outcome(lab: Lab, before: tuple[int, str], code: ErrorCode | None) -> str:
    """ "park" or the code, with "+" if a rebalance started with it, "done" if a generation was completed."""
    generation, state = before
    text = "park" if code is None else str(int(code))
    if lab.group.generation > generation:
        return text + " done"
    return text + ("+" if lab.group.state != state else "")


def of_sync(lab: Lab, a: str, b: str) -> str:
    sync = lab.sync(b)
    return "park" if sync.is_parked else str(int(sync.code))


def of_leader_sync(lab: Lab, a: str, b: str) -> str:
    before = lab.group.generation, lab.group.state
    sync = lab.sync(a, {})
    return outcome(lab, before, None if sync.is_parked else sync.code)


def of_heartbeat(lab: Lab, a: str, b: str) -> str:
    return str(int(lab.heartbeat(b)))


def of_leave(lab: Lab, a: str, b: str) -> str:
    before = lab.group.generation, lab.group.state
    (code,) = lab.leave(b)
    return outcome(lab, before, code)


def of_pending_leave(lab: Lab, a: str, b: str) -> str:
    leaver = Leaver(lab.ask_for_id())
    before = lab.group.generation, lab.group.state
    (code,) = lab.leave(leaver)
    return outcome(lab, before, code)


def of_delete(lab: Lab, a: str, b: str) -> str:
    return "0" if lab.group.is_empty else "68"


# "+": the state changed, "done": a generation was completed. In PreparingRebalance the leader has rejoined, so that
# only `b` is missing.
MATRIX: list[tuple[str, Callable[[Lab, str, str], str], tuple[str, str, str, str]]] = [
    ("join, new, v0-3", of_join(), ("park+", "park", "park+", "park+")),
    ("join, new, v4+", of_join(handshake=True), ("79", "79", "79", "79")),
    ("join, pending id", of_join(who="pending"), ("park+", "park", "park+", "park+")),
    ("join, member, same", of_join(who="b"), ("25", "0 done", "0", "0")),
    ("join, member, new metadata", of_join(who="b", protocols=NEW), ("25", "0 done", "park+", "park+")),
    ("join, leader, same", of_join(who="a"), ("25", "park", "0", "park+")),
    ("join, static, known instance", of_join(instance="i"), ("park+", "0 done", "park+", "0")),
    ("sync, follower", of_sync, ("25", "27", "park", "0")),
    ("sync, leader", of_leader_sync, ("25", "27", "0+", "0")),
    ("heartbeat", of_heartbeat, ("25", "27", "0", "0")),
    ("leave", of_leave, ("25", "0 done", "0+", "0+")),
    ("leave, pending id", of_pending_leave, ("0", "0", "0+", "0+")),
    ("delete", of_delete, ("0", "68", "68", "68")),
]


@pytest.mark.rules("JG-21", "SG-5", "SG-6", "SG-7", "HB-5", "HB-6", "LG-4", "LG-7", "DG-2")
@pytest.mark.parametrize("column", range(4), ids=STATES)
@pytest.mark.parametrize("row", MATRIX, ids=[name for name, _, _ in MATRIX])
def test_matrix(row: tuple[str, Callable[[Lab, str, str], str], tuple[str, str, str, str]], column: int) -> None:
    """What a request gets, and what it does to the group, is what the matrix says."""
    lab = Lab()
    a, b = lab.in_state(STATES[column], instance="i")
    _, send, expected = row

    assert send(lab, a, b) == expected[column]
