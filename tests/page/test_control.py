"""Each control of the page acts on the broker, and says how a script would do the same."""

from datetime import datetime
from typing import Any

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from tests.support.chromium import ShownPage, reads
from tests.support.eventually import eventually

pytestmark = [pytest.mark.page, pytest.mark.slow]
TIMES = "\N{MULTIPLICATION SIGN}"


def card(shown: ShownPage, name: str) -> Any:
    """One card of the Control view."""
    return shown.page.get_by_role("region", name=name, exact=True)


def test_the_clock_is_moved_frozen_and_paced(shown: ShownPage) -> None:
    """Each button of the clock, and what it says to a script."""
    shown.open("/control")
    clock = card(shown, "Clock")
    began = now(shown)
    clock.get_by_role("button", name="+1 h").click()
    eventually(lambda: 3600 <= (now(shown) - began).total_seconds() < 3660)
    reads(clock.locator(".script"), "broker.clock.advance(hours=1)")
    clock.get_by_role("button", name="+1 d", exact=True).click()
    eventually(lambda: (now(shown) - began).days == 1)
    clock.get_by_label("Move the clock by").fill("2d 30 m")
    clock.get_by_role("button", name="Advance", exact=True).click()
    eventually(lambda: (now(shown) - began).total_seconds() >= 3 * 86400 + 5400)
    reads(clock.locator(".script"), "broker.clock.advance(days=2, minutes=30)")
    clock.get_by_role("button", name="Freeze").click()
    shown.sees("frozen", "header")
    assert shown.ask("GET", "/clock")["is_frozen"]
    clock.get_by_role("button", name="Resume").click()
    eventually(lambda: not shown.ask("GET", "/clock")["is_frozen"])
    clock.get_by_role("button", name=f"{TIMES} 60", exact=True).click()
    shown.sees(f"{TIMES} 60", "header")
    assert shown.ask("GET", "/clock")["rate"] == 60
    reads(clock.locator(".script"), "broker.clock.rate = 60")


def now(shown: ShownPage) -> datetime:
    """The broker's time of day."""
    return datetime.fromisoformat(shown.ask("GET", "/clock")["now"])


def test_time_goes_to_the_next_due_event(shown: ShownPage) -> None:
    """Due next next is listed, and the clock is moved to it."""
    shown.ask("POST", "/groups/billing/commit", {"offsets": {"orders": {"0": 1}}})
    shown.open("/control")
    clock = card(shown, "Clock")
    clock.get_by_role("row").first.wait_for()
    before = shown.ask("GET", "/clock/due")["due"]
    first = next(each for each in before if each["by"] == "clock")
    clock.get_by_role("button", name="Advance to the next due event").click()
    eventually(lambda: shown.ask("GET", "/clock")["now_ms"] >= first["due_ms"])


def test_a_fault_is_declared_hits_and_is_removed(shown: ShownPage, clients: ScriptedClients) -> None:
    """The form declares it, hits are counted while they come, and each can be removed."""
    shown.open("/control")
    faults = card(shown, "Faults")
    faults.get_by_label("API").fill("OffsetCommit")
    faults.get_by_label("error", exact=True).fill("NOT_COORDINATOR")
    faults.get_by_label("times", exact=True).fill("2")
    call = 'broker.fault(api="OffsetCommit", times=2, error="NOT_COORDINATOR")'
    reads(faults.locator(".script"), call)
    faults.get_by_role("button", name="Set the fault").click()
    shown.sees("0 hits", "[aria-label='Faults']")
    client = clients.client("svc-1")
    answers = [client.commit({("orders", 0): 42}, group_id="billing") for _ in range(3)]
    assert [answer.topics[0].partitions[0][1] for answer in answers] == [16, 16, 0]
    shown.sees("2 hits", "[aria-label='Faults']")
    faults.get_by_role("button", name="Remove", exact=True).click()
    shown.sees("No faults are set", "[aria-label='Faults']")
    assert shown.ask("GET", "/faults") == []


def test_what_a_fault_cannot_be_is_reported_in_the_apis_words(shown: ShownPage) -> None:
    """A misspelt API is refused, and nothing is set."""
    shown.open("/control")
    faults = card(shown, "Faults")
    faults.get_by_label("API").fill("OffsetComit")
    faults.get_by_label("error", exact=True).fill("NOT_COORDINATOR")
    faults.get_by_role("button", name="Set the fault").click()
    shown.sees("did you mean 'OffsetCommit'", "[role=alert]")
    assert shown.ask("GET", "/faults") == []


