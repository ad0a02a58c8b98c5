"""Groups of the newer protocols on the page, and isolated brokers."""

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.streams_group_steps import Subtopology
from tests.support.chromium import ShownPage, violations
from tests.support.eventually import eventually

pytestmark = [pytest.mark.page, pytest.mark.slow]


def test_consumer_groups_show_epochs_and_who_gives_what_up(shown: ShownPage, clients: ScriptedClients) -> None:
    """The second member waits until the first gives partitions up; the page says so."""
    first, second = clients.client("svc-1"), clients.client("svc-2")
    first.join_consumer_group("billing", ["orders"])
    page = shown.open("/groups/billing")
    shown.sees("consumer", ".head")
    shown.sees("assignment epoch", ".head")
    shown.sees("orders 0-2", ".members")
    second.join_consumer_group("billing", ["orders"])
    shown.sees("svc-2", ".members")

    def has_a_target() -> bool:
        second.consumer_group_heartbeat()  # assignments are computed at intervals
        return bool(shown.ask("GET", "/groups/billing")["assignment_epoch"] > 2)

    eventually(has_a_target)
    shown.sees("target: ", ".members")
    shown.sees("svc-2", ".rebalance")
    assert violations(page) == []


def test_share_groups_show_what_is_in_delivery(shown: ShownPage, clients: ScriptedClients) -> None:
    """Members and share partitions with their offsets."""
    client = clients.client("svc-1")
    client.join_share_group("prints", ["orders"])
    shown.ask("POST", "/topics/orders/records", {"values": ["a", "b"]})
    client.share_group_heartbeat()
    client.share_fetch([("orders", 0)])  # the first one chooses where the group begins: at the end
    shown.ask("POST", "/topics/orders/records", {"values": ["a", "b"]})
    assert len(client.share_fetch([("orders", 0)])) == 2
    page = shown.open("/groups/prints")
    shown.sees("share", ".head")
    shown.sees("svc-1", ".members")
    shown.sees("Acquired", "[aria-label='Share partitions']")
    shown.sees("its lock ends in", "[aria-label='Share partitions']")
    assert violations(page) == []


def test_streams_groups_show_their_tasks(shown: ShownPage, clients: ScriptedClients) -> None:
    """Tasks stand in the place of partitions."""
    client = clients.client("svc-1")
    client.join_streams_group("sums", [Subtopology("0", ["orders"])])
    page = shown.open("/groups/sums")
    shown.sees("streams", ".head")
    shown.sees("svc-1", ".members")
    assert violations(page) == []


def test_an_isolated_broker_is_chosen_in_the_header(shown: ShownPage) -> None:
    """What is shown and done is about that broker, and the address says so."""
    broker_id = shown.ask("POST", "/brokers", {})["broker_id"]
    shown.ask("PUT", f"/brokers/{broker_id}/topics/orders", {})
    shown.ask("POST", f"/brokers/{broker_id}/groups/mine/commit", {"offsets": {"orders": {"0": 1}}})
    page = shown.open("/groups")
    shown.sees("No groups yet")
    page.get_by_label("Broker").select_option(broker_id)
    page.locator(".list a.item").first.click()
    shown.sees("mine", ".head h2")
    eventually(lambda: f"/brokers/{broker_id}/#/groups" in page.url)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Yes").click()
    shown.sees("1 group is gone")
    assert shown.ask("GET", f"/brokers/{broker_id}/groups") == []


def test_the_header_has_room_for_the_choice_of_a_broker(shown: ShownPage) -> None:
    """At 1280 px no view and no fact of the header is cut."""
    shown.ask("POST", "/brokers", {})
    shown.page.set_viewport_size({"width": 1280, "height": 800})
    page = shown.open("/overview")
    page.get_by_role("combobox", name="Broker").wait_for()
    parts = "[...document.querySelectorAll('header nav, header .fact, header select')]"
    cut = f"{parts}.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML)"
    eventually(lambda: page.evaluate(cut) == [])


def test_each_isolated_broker_has_a_page_of_its_own(shown: ShownPage) -> None:
    """At /brokers/ID and with all views; the overview of the served broker leads there; a removed one says so."""
    first, second = (shown.ask("POST", "/brokers", {})["broker_id"] for _ in range(2))
    for broker_id in (first, second):
        shown.ask("PUT", f"/brokers/{broker_id}/topics/orders", {})
        shown.ask("POST", f"/brokers/{broker_id}/groups/of-{broker_id}/commit", {"offsets": {"orders": {"0": 1}}})
    page = shown.page
    page.goto(f"{shown.url}/brokers/{first}#/groups")
    shown.sees(f"of-{first}", ".list")
    assert page.get_by_text(f"of-{second}").count() == 0
    assert page.get_by_label("Broker").input_value() == first
    page.get_by_role("link", name="Control").click()
    page.get_by_role("button", name="+1 d", exact=True).click()
    moves = "/journal/brief?kind=clock_moved"
    eventually(lambda: len(shown.ask("GET", f"/brokers/{first}{moves}")["lines"]) == 1)
    assert shown.ask("GET", moves)["lines"] == []
    shown.open()
    page.get_by_role("link", name=second, exact=True).click()
    shown.sees("1 group", "[aria-label='Broker']")
    assert f"/brokers/{second}/" in page.url
    shown.ask("DELETE", f"/brokers/{second}")
    shown.sees(f"Broker {second} does not exist")
    page.get_by_role("link", name="Go to the served broker").click()
    shown.sees("No groups have rebalanced")
    assert page.url == f"{shown.url}/"
