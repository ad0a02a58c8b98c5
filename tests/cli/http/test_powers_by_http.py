"""What a test in another language does with a broker: the same as in Python, with the same words."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from fakebroker import AsyncFakeBroker
from fakebroker.cli.http.app import ControlApp
from tests.support.control import Client, with_control

DAY_MS = 86_400_000


def test_the_clock() -> None:
    """It is shown, moved, set, frozen and speeded up."""

    async def test(control: Client) -> None:
        before = (await control.get("/clock"))["now_ms"]
        assert await control.do("POST", "/clock/advance", {"days": 8}) is None
        assert 8 * DAY_MS <= (await control.get("/clock"))["now_ms"] - before < 9 * DAY_MS
        await control.do("POST", "/clock/freeze")
        await control.do("POST", "/clock/set", {"when": "2040-01-01T01:00:00+01:00"})
        await control.do("PUT", "/clock/rate", {"rate": 60})
        now = datetime(2040, 1, 1, tzinfo=UTC)
        assert await control.get("/clock") == {
            "now": "2040-01-01T00:00:00Z",
            "now_ms": round(now.timestamp() * 1000),
            "is_frozen": True,
            "rate": 60.0,
        }

    with_control(test)


def test_topics_and_records() -> None:
    """A topic is made, shown and deleted; records are texts, or base64 where they are none."""

    async def test(control: Client) -> None:
        made = await control.ask("PUT", "/topics/orders", {"partitions": 2, "config": {"cleanup.policy": "compact"}})
        assert (made.status_code, made.json()["partitions"]) == (201, 2)
        body = {"values": ["a", {"base64": "/w=="}, None], "key": "k", "partition": 1, "headers": [["h", "x"]]}
        appended = await control.do("POST", "/topics/orders/records", body)
        records = await control.get("/topics/orders/records?partition=1")
        assert appended == {"partition": 1, "offset": 0, "records": 3, "timestamp_ms": records[0]["timestamp_ms"]}
        assert [record["value"] for record in records] == ["a", {"base64": "/w=="}, None]
        assert records[0] | {"timestamp_ms": 0} == {
            "partition": 1,
            "offset": 0,
            "timestamp_ms": 0,
            "key": "k",
            "value": "a",
            "headers": [["h", "x"]],
        }
        assert [topic["name"] for topic in await control.get("/topics")] == ["orders"]
        assert await control.do("POST", "/topics/orders/wait", {"records": 3}) == records
        await control.do("DELETE", "/topics/orders")
        assert (await control.problem("GET", "/topics/orders"))["status"] == 404

    with_control(test)


def test_a_group() -> None:
    """Committed offsets are tables by topic and partition; what becomes of them is data, or text for people."""

    async def test(control: Client) -> None:
        await control.do("PUT", "/topics/orders", {"partitions": 1})
        await control.do("POST", "/groups/billing%2Feu/commit", {"offsets": {"orders": {"0": 42}}})
        group = await control.get("/groups/billing%2Feu")
        assert (group["group_id"], group["state"], group["offsets"]) == ("billing/eu", "Empty", {"orders": {"0": 42}})
        assert await control.get("/groups") == [group]
        explained = await control.get("/groups/billing%2Feu/explain", params={"policy": "2.0"})
        assert (explained["policy"], explained["offsets"][0]["offset"]) == ("2.0", 42)
        text = await control.ask("GET", "/groups/billing%2Feu/explain", headers={"accept": "text/plain"})
        assert text.text.startswith("group billing/eu: Empty")
        await control.do("POST", "/clock/advance", {"days": 8})
        assert (await control.do("POST", "/groups/billing%2Feu/wait", {"state": "Dead"}))["offsets"] == {}

    with_control(test)


def test_a_group_with_epochs() -> None:
    """Members with their ways to their targets, waits for reconciliation, explanations: the same as in Python."""

    async def test(control: Client) -> None:
        broker = control.broker
        await control.do("PUT", "/topics/orders", {"partitions": 2})
        await asyncio.to_thread(broker.client("a").join_consumer_group, "billing", ["orders"])
        group = await control.do("POST", "/groups/billing/wait", {"reconciled": True, "epoch": 2, "timeout_s": 5})
        assert (group["kind"], group["state"], group["is_reconciled"]) == ("consumer", "Stable", True)
        (member,) = group["members"]
        assert member["assignment"] == member["target"] == {"orders": [0, 1]}
        assert (member["member_epoch"], member["state"], member["tasks"]) == (2, "Stable", None)
        (way,) = await control.get("/groups/billing/member_transitions")
        assert (way["before"], way["after"], way["reason"]) == ("Absent", "Stable", "member a-member-1 joined")
        explained = await control.get("/groups/billing/explain")
        assert explained["reconciliation"]["members"][0]["has"] == ["orders-0", "orders-1"]
        await control.do("POST", "/groups/billing/evict", {"member": "a"})
        assert (await control.get("/groups/billing"))["state"] == "Empty"

    with_control(test)


def test_a_wait_is_answered_when_it_happens() -> None:
    """Other requests are answered meanwhile."""

    async def test(control: Client) -> None:
        waiting = asyncio.create_task(control.do("POST", "/topics/orders/wait", {"records": 1}))
        await asyncio.sleep(0)
        await control.do("PUT", "/topics/orders")
        assert not waiting.done()
        await control.do("POST", "/topics/orders/records", {"values": ["a"]})
        assert [record["value"] for record in await waiting] == ["a"]

    with_control(test)


def test_a_wait_in_vain_says_what_it_saw() -> None:
    """408, with the text of WaitTimeout."""

    async def test(control: Client) -> None:
        problem = await control.problem("POST", "/groups/billing/wait", {"state": "Stable", "timeout_s": 0.01})
        assert problem["status"] == 408
        assert "waited 0.01 s for group billing to be Stable" in problem["detail"]

    with_control(test)


def test_nodes_and_coordinators() -> None:
    """A node stops and starts; the coordinator moves."""

    async def test(control: Client) -> None:
        node_id = (await control.get("/coordinators/billing"))["node_id"]
        other = node_id % 3 + 1
        await control.do("POST", "/coordinators/billing/move", {"to": other})
        assert (await control.get("/coordinators/billing"))["node_id"] == other
        await control.do("POST", f"/nodes/{other}/stop")
        assert [node["node_id"] for node in await control.get("/nodes") if not node["is_alive"]] == [other]
        assert (await control.get("/coordinators/billing"))["node_id"] != other
        await control.do("POST", f"/nodes/{other}/start")
        await control.do("PUT", f"/nodes/{other}/rack", {"rack": "a"})
        assert (await control.get(f"/nodes/{other}"))["rack"] == "a"

    with_control(test, nodes=3)


def test_holds_of_a_group() -> None:
    """A hold has an id and is found by it until it is removed."""

    async def test(control: Client) -> None:
        hold = await control.do("POST", "/groups/billing/hold_joins", {"until_members": 3})
        assert await control.get("/groups/billing/holds") == [hold]
        path = f"/groups/billing/holds/{hold['hold_id']}"
        assert await control.get(path) == hold
        await control.do("DELETE", path)
        problem = await control.problem("GET", path)
        assert (problem["status"], problem["field"], problem["value"]) == (404, "hold_id", hold["hold_id"])

    with_control(test)


def test_reset_story_and_what_the_broker_is() -> None:
    """The rest of the broker's own powers."""

    async def test(control: Client) -> None:
        assert await control.get("/bootstrap") == control.broker.bootstrap
        assert await control.get("/is_running") is True
        await control.do("PUT", "/topics/orders")
        await control.do("POST", "/reset")
        assert await control.get("/topics") == []
        assert (await control.ask("GET", "/story")).text == "nothing happened\n"
        assert await control.get("/errors") == []

    with_control(test)


