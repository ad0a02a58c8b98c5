"""`broker.journal`: queries, expectations, files, differences, from any thread and in a loop."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker, ExpectationFailed, FakeBroker, InvalidArgument, UnknownThing, WaitTimeout
from fakebroker.testing.handles.expectation import RequestPattern
from fakebroker.testing.journal.saved import load


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as running:
        running.create_topic("orders", partitions=3)
        running.create_topic("audit")
        yield running


def live(broker: FakeBroker, name: str = "svc-1", group: str = "billing") -> None:
    client = broker.client(name)
    client.join(group)
    client.sync()
    client.commit({("orders", 0): 42, ("audit", 0): 1})
    client.request("Heartbeat", 4, group_id=group, member_id="?")


def test_requests_are_found_by_what_they_are_about(broker: FakeBroker) -> None:
    """API, client, group, topic, node, connection, error, and since when: each alone and together."""
    live(broker)
    since = broker.journal.next_seq
    live(broker, "svc-2", "shipping")
    journal = broker.journal

    assert {e.client_id for e in journal.requests(client_id="svc-*")} == {"svc-1", "svc-2"}
    assert {e.client_id for e in journal.requests(group="billing")} == {"svc-1"}
    assert {e.api for e in journal.requests(topic="audit")} == {"OffsetCommit"}
    assert {e.api for e in journal.requests(error="UNKNOWN_MEMBER_ID")} == {"Heartbeat"}
    assert [e.error_names for e in journal.requests("JoinGroup", group="billing")] == [("MEMBER_ID_REQUIRED",), ()]
    assert len(journal.requests("JoinGroup", error="NONE")) == 2
    assert {e.client_id for e in journal.requests(since=since)} == {"svc-2"}
    (connection,) = {e.connection_id for e in journal.requests(client_id="svc-2")}
    assert journal.requests(connection=connection) == [] or journal.requests(connection=connection, node=1)
    assert journal.requests(node=2) == []
    (commit,) = journal.requests("OffsetCommit", group="billing")
    assert commit.topics == {"orders": [0], "audit": [0]}
    assert commit.request.group_id == "billing"
    assert commit.answered.wall_ms >= commit.received.wall_ms > 0


def test_a_limit_keeps_the_last(broker: FakeBroker) -> None:
    """Of requests, events and lines; a limit is a number above 0."""
    live(broker)
    journal = broker.journal

    assert [e.seq for e in journal.requests(limit=2)] == [e.seq for e in journal.requests()][-2:]
    assert [e.seq for e in journal.events(limit=1)] == [journal.events()[-1].seq]
    assert journal.rows("request", limit=3) == journal.rows("request")[-3:]
    with pytest.raises(InvalidArgument, match="limit"):
        journal.requests(limit=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"api": "JoinGrop"}, "did you mean 'JoinGroup'"),
        ({"error": "MEMBER_ID_REQUIERD"}, "did you mean 'MEMBER_ID_REQUIRED'"),
    ],
)
def test_a_query_for_what_does_not_exist_is_an_error(
    broker: FakeBroker, arguments: dict[str, Any], message: str
) -> None:
    """A misspelt name would find nothing for ever; the error names field, value and the nearest right one."""
    for ask in (broker.journal.requests, broker.journal.expect):
        with pytest.raises(UnknownThing) as raised:
            ask(**arguments)
        assert message in str(raised.value)
        assert {raised.value.field: raised.value.value} == arguments


def test_patterns_name_several_apis(broker: FakeBroker) -> None:
    """As those of faults and sweeps do, in queries and in expectations."""
    live(broker)
    journal = broker.journal
    apis = [each.api for each in journal.requests() if each.api in ("JoinGroup", "SyncGroup")]

    assert set(apis) == {"JoinGroup", "SyncGroup"}
    assert [each.api for each in journal.requests("Sync*|joingroup")] == apis
    came = journal.expect("Join*").then("Heartbeat | SyncGroup").within(s=1)
    assert [each.api for each in came] == ["JoinGroup", "SyncGroup"]
    with pytest.raises(UnknownThing, match=r"api: there is no API 'Foo\*'; there are \d+: .*fakebroker ctl names"):
        journal.requests("Fetch|Foo*")


def test_events_are_found_by_kind(broker: FakeBroker) -> None:
    """Kinds are those of the schema; requests and events have one order."""
    live(broker)
    broker.client("c").commit({("orders", 0): 1}, group_id="simple")
    broker.clock.advance(days=8)
    journal = broker.journal

    assert [r.event.after for r in journal.events("transition")][:3] == [
        "PreparingRebalance", "CompletingRebalance", "Stable",
    ]  # fmt: skip
    assert [r.event.group_id for r in journal.events("offset_expired")] == ["simple", "billing"]
    assert {row["rule"] for row in journal.rows("offset_expired")} == {"EX-3"}
    assert [entry.seq for entry in journal.entries()] == list(range(journal.next_seq))
    assert (len(journal), journal.forgotten) == (journal.next_seq, 0)
    assert len(journal.events()) + len(journal.requests()) == len(journal)
    with pytest.raises(UnknownThing, match="did you mean 'transition'"):
        journal.events("transitions")


def test_clear_forgets_and_counts_on(broker: FakeBroker) -> None:
    """After it only what is new is found."""
    live(broker)
    before = broker.journal.next_seq
    broker.journal.clear()

    assert broker.journal.entries() == []
    assert broker.journal.next_seq == before


def test_an_expectation_that_is_met_gives_the_requests(broker: FakeBroker) -> None:
    """In order, with others in between; what happened before counts."""
    live(broker)
    expectation = (
        broker.journal.expect("JoinGroup", error="MEMBER_ID_REQUIRED", client_id="svc-1")
        .then("JoinGroup", error="NONE")
        .never("SyncGroup", error="UNKNOWN_MEMBER_ID")
        .then("OffsetCommit", topic="orders")
    )

    assert [e.api for e in expectation.within(s=2)] == ["JoinGroup", "JoinGroup", "OffsetCommit"]
    patterns = [RequestPattern("JoinGroup"), RequestPattern("Heartbeat", "UNKNOWN_MEMBER_ID")]
    assert [e.api for e in broker.journal.wait(patterns, timeout_s=2)] == ["JoinGroup", "Heartbeat"]


def test_an_expectation_waits(broker: FakeBroker) -> None:
    """It is met by what another thread does meanwhile."""
    since = broker.journal.next_seq
    thread = threading.Thread(target=live, args=(broker,))
    expectation = broker.journal.expect("SyncGroup", since=since).then("Heartbeat")
    thread.start()
    found = expectation.within(s=30)
    thread.join()

    assert [e.api for e in found] == ["SyncGroup", "Heartbeat"]


def test_an_expectation_that_is_not_met_says_what_was_seen(broker: FakeBroker) -> None:
    """What came, what is missing, and the last requests in words."""
    live(broker)
    with pytest.raises(WaitTimeout) as raised:
        broker.journal.expect("JoinGroup").then("LeaveGroup", group="billing").within(s=0.01)
    lines = str(raised.value).splitlines()

    assert lines[0] == "waited 0.01 s for JoinGroup, then LeaveGroup group='billing': 1 of 2 seen"
    assert lines[1].startswith("  seen: #")
    assert lines[2] == "  missing: LeaveGroup group='billing'"
    assert lines[3] == "the last requests were:"
    assert lines[-1].endswith("Heartbeat v4 of group billing -> UNKNOWN_MEMBER_ID")


def test_what_never_should_come_fails_at_once(broker: FakeBroker) -> None:
    """Between two requests, and after the last; before the first it does not count."""
    live(broker)
    with pytest.raises(ExpectationFailed, match="expected never OffsetCommit, but saw #"):
        broker.journal.expect("JoinGroup").never("OffsetCommit").then("Heartbeat").within(s=20)
    with pytest.raises(AssertionError):
        broker.journal.expect("JoinGroup").never("Heartbeat").within(s=20)
    (last,) = broker.journal.expect("Heartbeat").never("OffsetCommit").within(s=0.05)
    assert last.api == "Heartbeat"


def test_an_expectation_is_not_changed_by_what_is_added(broker: FakeBroker) -> None:
    """`then` makes a new one, so the beginning may be used twice."""
    live(broker)
    begin = broker.journal.expect("JoinGroup", error="NONE")
    begin.then("SyncGroup")

    assert [e.api for e in begin.within(s=1)] == ["JoinGroup"]


def test_expectations_are_awaited_in_a_loop() -> None:
    """With AsyncFakeBroker `within` is to be awaited, met or not, silent or not."""

    async def run() -> None:
        async with AsyncFakeBroker() as broker:
            client = broker.client("a")
            (met, _) = await asyncio.gather(
                broker.journal.expect("JoinGroup", error="NONE").within(s=20), asyncio.to_thread(client.join, "g")
            )
            assert [e.api for e in met] == ["JoinGroup"]
            assert len(await broker.journal.expect("JoinGroup", error="NONE").never("Fetch").within(s=0.01)) == 1
            with pytest.raises(WaitTimeout, match="missing: Fetch"):
                await broker.journal.expect("Fetch").within(s=0.01)
            with pytest.raises(ExpectationFailed):
                await broker.journal.expect("ApiVersions").never("JoinGroup").within(s=1)

    asyncio.run(run())


def test_a_probe_may_ask_the_journal(broker: FakeBroker) -> None:
    """A wait's probe runs on the broker's thread after everything that happens there; handles may be used in it."""
    live(broker)
    assert broker.wait(lambda: broker.journal.requests("Heartbeat") or None, 5, lambda: "no heartbeat")


def test_a_saved_journal_is_the_same_when_loaded(broker: FakeBroker, tmp_path: Path) -> None:
    """Lines are those of `rows`, but for the name of the run."""
    live(broker)
    count = broker.journal.save(tmp_path / "run.jsonl")
    saved = load(tmp_path / "run.jsonl")

    assert count == len(saved.rows)
    assert [{**row, "run": "memory"} for row in saved.rows] == broker.journal.rows()
    assert broker.journal.diff(tmp_path / "run.jsonl").is_same
    assert broker.journal.diff(saved).is_same


def test_journals_of_the_same_test_do_not_differ(tmp_path: Path) -> None:
    """Ports, member ids and times of two brokers are others; that is no difference. What a client does is one."""
    for seed, name in ((1, "one"), (2, "other")):
        with FakeBroker(seed=seed) as broker:
            broker.create_topic("orders")
            broker.create_topic("audit")
            live(broker)
            if name == "other":
                assert broker.journal.diff(tmp_path / "one").lines == []
                broker.client("svc-1").commit({("orders", 0): 43}, group_id="late")
                found = broker.journal.diff(tmp_path / "one")
            broker.journal.save(tmp_path / name)

    assert not found.is_same
    assert found.lines[0] == "client svc-1: 8 steps here, 6 there"
    assert any(line == "  - OffsetCommit v9 of group late orders -> ok" for line in found.lines)
    with pytest.raises(InvalidArgument, match="no journal found at"):
        FakeBroker().journal.diff(tmp_path / "nothing")


def test_the_timeline_has_requests_states_and_arrows(broker: FakeBroker, tmp_path: Path) -> None:
    """Each connection and group is a track; a parked request is a slice as long as it waited."""
    live(broker)
    broker.journal.export_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]

    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {"clients", "groups", "brokers"}
    assert "billing" in {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert [e["name"] for e in events if e.get("cat") == "state"] == [
        "PreparingRebalance", "CompletingRebalance", "Stable",
    ]  # fmt: skip
    assert {e["name"] for e in events if e["ph"] == "s"} >= {"causes"}
    assert all(e["dur"] > 0 for e in events if e["ph"] == "X")


def test_the_capture_can_be_written_while_the_broker_runs(broker: FakeBroker, tmp_path: Path) -> None:
    """The handle writes what is in memory."""
    live(broker)
    assert broker.journal.export_pcap(tmp_path / "run.pcap") > 10


def test_what_a_power_causes_is_in_the_journal_when_it_returns(broker: FakeBroker) -> None:
    """Also without a request afterwards, and while the broker is stopped."""
    broker.client("a").join("billing")
    broker.coordinator("billing").load()
    moves = broker.journal.events("coordinator_moved")
    assert [each.event.what for each in moves][-3:] == ["unloaded", "loading", "loaded"]

    broker.stop()
    broker.coordinator("billing").load()
    assert len(broker.journal.events("coordinator_moved")) > len(moves)
