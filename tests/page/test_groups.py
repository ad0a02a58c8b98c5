"""Groups on the page: real consumers join, rebalance, leave, and their group dies of age while it is looked at."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Thread

import confluent_kafka
import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from tests.support.chromium import ShownPage
from tests.support.eventually import eventually

pytestmark = [pytest.mark.page, pytest.mark.slow, pytest.mark.clients]


@contextmanager
def consumer(shown: ShownPage, client_id: str, group: str = "billing") -> Iterator[None]:
    """A real consumer of `orders` that polls and commits until the end of the block, and leaves then."""
    made = confluent_kafka.Consumer(
        {
            "bootstrap.servers": shown.bootstrap,
            "group.id": group,
            "client.id": client_id,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 200,
            "heartbeat.interval.ms": 300,
            "session.timeout.ms": 6000,
        }
    )
    made.subscribe(["orders"])
    is_over = Event()

    def poll() -> None:
        while not is_over.is_set():
            made.poll(0.1)
        made.close()

    thread = Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(30)


def test_without_groups_it_says_what_to_do_with_this_very_address(shown: ShownPage) -> None:
    """The address is in the program that is offered for copying."""
    page = shown.open("/groups")
    shown.sees("No groups yet")
    eventually(lambda: f'"bootstrap.servers": "{shown.bootstrap}"' in page.inner_text(".empty pre"))


def test_a_real_group_rebalances_and_dies_of_age_while_it_is_shown(shown: ShownPage) -> None:
    """Members, partitions, causes and lost offsets come without the page being loaded again."""
    shown.ask("POST", "/topics/orders/records", {"values": ["a", "b", "c"]})
    page = shown.open("/groups/billing")
    with consumer(shown, "svc-1"):
        shown.sees("Stable", ".head")
        shown.sees("svc-1", ".members")
        shown.sees("orders 0-2", ".members")
        with consumer(shown, "svc-2"):
            shown.sees("svc-2", ".members")
            shown.sees("2 members")
            shown.sees("Rebalance: svc-2", ".history")
            shown.sees("joined", ".history")
            eventually(lambda: bool(shown.ask("GET", "/groups/billing")["offsets"]))
            shown.sees("kept", "[aria-label='Committed offsets']")
        shown.sees("1 member")
    shown.sees("Empty", ".head")
    shown.sees("expires in", "[aria-label='Committed offsets']")
    shown.ask("POST", "/clock/advance", {"days": 8})
    shown.sees("Dead", ".head")
    shown.sees("expired", ".history")
    assert page.url.endswith("#/groups/billing")


def test_a_rebalance_says_who_is_awaited(shown: ShownPage) -> None:
    """While a test holds the join phase, the page names the members that are there, and what ends the wait."""
    shown.open("/groups/billing")
    with consumer(shown, "svc-1"):
        shown.sees("Stable", ".head")
        shown.ask("POST", "/groups/billing/hold_joins", {"until_members": 3})
        with consumer(shown, "svc-2"):
            shown.sees("Rebalance", ".rebalance")
            shown.sees("svc-2", ".rebalance")
            shown.sees("until 3 members have sent JoinGroup", ".rebalance")
            with consumer(shown, "svc-3"):
                shown.sees("3 members")
                shown.sees("Stable", ".head")


def test_groups_are_found_by_text_and_state(shown: ShownPage) -> None:
    """The filter and the chosen state are in the address, and the list follows the keyboard."""
    for name in ("billing", "billing-eu", "search"):
        shown.ask("POST", f"/groups/{name}/commit", {"offsets": {"orders": {"0": 1}}})
    page = shown.open("/groups")
    page.locator(".list a.item").nth(2).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("bill")
    page.locator(".list a.item").nth(2).wait_for(state="detached")
    names = page.locator(".list a.item .name")
    eventually(lambda: [each.get_attribute("title") for each in names.all()] == ["billing", "billing-eu"])
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    page.keyboard.press("j")
    shown.sees("billing-eu", ".head h2")
    eventually(lambda: page.url.endswith("#/groups/billing-eu?q=bill"))
    page.keyboard.press("Escape")
    shown.sees("Choose a group")
    page.get_by_role("button", name="Empty 3").click()
    eventually(lambda: "state=Empty" in page.url)


def test_of_a_thousand_groups_only_those_in_sight_are_drawn(shown: ShownPage) -> None:
    """So the list is as quick as a short one: the filter, the keys and scrolling draw some thirty rows each time."""
    for number in range(1000):
        shown.ask("POST", f"/groups/service-{number}/commit", {"offsets": {"orders": {"0": 1}}})
    page = shown.open("/groups")
    shown.sees("Empty 1,000", ".list")
    rows = page.locator(".list a.item")
    assert 10 < rows.count() < 60
    page.locator(".list .rows").evaluate("rows => rows.scrollTop = rows.scrollHeight")
    shown.sees("service-999", ".list")
    assert 10 < rows.count() < 60
    page.get_by_label("Find groups").fill("service-77")
    eventually(lambda: rows.count() == 11)


def test_escape_clears_the_filter_and_the_address_alike(shown: ShownPage) -> None:
    """The box, the list and the address say the same afterwards."""
    for name in ("billing", "search"):
        shown.ask("POST", f"/groups/{name}/commit", {"offsets": {"orders": {"0": 1}}})
    page = shown.open("/groups")
    page.locator(".list a.item").nth(1).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("bill")
    page.locator(".list a.item").nth(1).wait_for(state="detached")
    page.keyboard.press("Escape")
    page.locator(".list a.item").nth(1).wait_for()
    assert page.get_by_label("Find groups").input_value() == ""
    assert "q=" not in page.url


def test_groups_that_expired_are_not_taken_for_groups_that_never_were(shown: ShownPage) -> None:
    """How many are gone and why, with a link to what happened; the message of the jump counts what it did."""
    for name in ("billing", "search"):
        shown.ask("POST", f"/groups/{name}/commit", {"offsets": {"orders": {"0": 1, "1": 1}}})
    shown.ask("POST", "/topics/orders/records", {"values": ["a", "b", "c"]})
    page = shown.open("/control")
    page.get_by_role("button", name="+8 d").click()
    shown.sees("2 groups gone, 4 offsets expired, 3 records deleted", ".notices")
    shown.open("/groups")
    shown.sees("2 groups are gone: their offsets expired")
    page.get_by_role("link", name="History").click()
    shown.sees("Empty → Dead", ".panel")
    shown.open("/overview")
    shown.sees("2 groups are gone: their offsets expired", "[aria-label='Broker']")


def test_a_group_that_is_gone_offers_nothing_that_needs_it(shown: ShownPage) -> None:
    """No members, no buttons, no empty facts: what it lost, and when, with the date."""
    shown.ask("POST", "/groups/billing/commit", {"offsets": {"orders": {"0": 1, "1": 1}}})
    shown.ask("POST", "/clock/advance", {"days": 8})
    page = shown.open("/groups/billing")
    shown.sees("0 committed offsets, 2 lost", "[aria-label='Committed offsets']")
    date = shown.ask("GET", "/journal/brief?kind=offset_expired")["lines"][0]["wall_ms"] / 1000
    day = datetime.fromtimestamp(date, UTC).strftime("%m-%d")
    shown.sees(day, ".history")
    for empty in ("[aria-label=Members]", ".facts dt", "button"):
        assert page.locator(f".chosen {empty}").count() == 0, empty
    shown.open("/timeline")
    shown.sees(day, ".entries a.entry >> nth=-1")


def test_a_held_rebalance_says_who_is_there_and_is_released(shown: ShownPage, clients: ScriptedClients) -> None:
    """One of three is there, two more are awaited; the button ends the hold."""
    svc = clients.client("svc-1")
    svc.join("billing", ["orders"])
    svc.sync({svc.member_id: {"orders": [0]}})
    shown.ask("POST", "/groups/billing/hold_joins", {"until_members": 3})
    rejoining = svc.start(svc.steps.rejoin())
    page = shown.open("/groups/billing")
    shown.sees("1 of 3 members is there", ".rebalance")
    shown.sees("any 2 more", ".rebalance")
    shown.sees("Held by a test: its joins wait until 3 members have sent JoinGroup.", ".rebalance")
    page.get_by_role("progressbar", name="1 of 3 members are there").wait_for()
    page.get_by_role("button", name="Release").click()
    shown.sees("CompletingRebalance", ".head")
    rejoining.result()


def test_the_buttons_of_a_group_act_and_show_their_call(shown: ShownPage) -> None:
    """Rebalance, evict and delete do it, and the line below says it in Python and for a shell."""
    page = shown.open("/groups/billing")
    with consumer(shown, "svc-1"):
        shown.sees("Stable", ".head")
        generation = shown.ask("GET", "/groups/billing")["generation"]
        page.get_by_role("button", name="Rebalance").click()
        eventually(lambda: shown.ask("GET", "/groups/billing")["generation"] > generation)
        shown.sees('broker.group("billing").rebalance(reason=', ".calls")
        page.get_by_role("button", name="curl").click()
        shown.sees("/groups/billing/rebalance --json", ".calls")
        first = shown.ask("GET", "/groups/billing")["members"][0]["member_id"]
        page.get_by_role("button", name="Remove").click()
        eventually(lambda: first not in [each["member_id"] for each in shown.ask("GET", "/groups/billing")["members"]])
    shown.sees("Empty", ".head")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Yes").click()
    shown.sees("There is no group billing")