def test_snapshots() -> None:
    """A broker goes back to what it was; a fork is a broker of its own; a file is a snapshot again."""

    async def test(control: Client) -> None:
        await control.do("PUT", "/topics/orders")
        snapshot_id = (await control.do("POST", "/snapshots"))["snapshot_id"]
        await control.do("DELETE", "/topics/orders")
        await control.do("POST", f"/snapshots/{snapshot_id}/restore")
        assert [topic["name"] for topic in await control.get("/topics")] == ["orders"]
        fork = await control.do("POST", f"/snapshots/{snapshot_id}/fork", {"as_release": "2.1"})
        assert [topic["name"] for topic in await control.get(f"/brokers/{fork['broker_id']}/topics")] == ["orders"]
        content = (await control.ask("GET", f"/snapshots/{snapshot_id}/file")).content
        again = (await control.ask("POST", "/snapshots/file", content=content)).json()
        kept = {each["snapshot_id"]: each for each in await control.get("/snapshots")}
        assert kept[again["snapshot_id"]] | {"snapshot_id": snapshot_id} == kept[snapshot_id]
        await control.do("DELETE", f"/snapshots/{snapshot_id}")
        assert (await control.problem("POST", f"/snapshots/{snapshot_id}/restore"))["status"] == 404
        assert (await control.problem("POST", "/snapshots/file", content=b"junk"))["status"] == 422

    with_control(test)