def test_a_fault_needs_an_effect_and_one_of_every_request_is_asked_for(shown: ShownPage) -> None:
    """The form begins empty and cannot be sent; without anything narrow the page asks first."""
    page = shown.open("/control")
    faults = card(shown, "Faults")
    button = faults.get_by_role("button", name="Set the fault")
    faults.get_by_label("API").wait_for()
    assert button.is_disabled()
    faults.get_by_label("error", exact=True).fill("NOT_COORDINATOR")
    button.click()
    shown.sees("hits every request of every client", "dialog")
    page.get_by_role("button", name="Cancel").click()
    assert shown.ask("GET", "/faults") == []
    offered = faults.get_by_label("action").locator("option").all_inner_texts()
    assert set(offered[1:]) == {each["name"] for each in shown.ask("GET", "/names")["actions"]}


def test_nodes_stop_start_and_are_cut_off(shown: ShownPage) -> None:
    """Each verb that is offered for a node is done, and the state follows."""
    shown.open("/control")
    nodes = card(shown, "Nodes")
    nodes.get_by_role("button", name="Add a node").click()
    nodes.get_by_text("node 2").wait_for()
    second = nodes.get_by_role("row").nth(1)
    for verb, state in (("Stop", "stopped"), ("Start", "running"), ("Freeze", "frozen"), ("Thaw", "running")):
        second.get_by_role("button", name=verb, exact=True).click()
        second.locator(".state").filter(has_text=state).wait_for()
        assert shown.ask("GET", "/nodes/2")["state"] == state
    second.get_by_role("button", name="Isolate").click()
    eventually(lambda: shown.ask("GET", "/nodes/2")["network"] != [])
    second.get_by_role("button", name="Heal").click()
    eventually(lambda: shown.ask("GET", "/nodes/2")["network"] == [])
    second.get_by_role("button", name="Kill").click()
    eventually(lambda: not shown.ask("GET", "/nodes/2")["is_alive"])


def test_a_coordinator_is_moved_and_loads(shown: ShownPage) -> None:
    """The group's coordinator goes to the other node; loading is done there."""
    shown.ask("POST", "/nodes", {})
    shown.ask("POST", "/groups/billing/commit", {"offsets": {"orders": {"0": 1}}})
    shown.open("/control?group=billing")
    coordinator = card(shown, "Coordinator")
    before = shown.ask("GET", "/coordinators/billing")["node_id"]
    coordinator.get_by_text(f"Node {before} coordinates").wait_for()
    coordinator.get_by_role("button", name="Move").click()
    eventually(lambda: shown.ask("GET", "/coordinators/billing")["node_id"] == 3 - before)
    coordinator.get_by_text(f"Node {3 - before} coordinates").wait_for()
    reads(coordinator.locator(".script"), f'broker.coordinator("billing").move(to={3 - before})')
    coordinator.get_by_label("Seconds").fill("0.2")
    coordinator.get_by_role("button", name="Load").click()
    shown.sees("loads for 0.2 s", ".notices")
    moves = [each["what"] for each in shown.ask("GET", "/journal/lines?kind=coordinator_moved")]
    assert moves.count("loading") >= 2


def test_a_snapshot_is_taken_restored_and_deleted(shown: ShownPage) -> None:
    """What came after it is gone when it is restored, after a question."""
    page = shown.open("/control")
    whole = card(shown, "Snapshots and reset")
    whole.get_by_role("button", name="Take a snapshot").click()
    whole.get_by_role("row").first.wait_for()
    shown.ask("PUT", "/topics/late", {})
    whole.get_by_role("button", name="Restore").click()
    shown.sees("Restore snapshot s1?", "dialog")
    page.get_by_role("button", name="Yes").click()
    eventually(lambda: "late" not in [each["name"] for each in shown.ask("GET", "/topics")])
    whole.get_by_role("button", name="Delete", exact=True).click()
    shown.sees("A snapshot holds topics")
    assert shown.ask("GET", "/snapshots") == []


def test_a_reset_is_asked_for_before_it_is_done(shown: ShownPage) -> None:
    """Cancel does nothing; Yes forgets the topics, and the page begins anew without being loaded again."""
    page = shown.open("/control")
    whole = card(shown, "Snapshots and reset")
    whole.get_by_role("button", name="Reset the broker").click()
    page.get_by_role("button", name="Cancel").click()
    assert len(shown.ask("GET", "/topics")) == 2
    shown.ask("POST", "/groups/billing/commit", {"offsets": {"orders": {"0": 1}}})
    whole.get_by_role("button", name="Reset the broker").click()
    page.get_by_role("button", name="Yes").click()
    eventually(lambda: shown.ask("GET", "/groups") == [])
    page.keyboard.press("2")
    shown.sees("No groups yet")
