"""What the page asks of all groups and connections at once."""

import asyncio
import sys
from collections.abc import Generator

import pytest

from fakebroker.cli.http import topic_extras
from tests.support.control import Client, with_control


def test_holds_of_all_groups_are_reported_until_they_end() -> None:
    """Each with the group, the phase and words; one that is released is gone."""

    async def test(control: Client) -> None:
        assert (await control.get("/overview"))["holds"] == []
        await control.do("POST", "/groups/billing/hold_joins", {"until_members": 3})
        await control.do("POST", "/groups/search/hold_syncs", {})
        joins, syncs = (await control.get("/overview"))["holds"]
        assert (joins["group_id"], joins["phase"], syncs["group_id"], syncs["phase"]) == (
            "billing", "join", "search", "sync"
        )  # fmt: skip
        assert joins["text"] == "held by a test: its joins wait until 3 members have sent JoinGroup"
        await control.do("POST", f"/groups/billing/holds/{joins['hold_id']}/release", {})
        assert [each["group_id"] for each in (await control.get("/overview"))["holds"]] == ["search"]

    with_control(test)


def test_the_lag_of_groups_is_what_they_have_not_committed() -> None:
    """All partitions of a group together; null for a group that has committed nothing."""

    async def test(control: Client) -> None:
        await control.do("PUT", "/topics/orders", {"partitions": 2})
        for partition in (0, 1):
            await control.do("POST", "/topics/orders/records", {"values": ["a", "b", "c"], "partition": partition})
        await control.do("POST", "/groups/billing/commit", {"offsets": {"orders": {"0": 1, "1": 3}}})
        lags = await control.get("/group_lags?group=billing&group=nobody")
        assert lags == {"billing": 2, "nobody": None}

    with_control(test)


def test_too_many_groups_at_once_are_refused() -> None:
    """A request stays bounded, however many groups there are."""

    async def test(control: Client) -> None:
        problem = await control.problem("GET", f"/group_lags?{'&'.join(['group=a'] * 201)}")
        assert (problem["status"], problem["field"]) == (422, "group")

    with_control(test)


def test_the_readers_of_a_large_topic_cost_what_they_have_committed() -> None:
    """Not its partitions: a group with one offset is one look."""

    async def test(control: Client) -> None:
        await control.do("PUT", "/topics/orders", {"partitions": 5000})
        await control.do("POST", "/topics/orders/records", {"values": ["a", "b"], "partition": 4999})
        for number in range(20):
            await control.do("POST", f"/groups/g{number}/commit", {"offsets": {"orders": {"4999": 1}}})
        calls = 0

        def count(_frame: object, _event: str, _argument: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(count)
        try:
            readers = await control.get("/topics/orders/groups")
        finally:
            sys.setprofile(None)
        assert [each["lag"] for each in readers] == [1] * 20
        assert calls < 20_000

    with_control(test)


def test_long_work_ends_when_its_caller_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads what it would find."""

    async def test(control: Client) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        def endless(*_arguments: object) -> Generator[None, None, None]:
            begun.set()
            try:
                while True:
                    yield
            finally:
                ended.set()

        monkeypatch.setattr(topic_extras, "_readers", endless)
        await control.do("PUT", "/topics/orders", {})

        async def hang_up_later() -> dict[str, str]:
            await begun.wait()
            return {"type": "http.disconnect"}

        async def send(_message: object) -> None:
            """Nobody is there."""

        path = "/topics/orders/groups"
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {"headers": [(b"host", b"127.0.0.1")], "root_path": "", "scheme": "http", "http_version": "1.1"}
        await asyncio.wait_for(control.app(scope, hang_up_later, send), 10)
        await asyncio.wait_for(ended.wait(), 10)

    with_control(test)