def test_a_wait_ends_when_its_caller_hangs_up() -> None:
    """Nothing waits on for a caller who has gone."""

    async def wait_and_hang_up() -> None:
        body = json.dumps({"state": "Stable", "timeout_s": 1e9}).encode()
        said: Iterator[dict[str, Any]] = iter([{"type": "http.request", "body": body}, {"type": "http.disconnect"}])
        async with AsyncFakeBroker() as broker:
            app = ControlApp(broker)
            scope = {
                "type": "http",
                "method": "POST",
                "path": "/groups/billing/wait",
                "raw_path": b"/groups/billing/wait",
                "query_string": b"",
                "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
                "client": ("127.0.0.1", 1),
                "server": ("127.0.0.1", 2),
            }

            async def receive() -> dict[str, Any]:
                await asyncio.sleep(0)
                return next(said)

            async def send(_message: Any) -> None:
                """Nobody reads it."""

            await asyncio.wait_for(app(scope, receive, send), 10)
            await asyncio.sleep(0)
            assert len(broker._waiters) == 0
            await app.close()

    asyncio.run(wait_and_hang_up())


def test_rights() -> None:
    """They are given, shown, explained and taken away; what cannot be is reported with the argument."""

    async def test(control: Client) -> None:
        right = {"principal": "User:alice", "operation": "READ", "topic": "orders"}
        assert await control.do("POST", "/acls/allow", right | {"prefix": True}) is None
        assert await control.do("POST", "/acls/deny", right | {"topic": "orders-secret"}) is None
        shown = await control.get("/acls")
        assert shown["super_users"] == ["User:root"]
        assert [(each["permission"], each["resource_name"], each["pattern_type"]) for each in shown["entries"]] == [
            ("ALLOW", "orders", "PREFIXED"),
            ("DENY", "orders-secret", "LITERAL"),
        ]
        why = await control.get("/acls/explain?principal=User:alice&operation=READ&topic=orders-secret")
        assert (why["is_allowed"], why["entry"]["permission"]) == (False, "DENY")
        assert await control.do("POST", "/acls/remove", {"permission": "DENY"}) == 1
        refused = await control.ask("POST", "/acls/allow", right | {"operation": "EAT"})
        assert refused.status_code == 422
        assert await control.do("DELETE", "/acls") is None
        assert (await control.get("/acls"))["entries"] == []

    with_control(test, acls=[], config={"super.users": "User:root"})
