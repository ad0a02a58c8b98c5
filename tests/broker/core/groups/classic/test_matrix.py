"""Each request in each state, as the table in docs/rules/st-group-states.md has it."""

from collections.abc import Callable

import pytest

from fakebroker.broker.core.groups.classic.messages import Leaver
from fakebroker.protocol.errors import ErrorCode
from tests.support.groups import COMPLETING, EMPTY, PREPARING, STABLE, OneGroup

STATES = (EMPTY, PREPARING, COMPLETING, STABLE)
NEW = [("range", b"new")]


def of_join(**request: object) -> Callable[[OneGroup, str, str], str]:
    """What becomes of a JoinGroup of the follower `b`, or of whom `request` says."""

    def send(lab: OneGroup, a: str, b: str) -> str:
        member = {"a": a, "b": b, "pending": "", "": ""}[str(request.get("who", ""))]
        if request.get("who") == "pending":
            member = lab.ask_for_id()
        before = lab.group.generation, lab.group.state
        join = lab.join(member, **{name: value for name, value in request.items() if name != "who"})
        return outcome(lab, before, None if join.is_parked else join.code)

    return send


def outcome(lab: OneGroup, before: tuple[int, str], code: ErrorCode | None) -> str:
    """ "park" or the code, with "+" if a rebalance started with it, "done" if a generation was completed."""
    generation, state = before
    text = "park" if code is None else str(int(code))
    if lab.group.generation > generation:
        return text + " done"
    return text + ("+" if lab.group.state != state else "")


def of_sync(lab: OneGroup, a: str, b: str) -> str:
    sync = lab.sync(b)
    return "park" if sync.is_parked else str(int(sync.code))


def of_leader_sync(lab: OneGroup, a: str, b: str) -> str:
    before = lab.group.generation, lab.group.state
    sync = lab.sync(a, {})
    return outcome(lab, before, None if sync.is_parked else sync.code)


def of_heartbeat(lab: OneGroup, a: str, b: str) -> str:
    return str(int(lab.heartbeat(b)))


def of_leave(lab: OneGroup, a: str, b: str) -> str:
    before = lab.group.generation, lab.group.state
    (code,) = lab.leave(b)
    return outcome(lab, before, code)


def of_pending_leave(lab: OneGroup, a: str, b: str) -> str:
    leaver = Leaver(lab.ask_for_id())
    before = lab.group.generation, lab.group.state
    (code,) = lab.leave(leaver)
    return outcome(lab, before, code)


Outcomes = tuple[str, str, str, str]
Row = tuple[Callable[[OneGroup, str, str], str], Outcomes]

# A row says what becomes of a request in each of the four STATES. In PreparingRebalance the leader has rejoined, and
# only `b` is missing. An outcome is one of:
#   "park"           it waits for its answer
#   "0", "25" ...    it is answered at once: 25 UNKNOWN_MEMBER_ID, 27 REBALANCE_IN_PROGRESS, 79 MEMBER_ID_REQUIRED
#   "park+", "0+"    the same, and the group is in another state afterwards
#   "0 done"         the same, and the group is in a new generation: the request completed a rebalance
NEWCOMERS: dict[str, Row] = {
    "v0-3": (of_join(), ("park+", "park", "park+", "park+")),
    "pending id": (of_join(who="pending"), ("park+", "park", "park+", "park+")),
}
MEMBERS: dict[str, Row] = {
    "same": (of_join(who="b"), ("25", "0 done", "0", "0")),
    "new metadata": (of_join(who="b", protocols=NEW), ("25", "0 done", "park+", "park+")),
    "leader, same": (of_join(who="a"), ("25", "park", "0", "park+")),
}


def is_as(row: Row, column: int) -> None:
    """Two members, the second static, and the request in that state: it ends as the row says."""
    lab = OneGroup()
    a, b = lab.in_state(STATES[column], instance="i")
    send, outcomes = row

    assert send(lab, a, b) == outcomes[column]


in_each_state = pytest.mark.parametrize("column", range(4), ids=STATES)


@pytest.mark.rules("JG-26")
@in_each_state
@pytest.mark.parametrize("row", NEWCOMERS.values(), ids=NEWCOMERS)
def test_a_new_member_joins(row: Row, column: int) -> None:
    """It starts a rebalance, or joins the running one."""
    is_as(row, column)


@pytest.mark.rules("JG-16")
@in_each_state
def test_an_id_is_asked_for(column: int) -> None:
    """An id is handed out in every state, and changes none."""
    is_as((of_join(handshake=True), ("79", "79", "79", "79")), column)


@pytest.mark.rules("JG-21")
@in_each_state
@pytest.mark.parametrize("row", MEMBERS.values(), ids=MEMBERS)
def test_a_member_joins_again(row: Row, column: int) -> None:
    """What it says, and whether it leads, decides whether it is answered at once or starts a rebalance."""
    is_as(row, column)


@pytest.mark.rules("JG-22", "JG-23", "JG-24")
@in_each_state
def test_a_static_member_returns(column: int) -> None:
    """It takes its place, and disturbs a Stable group only if the protocol would change."""
    is_as((of_join(instance="i"), ("park+", "0 done", "park+", "0")), column)


@pytest.mark.rules("SG-5", "SG-6", "SG-7", "SG-10")
@in_each_state
def test_a_follower_syncs(column: int) -> None:
    """It waits only in CompletingRebalance."""
    is_as((of_sync, ("25", "27", "park", "0")), column)


@pytest.mark.rules("SG-5", "SG-6", "SG-7")
@in_each_state
def test_the_leader_syncs(column: int) -> None:
    """It makes the group Stable, and later brings nothing new."""
    is_as((of_leader_sync, ("25", "27", "0+", "0")), column)


@pytest.mark.rules("HB-5", "HB-6")
@in_each_state
def test_a_heartbeat(column: int) -> None:
    """Only PreparingRebalance asks the member to join again."""
    is_as((of_heartbeat, ("25", "27", "0", "0")), column)


@pytest.mark.rules("LG-7")
@in_each_state
def test_a_member_leaves(column: int) -> None:
    """A rebalance starts, or the running one is complete."""
    is_as((of_leave, ("25", "0 done", "0+", "0+")), column)


@pytest.mark.rules("LG-4")
@in_each_state
def test_a_handed_out_id_leaves(column: int) -> None:
    """A rebalance starts, although no member left."""
    is_as((of_pending_leave, ("0", "0", "0+", "0+")), column)
