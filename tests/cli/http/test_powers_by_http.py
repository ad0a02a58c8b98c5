"""What a test in another language does with a broker: the same as in Python, with the same words."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from fakebroker import AsyncFakeBroker
from fakebroker.cli.http.app import ControlApp
from tests.support.control import Client, with_door

DAY_MS = 86_400_000


def test_the_clock() -> None:
    """It is shown, moved, set, frozen and speeded up."""

    async def test(door: Client) -> None:
        before = (await door.get("/clock"))["now_ms"]
        assert await door.do("POST", "/clock/advance", {"days": 8}) is None
        assert 8 * DAY_MS <= (await door.get("/clock"))["now_ms"] - before < 9 * DAY_MS
        await door.do("POST", "/clock/freeze")
        await door.do("POST", "/clock/set", {"when": "2040-01-01T01:00:00+01:00"})
        await door.do("PUT", "/clock/rate", {"rate": 60})
        now = datetime(2040, 1, 1, tzinfo=UTC)
        assert await door.get("/clock") == {
            "now": "2040-01-01T00:00:00Z",
            "now_ms": round(now.timestamp() * 1000),
            "is_frozen": True,
            "rate": 60.0,
        }

    with_door(test)


def test_topics_and_records() -> None:
    """A topic is made, shown and deleted; records are texts, or base64 where they are none."""

    async def test(door: Client) -> None:
        made = await door.ask("PUT", "/topics/orders", {"partitions": 2, "config": {"cleanup.policy": "compact"}})
        assert (made.status_code, made.json()["partitions"]) == (201, 2)
        body = {"values": ["a", {"base64": "/w=="}, None], "key": "k", "partition": 1, "headers": [["h", "x"]]}
        appended = await door.do("POST", "/topics/orders/records", body)
        records = await door.get("/topics/orders/records?partition=1")
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
        assert [topic["name"] for topic in await door.get("/topics")] == ["orders"]
        assert await door.do("POST", "/topics/orders/wait", {"records": 3}) == records
        await door.do("DELETE", "/topics/orders")
        assert (await door.problem("GET", "/topics/orders"))["status"] == 404

    with_door(test)


def test_a_group() -> None:
    """Committed offsets are tables by topic and partition; what becomes of them is data, or text for people."""

    async def test(door: Client) -> None:
        await door.do("PUT", "/topics/orders", {"partitions": 1})
        await door.do("POST", "/groups/billing%2Feu/commit", {"offsets": {"orders": {"0": 42}}})
        group = await door.get("/groups/billing%2Feu")
        assert (group["group_id"], group["state"], group["offsets"]) == ("billing/eu", "Empty", {"orders": {"0": 42}})
        assert await door.get("/groups") == [group]
        explained = await door.get("/groups/billing%2Feu/explain", params={"policy": "2.0"})
        assert (explained["policy"], explained["offsets"][0]["offset"]) == ("2.0", 42)
        text = await door.ask("GET", "/groups/billing%2Feu/explain", headers={"accept": "text/plain"})
        assert text.text.startswith("group billing/eu: Empty")
        await door.do("POST", "/clock/advance", {"days": 8})
        assert (await door.do("POST", "/groups/billing%2Feu/wait", {"state": "Dead"}))["offsets"] == {}

    with_door(test)


def test_a_group_with_epochs() -> None:
    """Members with their ways to their targets, waits for reconciliation, explanations: the same as in Python."""

    async def test(door: Client) -> None:
        broker = door.broker
        await door.do("PUT", "/topics/orders", {"partitions": 2})
        await asyncio.to_thread(broker.client("a").join_consumer_group, "billing", ["orders"])
        group = await door.do("POST", "/groups/billing/wait", {"reconciled": True, "epoch": 2, "timeout_s": 5})
        assert (group["kind"], group["state"], group["is_reconciled"]) == ("consumer", "Stable", True)
        (member,) = group["members"]
        assert member["assignment"] == member["target"] == {"orders": [0, 1]}
        assert (member["member_epoch"], member["state"], member["tasks"]) == (2, "Stable", None)
        (way,) = await door.get("/groups/billing/member_transitions")
        assert (way["before"], way["after"], way["reason"]) == ("Absent", "Stable", "member a-member-1 joined")
        explained = await door.get("/groups/billing/explain")
        assert explained["reconciliation"]["members"][0]["has"] == ["orders-0", "orders-1"]
        await door.do("POST", "/groups/billing/evict", {"member": "a"})
        assert (await door.get("/groups/billing"))["state"] == "Empty"

    with_door(test)


def test_a_wait_is_answered_when_it_happens() -> None:
    """Other requests are answered meanwhile."""

    async def test(door: Client) -> None:
        waiting = asyncio.create_task(door.do("POST", "/topics/orders/wait", {"records": 1}))
        await asyncio.sleep(0)
        await door.do("PUT", "/topics/orders")
        assert not waiting.done()
        await door.do("POST", "/topics/orders/records", {"values": ["a"]})
        assert [record["value"] for record in await waiting] == ["a"]

    with_door(test)


def test_a_wait_in_vain_says_what_it_saw() -> None:
    """408, with the text of WaitTimeout."""

    async def test(door: Client) -> None:
        problem = await door.problem("POST", "/groups/billing/wait", {"state": "Stable", "timeout_s": 0.01})
        assert problem["status"] == 408
        assert "waited 0.01 s for group billing to be Stable" in problem["detail"]

    with_door(test)


def test_nodes_and_coordinators() -> None:
    """A node stops and starts; the coordinator moves."""

    async def test(door: Client) -> None:
        node_id = (await door.get("/coordinators/billing"))["node_id"]
        other = node_id % 3 + 1
        await door.do("POST", "/coordinators/billing/move", {"to": other})
        assert (await door.get("/coordinators/billing"))["node_id"] == other
        await door.do("POST", f"/nodes/{other}/stop")
        assert [node["node_id"] for node in await door.get("/nodes") if not node["is_alive"]] == [other]
        assert (await door.get("/coordinators/billing"))["node_id"] != other
        await door.do("POST", f"/nodes/{other}/start")
        await door.do("PUT", f"/nodes/{other}/rack", {"rack": "a"})
        assert (await door.get(f"/nodes/{other}"))["rack"] == "a"

    with_door(test, nodes=3)


def test_holds_of_a_group() -> None:
    """A hold has an id and is found by it until it is removed."""

    async def test(door: Client) -> None:
        hold = await door.do("POST", "/groups/billing/hold_joins", {"until_members": 3})
        assert await door.get("/groups/billing/holds") == [hold]
        path = f"/groups/billing/holds/{hold['hold_id']}"
        assert await door.get(path) == hold
        await door.do("DELETE", path)
        problem = await door.problem("GET", path)
        assert (problem["status"], problem["field"], problem["value"]) == (404, "hold_id", hold["hold_id"])

    with_door(test)


def test_reset_story_and_what_the_broker_is() -> None:
    """The rest of the broker's own powers."""

    async def test(door: Client) -> None:
        assert await door.get("/bootstrap") == door.broker.bootstrap
        assert await door.get("/is_running") is True
        await door.do("PUT", "/topics/orders")
        await door.do("POST", "/reset")
        assert await door.get("/topics") == []
        assert (await door.ask("GET", "/story")).text == "nothing happened\n"
        assert await door.get("/errors") == []

    with_door(test)


