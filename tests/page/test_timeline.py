"""The timeline: what clients did and what became of it, filtered, zoomed, opened, linked to."""

from typing import Any

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.protocol.errors import ErrorCode
from tests.support.chromium import ShownPage
from tests.support.eventually import eventually

pytestmark = [pytest.mark.page, pytest.mark.slow]


def two_members(clients: ScriptedClients) -> tuple[Any, Any]:
    """Two members of group billing; the second join had the first one join again."""
    first, second = clients.client("svc-1"), clients.client("svc-2")
    first.join("billing", ["orders"])
    first.sync({first.member_id: {"orders": [0, 1, 2]}})
    joining = second.start(second.steps.join("billing", ["orders"]))
    assert not clients.wait(joining, 0.5)
    first.rejoin()
    joining.result()
    first.sync({first.member_id: {"orders": [0]}, second.member_id: {"orders": [1, 2]}})
    second.sync()
    return first, second


def rows(shown: ShownPage) -> list[str]:
    """The rows of the list that are in sight, each as one line."""
    texts = shown.page.locator(".entries a.entry").all_inner_texts()
    return [" ".join(text.split()) for text in texts]


def test_without_requests_it_says_where_clients_connect(shown: ShownPage) -> None:
    """A journal that was cleared shows the bootstrap address."""
    shown.ask("DELETE", "/journal")
    shown.open("/timeline")
    shown.sees("No entries yet")
    eventually(lambda: shown.bootstrap in shown.page.inner_text(".empty"))


def test_requests_transitions_and_causes_are_listed_as_they_happen(shown: ShownPage, clients: ScriptedClients) -> None:
    """Lanes for the group and each client; the list says the same in words."""
    shown.open("/timeline")
    shown.sees("No entries yet")
    first, _ = two_members(clients)
    for name in ("billing", "svc-1", "svc-2"):
        shown.sees(name, ".lanes .labels")
    shown.sees("JoinGroup v9, as", ".entries")
    shown.sees("MEMBER_ID_REQUIRED", ".entries")
    first.leave()
    shown.sees("LeaveGroup", ".entries")
    eventually(lambda: any("Stable → PreparingRebalance" in row and "left" in row for row in rows(shown)))


def test_an_entry_shows_its_messages_the_rule_and_what_it_caused(shown: ShownPage, clients: ScriptedClients) -> None:
    """The decoded request and answer, and for an error the sentence that leads to it."""
    two_members(clients)
    shown.open("/timeline?error=MEMBER_ID_REQUIRED")
    shown.page.locator(".entries a.entry").filter(has_text="MEMBER_ID_REQUIRED").first.click()
    panel = shown.page.locator(".panel")
    panel.get_by_text("GroupId").wait_for()
    eventually(lambda: "JG-" in panel.locator(".note.bad").inner_text())
    assert "seq=" in shown.page.url
    address = shown.page.url
    shown.page.goto("about:blank")
    shown.page.goto(address)
    shown.sees("MEMBER_ID_REQUIRED", ".panel")
    shown.page.keyboard.press("Escape")
    panel.wait_for(state="detached")


def test_filters_narrow_lanes_and_list(shown: ShownPage, clients: ScriptedClients) -> None:
    """By API, client, group and error; the address keeps them, and Clear ends them."""
    two_members(clients)
    page = shown.open("/timeline?polls=1")
    shown.sees("svc-2", ".lanes .labels")
    page.get_by_label("Filter by client").fill("svc-1")
    shown.page.locator(".lanes .label").filter(has_text="svc-2").wait_for(state="detached")
    page.get_by_label("Filter by API").fill("SyncGroup")
    eventually(lambda: {row.split()[2] for row in rows(shown) if row.split()[1] == "svc-1"} == {"SyncGroup"})
    eventually(lambda: "client=svc-1&api=SyncGroup" in page.url)
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Filter by error").select_option("*")
    eventually(lambda: any("MEMBER_ID_REQUIRED" in row for row in rows(shown)))
    eventually(lambda: not any(" ok" in row for row in rows(shown)))
    page.get_by_label("Filter by error").select_option("")
    page.get_by_label("Filter by group").fill("other")
    eventually(lambda: not any("svc" in row for row in rows(shown)))


def test_polls_that_went_well_are_listed_on_demand(shown: ShownPage, clients: ScriptedClients) -> None:
    """Heartbeats are in the lanes; in the list they come with a tick."""
    first, _ = two_members(clients)
    first.heartbeat()
    page = shown.open("/timeline")
    shown.sees("JoinGroup", ".entries")
    assert not any("Heartbeat" in row for row in rows(shown))
    page.get_by_label("successful poll").check()
    shown.sees("Heartbeat", ".entries")


