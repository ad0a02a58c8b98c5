"""What the journal and the story tell of logins; faults by principal."""

import pytest

from fakebroker.broker.core.events import ClientLogin
from fakebroker.client.connection import ConnectionLost
from fakebroker.client.login import LoginRefused
from fakebroker.protocol.errors import ErrorCode, InvalidArgument
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.bearer import unsecured

HOUR_MS = 3_600_000


@pytest.fixture
def broker() -> VirtualBroker:
    """Alice by the test's password, bob by the settings'; sessions last an hour."""
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="pb";'
    name = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
    return VirtualBroker(users={"alice": "pa"}, config={name: jaas, "connections.max.reauth.ms": HOUR_MS})


def logins(broker: VirtualBroker) -> list[tuple[str, str, str, str]]:
    """Mechanism, principal, what and why of each."""
    events = [recorded.event for recorded in broker._engine.journal.events(ClientLogin)]
    return [(e.mechanism, e.principal, e.what, e.reason) for e in events]


def test_logins_are_reported_with_who_and_by_what(broker: VirtualBroker) -> None:
    """The first, one on the same connection again, and the end of a session without one."""
    client = broker.client("a", user="alice", password="pa", mechanism="SCRAM-SHA-256")
    broker.pass_time(s=60)
    assert client.login("alice", "pa", mechanism="SCRAM-SHA-256").error_code == 0
    broker.pass_time(s=3600)
    with pytest.raises(ConnectionLost, match="session expired"):
        client.metadata()

    assert logins(broker) == [
        ("SCRAM-SHA-256", "User:alice", "logged in", ""),
        ("SCRAM-SHA-256", "User:alice", "logged in again", ""),
        ("SCRAM-SHA-256", "User:alice", "session expired", "the client has not logged in again"),
    ]


@pytest.mark.parametrize(
    ("user", "password", "mechanism", "why"),
    [
        ("alice", "px", "PLAIN", "the password of 'alice' is wrong"),
        ("bob", "px", "PLAIN", "the password of 'bob' is wrong"),
        ("eve", "px", "PLAIN", "user 'eve' does not exist or has no password"),
        ("alice", "px", "SCRAM-SHA-512", "the password of 'alice' is wrong"),
        ("eve", "px", "SCRAM-SHA-512", "user 'eve' has no credential for SCRAM-SHA-512"),
    ],
)
def test_a_refusal_says_to_the_test_what_it_does_not_say_to_the_client(
    broker: VirtualBroker, user: str, password: str, mechanism: str, why: str
) -> None:
    """Clients get the same words for every reason."""
    with pytest.raises(LoginRefused, match=r"[Ii]nvalid") as refused:
        broker.client("a", user=user, password=password, mechanism=mechanism)

    assert why not in str(refused.value)
    assert logins(broker) == [(mechanism, f"User:{user}", "refused", why)]
    assert f"User:{user} refused by {mechanism} on connection 1 (a): {why}" in broker.story()


def test_a_refused_token_is_reported_once_whether_the_client_hears_of_it_or_not(broker: VirtualBroker) -> None:
    """Some clients say that they have heard, others hang up; principals are who the token says."""
    token = unsecured("carol", broker.clock.now_ms // 1000 - 5)
    rude = broker.client("b")
    rude.request("SaslHandshake", 1, mechanism="OAUTHBEARER")
    rude.request("SaslAuthenticate", 2, auth_bytes=f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    rude.close()
    with pytest.raises(LoginRefused):
        broker.client("a", token=token)

    why = "the token is not accepted: it expired 5 s ago by the broker's clock"
    assert logins(broker) == [("OAUTHBEARER", "User:carol", "refused", why)] * 2


def test_a_mechanism_that_is_not_enabled_and_a_request_too_early_are_reported(broker: VirtualBroker) -> None:
    """What a stranger calls itself is cut."""
    broker.client("a").request("SaslHandshake", 1, mechanism="x" * 30_000)
    early = broker.client("b")
    early.request("SaslHandshake", 1, mechanism="PLAIN")
    early.request("Metadata", 8, topics=[])

    first, second = logins(broker)
    assert first[:3] == ("", "", "refused")
    assert len(first[3]) < 500
    assert second == ("PLAIN", "", "refused", "Metadata v8 while the client logs in")


def test_a_line_of_the_journal_has_the_login(broker: VirtualBroker) -> None:
    """With the common columns of any line."""
    broker.client("a", user="alice", password="pa")

    (row,) = (row for row in broker.journal.rows() if row["kind"] == "client_login")
    assert (row["client"], row["connection"], row["node"]) == ("a", 1, 1)
    assert (row["principal"], row["mechanism"], row["what"]) == ("User:alice", "PLAIN", "logged in")


def test_a_fault_may_be_for_one_user(broker: VirtualBroker) -> None:
    """Others are not hit; before a login everybody is anonymous."""
    alice = broker.client("a", user="alice", password="pa")
    bob = broker.client("b", user="bob", password="pb")
    fault = broker.fault(api="FindCoordinator", principal="User:al*", error="COORDINATOR_NOT_AVAILABLE")

    def errors() -> list[int]:
        answers = [client.request("FindCoordinator", 2, key="g", key_type=0) for client in (alice, bob)]
        return [answer.error_code for answer in answers]

    assert errors() == [ErrorCode.COORDINATOR_NOT_AVAILABLE, 0]
    assert fault.hits == 1
    fault.remove()
    seen: list[str] = []
    broker.fault(when=lambda request: seen.append(request.principal), api="SaslHandshake|Metadata", delay_s=0)
    broker.client("c", user="bob", password="pb").metadata()
    assert seen == ["User:ANONYMOUS", "User:bob"]


def test_without_logins_a_fault_for_a_user_would_never_be_hit() -> None:
    """So it is refused."""
    with pytest.raises(InvalidArgument, match="every client is User:ANONYMOUS"):
        VirtualBroker().fault(principal="User:alice", error="NOT_COORDINATOR")
