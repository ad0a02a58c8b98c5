"""The engine's time, its errors, and the addresses it hands out."""

import pytest

from fakebroker.broker.core.deadlines import NEVER_MS, Deadline
from fakebroker.broker.core.events import Transition
from fakebroker.broker.engine.journal import Disconnected
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.listeners import Address, Listener
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.time import START


class Alarms:
    """Deadlines that note when they ran."""

    def __init__(self, lab: SimEngine) -> None:
        self.lab = lab
        self.rang: list[tuple[str, int, int]] = []

    def arm(self, name: str, *, wall_in_ms: int | None = None, mono_in_ms: int | None = None) -> None:
        timers = self.lab.cluster.timers
        deadline = Deadline(lambda now: self.rang.append((name, *self.since_start(now))))
        if wall_in_ms is not None:
            timers.wall.arm(deadline, START.wall_ms + wall_in_ms)
        if mono_in_ms is not None:
            timers.mono.arm(deadline, START.mono_ms + mono_in_ms)

    @staticmethod
    def since_start(now: Instant) -> tuple[int, int]:
        return now.wall_ms - START.wall_ms, now.mono_ms - START.mono_ms


@pytest.fixture
def lab() -> SimEngine:
    lab = SimEngine()
    timers = lab.cluster.timers
    for queue in (timers.wall, timers.mono):  # the cluster's own jobs would ring in between
        for deadline in queue.armed():
            deadline.disarm()
    return lab


@pytest.fixture
def alarms(lab: SimEngine) -> Alarms:
    return Alarms(lab)


def test_what_is_due_on_both_readings_runs_in_due_order(lab: SimEngine, alarms: Alarms) -> None:
    """Each at its own moment, however far time jumps."""
    alarms.arm("w30", wall_in_ms=30)
    alarms.arm("m10", mono_in_ms=10)
    alarms.arm("w20", wall_in_ms=20)
    alarms.arm("m40", mono_in_ms=40)
    alarms.arm("m99", mono_in_ms=99)
    lab.engine.tick(START.plus(50))
    assert alarms.rang == [("m10", 10, 10), ("w20", 20, 20), ("w30", 30, 30), ("m40", 40, 40)]
    assert lab.engine.now == START.plus(50)


def test_a_jump_of_wall_time_leaves_monotonic_timers_alone(lab: SimEngine, alarms: Alarms) -> None:
    """Eight days on the wall, nothing on the other reading: clients' timers do not ring."""
    days_8 = 8 * 86_400_000
    alarms.arm("wall", wall_in_ms=days_8 - 1)
    alarms.arm("mono", mono_in_ms=1)
    lab.engine.advance_to(Instant(START.wall_ms + days_8, START.mono_ms))
    assert alarms.rang == [("wall", days_8 - 1, 0)]


def test_a_deadline_armed_on_the_way_runs_on_the_way(lab: SimEngine, alarms: Alarms) -> None:
    """What an action arms within the jump falls due within the jump; one armed in the past runs at once."""
    timers = lab.cluster.timers

    def arm_more(now: Instant) -> None:
        alarms.arm("later", wall_in_ms=25)
        alarms.arm("past", mono_in_ms=3)

    timers.wall.arm(Deadline(arm_more), START.wall_ms + 10)
    alarms.arm("end", mono_in_ms=50)
    lab.engine.tick(START.plus(60))
    assert alarms.rang == [("past", 10, 10), ("later", 25, 25), ("end", 50, 50)]


def test_an_error_in_a_timer_is_kept_and_the_others_run(lab: SimEngine, alarms: Alarms) -> None:
    """A bug in one deadline harms nobody else; the test finds it in `errors`."""

    def fail(now: Instant) -> None:
        raise ZeroDivisionError

    lab.cluster.timers.mono.arm(Deadline(fail), START.mono_ms + 1)
    alarms.arm("next", mono_in_ms=2)
    lab.engine.tick(START.plus(5))
    assert [type(error) for error in lab.engine.errors] == [ZeroDivisionError]
    assert alarms.rang == [("next", 2, 2)]


