"""A scenario that is played while a client is connected."""

import re
import threading

import pytest

from fakebroker import FakeBroker, WaitTimeout
from fakebroker.protocol.errors import ScenarioFailed
from fakebroker.scenarios.language.reading import read_scenario_text
from fakebroker.scenarios.playing.worlds import BrokerWorld
from fakebroker.scenarios.running.background import BackgroundPlay

WAITS = """\
about: A commit is awaited.
timeline:
  - {fault: {api: Heartbeat, error: UNKNOWN_MEMBER_ID}, as: gone}
  - {wait: {group: billing, state: Empty}, within: 1h}
  - {expect: {group: billing, offsets: {orders-0: 42}}}
"""


def play(broker: FakeBroker, text: str = WAITS) -> BackgroundPlay:
    return BackgroundPlay(read_scenario_text(text, name="waits.yaml"), BrokerWorld(broker)).start().prepare()


def test_what_comes_before_the_first_wait_is_done_when_it_is_prepared(fakebroker: FakeBroker) -> None:
    """A client that comes then meets the fault."""
    played = play(fakebroker)

    assert len(fakebroker.faults) == 1
    assert not played.is_done
    assert played.cancel()


def test_a_timeline_that_comes_out_is_over(fakebroker: FakeBroker) -> None:
    """The client did what it waits for."""
    played = play(fakebroker)
    fakebroker.create_topic("orders")
    fakebroker.group("billing").commit({("orders", 0): 42})
    played.wait(timeout_s=20)

    assert (played.is_done, played.problems, played.is_cancelled) == (True, [], False)
    assert "wait: {group: billing, state: Empty}" in played.transcript


def test_times_are_reported_since_the_timeline_began(fakebroker: FakeBroker) -> None:
    """By the broker's time of day, which a test may have moved before."""
    fakebroker.create_topic("orders")
    fakebroker.clock.advance(days=30)
    commits = "about: A commit.\nactors: [a]\ntimeline: [{a: commit, group_id: billing, offsets: {orders-0: 1}}, "
    played = play(fakebroker, commits + "{group: committed billing}]")
    played.wait(timeout_s=20)

    assert re.search(r"commit_ms: \+?[0-9.]+m?s\b", played.transcript), played.transcript


def test_what_does_not_come_out_is_raised_by_the_wait(fakebroker: FakeBroker) -> None:
    """With its place, what was expected, and what happened last."""
    played = play(fakebroker)
    fakebroker.create_topic("orders")
    fakebroker.group("billing").commit({("orders", 0): 41})

    with pytest.raises(ScenarioFailed) as raised:
        played.wait(timeout_s=20)
    assert "waits.yaml:5: expect: {group: billing" in str(raised.value)
    assert "what happened last:" in str(raised.value)
    assert len(played.problems) == 1


def test_a_wait_in_vain_names_the_step(fakebroker: FakeBroker) -> None:
    """Which the timeline is at."""
    played = play(fakebroker)

    with pytest.raises(WaitTimeout, match=r"waits.yaml:4: wait: \{group: billing, state: Empty\}"):
        played.wait(timeout_s=0.05)
    played.cancel()


@pytest.mark.parametrize("text", [WAITS, "about: x\ntimeline: [{pass: 1h}]\n"])
def test_a_cancelled_play_ends_at_once(fakebroker: FakeBroker, text: str) -> None:
    """Whatever it waits for; no thread and no problem is left."""
    before = threading.active_count()
    played = play(fakebroker, text)

    assert played.cancel(timeout_s=20)
    assert (played.is_cancelled, played.problems) == (True, [])
    assert threading.active_count() == before


def test_a_broker_that_stops_ends_the_play(fakebroker: FakeBroker) -> None:
    """That is a problem of the scenario, not an error of ours."""
    played = play(fakebroker)
    fakebroker.stop()

    with pytest.raises(ScenarioFailed, match="stopped"):
        played.wait(timeout_s=20)
