"""Real clients log in by SASL, and are refused with the error that they document: here and by a real Kafka."""

import re
import time
from collections.abc import Callable, Iterator

import pytest

from tests.clients.every_client import EVERY_CLIENT, SILENCE_S, WITH_DELEGATION_TOKENS, WORDS
from tests.clients.logins import Client, Login
from tests.clients.secured import (
    BOTH_SERVERS,
    ONLY_LOGINS,
    PASSWORDS,
    SASL_PLAINTEXT,
    SCRAM,
    SERVERS,
    SETTINGS,
    SecuredServer,
    unsecured_token,
)
from tests.support.eventually import eventually

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]


BY_PASSWORD = ["PLAIN", *SCRAM]
SESSION_MS = 5000
Open = Callable[[str, Login], Client]


@pytest.fixture(scope="module", params=BOTH_SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[SecuredServer]:
    """A broker where alice and bob may log in by each mechanism, on the listener BRIEF for a few seconds at a time."""
    settings = SETTINGS | {name.replace(".sasl_plaintext.", ".brief."): value for name, value in SETTINGS.items()}
    settings |= {f"listener.name.brief.{each.lower()}.connections.max.reauth.ms": SESSION_MS for each in BY_PASSWORD}
    with SERVERS[request.param](settings, {**ONLY_LOGINS, "BRIEF": SASL_PLAINTEXT}) as server:
        for user, password in PASSWORDS.items():
            server.set_password(user, password)
        server.create_topic("orders")
        yield server


def by_password(server: SecuredServer, mechanism: str, user: str = "alice", password: str = "pa") -> Login:
    """How a user logs in."""
    return Login(server.addresses[SASL_PLAINTEXT], SASL_PLAINTEXT, mechanism, user, password)


def by_token(server: SecuredServer, token: str) -> Login:
    """How the bearer of a token logs in."""
    return Login(server.addresses[SASL_PLAINTEXT], SASL_PLAINTEXT, "OAUTHBEARER", token=token)


@pytest.mark.behaviour("SASL {mechanism}")
@pytest.mark.rules("SA-3", "SA-10")
@pytest.mark.parametrize("mechanism", BY_PASSWORD)
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_the_right_password_is_served_and_a_wrong_one_refused(
    server: SecuredServer, opened: Open, name: str, mechanism: str
) -> None:
    """By each mechanism, with each client; a user that there is not is refused like a wrong password (SA-4)."""
    assert opened(name, by_password(server, mechanism)).send("orders") == ""
    assert re.fullmatch(WORDS[name].refused, opened(name, by_password(server, mechanism, password="pb")).send("orders"))
    assert re.fullmatch(WORDS[name].refused, opened(name, by_password(server, mechanism, "carol", "pc")).send("orders"))


@pytest.mark.behaviour("SASL OAUTHBEARER")
@pytest.mark.rules("SA-5", "SA-11")
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_a_token_is_served_and_one_that_has_ended_refused(server: SecuredServer, opened: Open, name: str) -> None:
    """By a token that nobody signed: whom it names, until it ends; what is no token is refused, too."""
    assert opened(name, by_token(server, unsecured_token("alice"))).send("orders") == ""
    ended = unsecured_token("alice", lifetime_s=-3600)
    for token in (ended, "no.token."):
        login = by_token(server, token)._replace(patience_s=SILENCE_S)
        assert re.fullmatch(WORDS[name].bad_token, opened(name, login).send("orders"))


@pytest.mark.rules("SA-6")
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_who_does_not_log_in_is_not_served(server: SecuredServer, opened: Open, name: str) -> None:
    """A client that knows nothing of SASL loses its connection, and says so as far as it can."""
    login = Login(server.addresses[SASL_PLAINTEXT], "PLAINTEXT", patience_s=SILENCE_S)

    assert re.fullmatch(WORDS[name].silent, opened(name, login).send("orders"))


@pytest.mark.rules("SC-5", "SA-10")
@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_a_changed_password_counts_for_the_next_login(
    server: SecuredServer, opened: Open, name: str, mechanism: str
) -> None:
    """The old one is refused at once; who is logged in stays so, also when the user is no more."""
    user = f"user-of-{name}-{mechanism}"
    server.set_password(user, "first")
    there = opened(name, by_password(server, mechanism, user, "first"))
    eventually(lambda: there.send("orders") == "")

    server.set_password(user, "second")
    eventually(lambda: opened(name, by_password(server, mechanism, user, "second")).send("orders") == "")
    assert re.fullmatch(WORDS[name].refused, opened(name, by_password(server, mechanism, user, "first")).send("orders"))

    server.remove_passwords(user)
    eventually(lambda: opened(name, by_password(server, mechanism, user, "second")).send("orders") != "")
    assert there.send("orders") == ""


@pytest.mark.behaviour("SASL session ends, the client logs in again")
@pytest.mark.slow
@pytest.mark.rules("SA-9")
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_a_client_logs_in_again_when_its_session_ends(server: SecuredServer, opened: Open, name: str) -> None:
    """It is served all the time, on the connection that it has or on a new one, while two sessions end (KIP-368)."""
    client = opened(name, by_password(server, "SCRAM-SHA-512")._replace(bootstrap=server.addresses["BRIEF"]))
    assert client.send("orders") == ""

    end_s = time.monotonic() + 2.5 * SESSION_MS / 1000
    outcomes = set()
    while time.monotonic() < end_s:
        outcomes.add(client.send("orders"))
    assert outcomes == {""}


@pytest.mark.rules("TK-2", "TK-3", "TK-5")
@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("name", WITH_DELEGATION_TOKENS)
def test_a_delegation_token_logs_in_until_it_is_taken_back(
    server: SecuredServer, opened: Open, name: str, mechanism: str
) -> None:
    """Those clients that know delegation tokens log in by one as its owner."""
    token_id, hmac = server.create_delegation_token("alice", "pa")
    login = by_password(server, mechanism, token_id, hmac)._replace(is_delegated=True)
    eventually(lambda: opened(name, login).send("orders") == "")
    assert re.fullmatch(WORDS[name].refused, opened(name, login._replace(is_delegated=False)).send("orders"))

    server.expire_delegation_token("alice", "pa", hmac)
    eventually(lambda: bool(re.fullmatch(WORDS[name].refused, opened(name, login).send("orders"))))