def test_the_wakeup_hint_is_never_too_late(lab: SimEngine, alarms: Alarms) -> None:
    """The hint may be early after a deadline moved, `next_deadline` is exact, and a tick brings them together."""
    timers = lab.cluster.timers
    lab.engine.next_deadline()
    assert lab.engine.next_wakeup_hint() == (NEVER_MS, NEVER_MS)
    moved = Deadline(lambda now: alarms.rang.append(("moved", *alarms.since_start(now))))
    timers.mono.arm(moved, START.mono_ms + 10)
    timers.mono.arm(moved, START.mono_ms + 20)
    assert lab.engine.next_wakeup_hint() == (NEVER_MS, START.mono_ms + 10)
    assert lab.engine.next_deadline() == (None, START.mono_ms + 20)
    lab.engine.tick(START.plus(10))
    assert alarms.rang == []
    assert lab.engine.next_wakeup_hint() == (NEVER_MS, START.mono_ms + 20)


def test_what_the_core_tells_is_in_the_journal_before_the_answer(lab: SimEngine) -> None:
    """Transitions stand before the exchange that caused them, with its time; the outbox is empty after."""
    client = lab.client()
    member_id = client.join(version=5).member_id
    client.join(version=5, member_id=member_id)
    events = list(lab.journal.entries())
    kinds = [type(getattr(entry, "event", entry)).__name__ for entry in events]
    assert kinds[:2] == ["BrokerStarted", "Connected"]
    assert kinds.index("Transition") < len(kinds) - 1 - kinds[::-1].index("Exchange")
    assert {event.at for event in lab.journal.events(Transition)} == {START}
    assert lab.cluster.outbox == []


@pytest.mark.rules("DR-7")
def test_addresses_are_those_of_the_same_kind_of_listener() -> None:
    """A client learns of other nodes' listeners that speak as the one it came in on, and in the same place."""
    listeners = [
        Listener(1, "0.0.0.0", 9001, Address("localhost", 9001)),
        Listener(1, "0.0.0.0", 9011),
        Listener(2, "0.0.0.0", 9002, Address("localhost", 9002)),
        Listener(2, "0.0.0.0", 9012),
        Listener(1, "0.0.0.0", 9101, dialects=frozenset({"kip-17"})),
    ]
    lab = SimEngine(node_ids=(1, 2), listeners=listeners)
    local = Address("172.17.0.2", 0)
    host, inner, _, _, dialect = (lab.engine.connect(x, "/172.17.0.9", local, START) for x in listeners)

    assert [host.address_of(n) for n in (1, 2, 3)] == [("localhost", 9001), ("localhost", 9002), None]
    assert [inner.address_of(n) for n in (1, 2)] == [("172.17.0.2", 9011), ("172.17.0.2", 9012)]
    assert [dialect.address_of(n) for n in (1, 2)] == [("172.17.0.2", 9101), None]


@pytest.mark.rules("AV-8")
def test_versions_are_those_of_the_release_cut_to_what_we_have() -> None:
    """A listener offers what the chosen release advertised."""
    offered = {name: SimEngine(as_release=name).engine.listeners[0].versions for name in ("1.0", "3.9", "4.3")}
    assert [offered[name][11] for name in offered] == [(0, 2), (0, 9), (0, 9)]
    assert [offered[name][1] for name in offered] == [(0, 6), (0, 17), (4, 18)]


def test_a_connection_that_is_gone_is_forgotten(lab: SimEngine) -> None:
    """Nothing is kept of closed connections, and closing twice is closing once."""
    client = lab.client()
    client.socket.send(request("Heartbeat", 4, group_id="g", generation_id=1, member_id="m"))
    client.socket.close()
    client.socket.close()
    assert lab.engine.connections == {}
    assert [type(entry.event) for entry in lab.journal.events()].count(Disconnected) == 1
