"""A case happens at one request of one client, and only there."""

import pytest

from fakebroker import ErrorCode, FakeBroker
from fakebroker.client.connection import ConnectionLost
from fakebroker.testing.sweeps.cases import parse_case
from fakebroker.testing.sweeps.inject import Injection


@pytest.mark.parametrize("client_id", ["a", "a[1]*", ""])
def test_only_the_client_that_is_named_meets_it(fakebroker: FakeBroker, client_id: str) -> None:
    """Also one whose name has wildcards in it, and one without a name."""
    fakebroker.create_topic("orders")
    injection = Injection(fakebroker, parse_case(f"{client_id}/OffsetCommit#2:disconnect"))
    other, meant = fakebroker.client("a1"), fakebroker.client(client_id or None)

    for _ in range(3):
        other.commit({("orders", 0): 1}, group_id="billing")
    meant.commit({("orders", 0): 2}, group_id="billing")
    assert not injection.was_reached
    with pytest.raises(ConnectionLost):
        meant.commit({("orders", 0): 3}, group_id="billing")

    assert injection.was_reached
    assert fakebroker.group("billing").offsets == {("orders", 0): 2}


def test_a_pause_is_that_of_one_client(fakebroker: FakeBroker) -> None:
    """Its member goes as by its session timer, that of another client stays and is told to rebalance."""
    a, b = fakebroker.client("a"), fakebroker.client("b")
    a.join("billing")
    a.sync({a.member_id: {}})
    joining = b.start(b.steps.join("billing"))
    while a.heartbeat().error_code == ErrorCode.NONE:  # until the handshake of b is through
        pass
    a.rejoin()
    joining.result()

    Injection(fakebroker, parse_case("a/Heartbeat#1:pause"))

    assert a.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert [member.client_id for member in fakebroker.group("billing").members] == ["b"]
    assert b.heartbeat().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert "exceeded its session timeout" in fakebroker.group("billing").transitions[-1].reason


def test_a_rebalance_begins_before_the_request_is_applied(fakebroker: FakeBroker) -> None:
    """So that the Heartbeat at which it comes is shown already."""
    Injection(fakebroker, parse_case("Heartbeat#2:rebalance"))
    client = fakebroker.client("a")
    client.join("billing")
    client.sync({client.member_id: {}})

    assert [client.heartbeat().error_code for _ in range(2)] == [ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS]
    assert fakebroker.group("billing").transitions[-1].reason == "requested by the sweep"


def test_what_has_no_group_is_left_alone(fakebroker: FakeBroker) -> None:
    """A rebalance and a pause of a client that is no member change nothing."""
    fakebroker.create_topic("orders")
    for name in ("OffsetCommit#1:rebalance", "OffsetCommit#2:pause"):
        Injection(fakebroker, parse_case(name))

    for offset in (1, 2):
        fakebroker.client("a").commit({("orders", 0): offset}, group_id="billing")

    assert fakebroker.group("billing").offsets == {("orders", 0): 2}
