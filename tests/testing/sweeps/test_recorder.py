"""The requests of the first run, counted as faults count them."""

from fakebroker import FakeBroker
from fakebroker.testing.sweeps.cases import RequestSeen
from fakebroker.testing.sweeps.recorder import Recorder


def test_requests_are_counted_by_api_and_client(fakebroker: FakeBroker) -> None:
    """In the order of arrival, each with the client's request before it, and whether it was a member then."""
    recorder = Recorder(fakebroker, ("JoinGroup", "SyncGroup", "OffsetCommit"))
    fakebroker.create_topic("orders")
    a, nameless = fakebroker.client("a"), fakebroker.client(None)

    a.join("billing", ["orders"])
    a.sync({a.member_id: {"orders": [0]}})
    nameless.commit({("orders", 0): 1}, group_id="other")
    a.heartbeat()
    a.commit({("orders", 0): 2})
    a.leave()
    nameless.commit({("orders", 0): 3}, group_id="other")

    assert recorder.seen == [
        RequestSeen("JoinGroup", "a", 1, "", False),
        RequestSeen("JoinGroup", "a", 2, "JoinGroup #1", False),
        RequestSeen("SyncGroup", "a", 1, "JoinGroup #2", True),
        RequestSeen("OffsetCommit", "", 1, "", False),
        RequestSeen("OffsetCommit", "a", 1, "SyncGroup #1", True),
        RequestSeen("OffsetCommit", "", 2, "OffsetCommit #1", False),
    ]


def test_recording_changes_nothing(fakebroker: FakeBroker) -> None:
    """No request is hit."""
    Recorder(fakebroker, ("OffsetCommit",))
    fakebroker.create_topic("orders")

    fakebroker.client("a").commit({("orders", 0): 1}, group_id="billing")

    assert [fault.hits for fault in fakebroker.faults] == [0]
    assert fakebroker.group("billing").offsets == {("orders", 0): 1}
