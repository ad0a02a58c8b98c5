"""Users are declared, added and removed while a broker runs."""

import pytest

from fakebroker import FakeBroker
from fakebroker.client.connection import ConnectionLost
from fakebroker.client.scripted.scripted_client import ScriptedClient
from fakebroker.protocol.errors import InvalidArgument, UnknownThing
from fakebroker.testing.virtual_broker import VirtualBroker


def logs_in(broker: VirtualBroker | FakeBroker, name: str, password: str) -> bool:
    """Whether a new connection gets in by PLAIN."""
    client: ScriptedClient = broker.client()
    client.request("SaslHandshake", 1, mechanism="PLAIN")
    answer = client.request("SaslAuthenticate", 2, auth_bytes=f"\0{name}\0{password}".encode())
    return bool(answer.error_code == 0)


@pytest.mark.rules("SC-5")
def test_users_come_and_go() -> None:
    """A change counts for the next login; `reset` has those that the broker was made with."""
    broker = VirtualBroker(users={"alice": "pa"})
    assert broker.users.names == ["alice"]
    assert logs_in(broker, "alice", "pa")

    broker.users.add("bob", "pb")
    broker.users.remove("alice")
    assert (logs_in(broker, "alice", "pa"), logs_in(broker, "bob", "pb")) == (False, True)

    broker.reset()
    assert broker.users.names == ["alice"]
    broker.stop()


def test_a_snapshot_has_the_users_and_no_password() -> None:
    """A fork asks for the same logins."""
    broker = VirtualBroker(users={"alice": "a-long-secret"})
    snapshot = broker.snapshot()
    assert "a-long-secret" not in repr(snapshot.state)

    fork = VirtualBroker(users={"carol": "pc"})
    fork.restore(snapshot)
    assert fork.users.names == ["alice"]
    assert logs_in(fork, "alice", "a-long-secret")
    assert not logs_in(fork, "carol", "pc")


def test_without_users_nobody_has_to_log_in_and_with_them_all_have_to() -> None:
    """A request without a login closes the connection."""
    assert VirtualBroker().client().request("Metadata", 8, topics=[]).brokers
    with pytest.raises(ConnectionLost):
        VirtualBroker(users={"alice": "pa"}).client().request("Metadata", 8, topics=[])


def test_what_cannot_be_is_reported_without_the_password() -> None:
    """Empty names and passwords, and users that there are not."""
    broker = VirtualBroker(users={"alice": "pa"})
    with pytest.raises(UnknownThing, match="there is no user 'bob'; there is only alice"):
        broker.users.remove("bob")
    with pytest.raises(InvalidArgument, match=r"password: should be a text that is not empty$"):
        broker.users.add("bob", "")
    with pytest.raises(InvalidArgument) as wrong:
        VirtualBroker(users={"": "a-long-secret"})
    assert "a-long-secret" not in f"{wrong.value} {wrong.value.value}"


def test_a_broker_may_have_a_listener_without_logins() -> None:
    """The protocol of a listener may be said."""
    with FakeBroker(users={"alice": "pa"}, listen=["127.0.0.1:0", "protocol=PLAINTEXT,127.0.0.1:0"]) as broker:
        assert [listener.protocol for listener in broker.listeners] == ["SASL_PLAINTEXT", "PLAINTEXT"]
        assert logs_in(broker, "alice", "pa")
