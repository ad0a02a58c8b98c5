"""The overview, transactions and clients: what is going on at the whole broker."""

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from tests.support.chromium import ShownPage
from tests.support.eventually import eventually

pytestmark = [pytest.mark.page, pytest.mark.slow]


def test_the_landing_view_says_why_groups_rebalanced_and_what_is_held(
    shown: ShownPage, clients: ScriptedClients
) -> None:
    """Latest causes, holds with their release, faults, clients, groups by state, isolated brokers."""
    broker_id = shown.ask("POST", "/brokers", {})["broker_id"]
    client = clients.client("svc-1")
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    shown.ask("POST", "/groups/search/hold_joins", {"until_members": 3})
    shown.ask("POST", "/faults", {"api": "OffsetCommit", "error": "NOT_COORDINATOR"})
    page = shown.open()
    shown.sees("svc-1", "[aria-label='Latest rebalances']")
    shown.sees("1 member, took", "[aria-label='Latest rebalances']")
    shown.sees("Stable 1", "[aria-label='Broker']")
    shown.sees("1 client, 1 connection", "[aria-label='Broker']")
    shown.sees("OffsetCommit", "[aria-label='Faults']")
    shown.sees(broker_id, "[aria-label='Isolated brokers']")
    shown.sees("until 3 members have sent JoinGroup", "[aria-label='Holds']")
    page.get_by_role("button", name="Release").click()
    eventually(lambda: shown.ask("GET", "/overview")["holds"] == [])


def test_a_transaction_is_explained_and_aborted(shown: ShownPage, clients: ScriptedClients) -> None:
    """State, producer, partitions, timeout; the button aborts it, and each step is reported with its cause."""
    client = clients.client("copier")
    client.init_producer_id(transactional_id="copies")
    client.add_partitions_to_txn([("orders", 0)])
    page = shown.open("/transactions")
    shown.sees("orders-0", "[aria-label='Transactions']")
    shown.sees("in ", "[aria-label='Transactions']")
    page.get_by_role("link", name="copies").click()
    shown.sees("Next:", "[aria-label='Outcome']")
    page.get_by_role("button", name="Abort").click()
    shown.sees("CompleteAbort", "[aria-label='Transactions']")
    shown.sees("Ongoing → PrepareAbort", ".history")
    page.locator(".history a").first.click()
    shown.sees("copies: PrepareAbort → CompleteAbort", ".panel")


def test_clients_are_listed_with_their_last_request(shown: ShownPage, clients: ScriptedClients) -> None:
    """Who is connected from where, and what was asked last."""
    clients.client("svc-1").metadata(topics=["orders"])
    shown.open("/clients")
    shown.sees("svc-1", "[aria-label='Connections']")
    shown.sees("Metadata v", "[aria-label='Connections']")
    shown.sees("127.0.0.1:", "[aria-label='Connections']")