def test_the_lanes_are_zoomed_moved_and_followed(shown: ShownPage, clients: ScriptedClients) -> None:
    """Keys, wheel and pointer change the range, which is in the address; f follows again."""
    two_members(clients)
    page = shown.open("/timeline")
    shown.sees("svc-1", ".lanes .labels")
    page.keyboard.press("0")
    page.wait_for_url("**from=*")
    whole = page.url
    page.keyboard.press("+")
    page.wait_for_function("(before) => location.href !== before", arg=whole)
    zoomed = page.url
    page.keyboard.press("l")
    page.wait_for_function("(before) => location.href !== before", arg=zoomed)
    box = page.locator(".lanes canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 420, box["y"] + 60, steps=4)
    page.mouse.up()
    page.keyboard.press("f")
    page.wait_for_function("() => !location.href.includes('from=')")
    page.get_by_role("button", name="Follow", pressed=True).wait_for()


def test_the_keyboard_goes_through_the_entries(shown: ShownPage, clients: ScriptedClients) -> None:
    """j and k choose the next and the previous entry, which is opened beside the list."""
    two_members(clients)
    page = shown.open("/timeline")
    shown.sees("JoinGroup", ".entries")
    page.keyboard.press("0")
    page.keyboard.press("j")
    page.locator(".panel .headline").wait_for()
    page.wait_for_function("() => location.href.includes('from=')")
    first = page.url
    page.keyboard.press("j")
    page.wait_for_function("(before) => location.href !== before", arg=first)
    page.keyboard.press("k")
    page.wait_for_function("(before) => location.href === before", arg=first)


def test_a_click_on_a_lane_opens_the_entry(shown: ShownPage, clients: ScriptedClients) -> None:
    """The canvas knows what it painted where: the band of a group's state opens its transition."""
    two_members(clients)
    page = shown.open("/timeline")
    shown.sees("billing", ".lanes .labels")
    page.wait_for_timeout(1500)  # until the band of the state is wide enough to be met
    label = page.locator(".lanes .label").filter(has_text="billing").bounding_box()
    canvas = page.locator(".lanes canvas").bounding_box()
    assert label
    assert canvas
    now_px = canvas["x"] + canvas["width"] / 1.02
    page.mouse.click(now_px - 12, label["y"] + label["height"] / 2)
    shown.sees("CompletingRebalance → Stable", ".panel")


def test_clock_jumps_and_faults_are_marked(shown: ShownPage, clients: ScriptedClients) -> None:
    """Both are entries with words; a request that a fault hit names it."""
    shown.ask("POST", "/clock/advance", {"hours": 3})
    shown.ask("POST", "/faults", {"api": "Heartbeat", "error": "NOT_COORDINATOR"})
    client = clients.client("svc-1")
    client.join("billing", ["orders"])
    client.sync({})
    assert client.heartbeat().error_code == ErrorCode.NOT_COORDINATOR
    page = shown.open("/timeline")
    shown.sees("clock advanced by 3 h", ".entries")
    shown.sees("fault 1 hit Heartbeat", ".entries")
    page.locator(".entries a.entry").filter(has_text="Heartbeat v").click()
    shown.sees("Hit by fault 1", ".panel")


def test_what_happened_during_a_break_is_there_afterwards(shown: ShownPage, clients: ScriptedClients) -> None:
    """The stream is resumed after its last event: nothing is missing, nothing comes twice."""
    page = shown.open("/timeline")
    shown.sees("live", "header")
    shown.context.set_offline(True)
    page.evaluate("fetch('/about').catch(() => null)")
    two_members(clients)
    shown.context.set_offline(False)
    shown.sees("svc-2", ".lanes .labels")
    eventually(lambda: len([row for row in rows(shown) if "Empty → PreparingRebalance" in row]) == 1)


def test_the_list_has_the_numbers_of_the_story(shown: ShownPage, clients: ScriptedClients) -> None:
    """What was committed and fetched from where, and what came of it, as the journal's text has it."""
    client = clients.client("svc-1")
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    client.commit({("orders", 0): 42})
    client.fetch("orders", 0, 0)
    shown.open("/timeline?polls=1")
    shown.sees("OffsetCommit v9, orders-0=42 of group billing", ".entries")
    fetched = shown.page.locator(".entries a.entry").filter(has_text="orders-0 from 0")
    assert "nothing new" in fetched.inner_text()
    texts = [line["text"] for line in shown.ask("GET", "/journal/brief")["lines"]]
    assert "OffsetCommit v9 of group billing, orders-0=42 -> ok" in texts
