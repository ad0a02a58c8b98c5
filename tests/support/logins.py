"""Engines on whose listener clients have to log in, and clients that have."""

from typing import Any

from fakebroker.protocol.listeners import SASL_PLAINTEXT, Listener
from tests.support.engine import Client, SimEngine

RIGHT, WRONG = b"\0alice\0pa", b"\0alice\0px"


def lab_with_sasl(**settings: Any) -> SimEngine:
    """An engine on whose listener alice has to log in."""
    lab = SimEngine(settings, listeners=[Listener(1, "127.0.0.1", 9092, protocol=SASL_PLAINTEXT)])
    lab.cluster.credentials.add_user("alice", "pa", 0)
    return lab


def lab_with_tokens(key: str | None = "key") -> SimEngine:
    """The same where delegation tokens are made, unless there is no key."""
    return lab_with_sasl(**({} if key is None else {"delegation.token.secret.key": key}))


def shaken(lab: SimEngine, mechanism: str = "PLAIN", version: int = 1) -> Client:
    """A client that has chosen its mechanism."""
    client = lab.client()
    answer = client.ask("SaslHandshake", version, mechanism=mechanism)
    assert answer.error_code == 0
    return client


def logged_in(lab: SimEngine) -> Client:
    """A client that has logged in as alice."""
    client = shaken(lab)
    assert client.ask("SaslAuthenticate", 2, auth_bytes=RIGHT).error_code == 0
    return client