def test_snapshots() -> None:
    """A broker goes back to what it was; a fork is a broker of its own; a file is a snapshot again."""

    async def test(door: Client) -> None:
        await door.do("PUT", "/topics/orders")
        snapshot_id = (await door.do("POST", "/snapshots"))["snapshot_id"]
        await door.do("DELETE", "/topics/orders")
        await door.do("POST", f"/snapshots/{snapshot_id}/restore")
        assert [topic["name"] for topic in await door.get("/topics")] == ["orders"]
        fork = await door.do("POST", f"/snapshots/{snapshot_id}/fork", {"as_release": "2.1"})
        assert [topic["name"] for topic in await door.get(f"/brokers/{fork['broker_id']}/topics")] == ["orders"]
        content = (await door.ask("GET", f"/snapshots/{snapshot_id}/file")).content
        again = (await door.ask("POST", "/snapshots/file", content=content)).json()
        kept = {each["snapshot_id"]: each for each in await door.get("/snapshots")}
        assert kept[again["snapshot_id"]] | {"snapshot_id": snapshot_id} == kept[snapshot_id]
        await door.do("DELETE", f"/snapshots/{snapshot_id}")
        assert (await door.problem("POST", f"/snapshots/{snapshot_id}/restore"))["status"] == 404
        assert (await door.problem("POST", "/snapshots/file", content=b"junk"))["status"] == 422

    with_door(test)


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
    """They are given, shown, explained and taken away; what cannot be is told with the argument."""

    async def test(door: Client) -> None:
        right = {"principal": "User:alice", "operation": "READ", "topic": "orders"}
        assert await door.do("POST", "/acls/allow", right | {"prefix": True}) is None
        assert await door.do("POST", "/acls/deny", right | {"topic": "orders-secret"}) is None
        shown = await door.get("/acls")
        assert shown["super_users"] == ["User:root"]
        assert [(each["permission"], each["resource_name"], each["pattern_type"]) for each in shown["entries"]] == [
            ("ALLOW", "orders", "PREFIXED"),
            ("DENY", "orders-secret", "LITERAL"),
        ]
        why = await door.get("/acls/explain?principal=User:alice&operation=READ&topic=orders-secret")
        assert (why["is_allowed"], why["entry"]["permission"]) == (False, "DENY")
        assert await door.do("POST", "/acls/remove", {"permission": "DENY"}) == 1
        refused = await door.ask("POST", "/acls/allow", right | {"operation": "EAT"})
        assert refused.status_code == 422
        assert await door.do("DELETE", "/acls") is None
        assert (await door.get("/acls"))["entries"] == []

    with_door(test, acls=[], config={"super.users": "User:root"})
