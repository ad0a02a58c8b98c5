"""Clients that leave while a request of theirs waits, at every step of a login and of a session."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.engine.faults.spec import FaultSpec
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed, request
from tests.support.logins import RIGHT, WRONG, lab_with_sasl, logged_in, shaken

SESSION_MS = 10_000
DELAY_S = 2


def after_session(lab: SimEngine) -> Client:
    client = logged_in(lab)
    lab.network.advance(SESSION_MS + 1)
    return client


STATES: dict[str, Callable[[SimEngine], Client]] = {
    "before": SimEngine.client,
    "logging in": shaken,
    "in a session": logged_in,
    "after a session": after_session,
}
REQUESTS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "ApiVersions": ("ApiVersions", 0, {}),
    "handshake": ("SaslHandshake", 1, {"mechanism": "PLAIN"}),
    "handshake v0": ("SaslHandshake", 0, {"mechanism": "PLAIN"}),
    "handshake for another": ("SaslHandshake", 1, {"mechanism": "none"}),
    "right password": ("SaslAuthenticate", 2, {"auth_bytes": RIGHT}),
    "wrong password": ("SaslAuthenticate", 2, {"auth_bytes": WRONG}),
    "metadata": ("Metadata", 8, {"topics": []}),
}


@pytest.mark.rules("SA-6", "SA-9")
@pytest.mark.parametrize("has_sessions", [False, True])
@pytest.mark.parametrize("asked", REQUESTS.values(), ids=list(REQUESTS))
@pytest.mark.parametrize("reached", STATES.values(), ids=list(STATES))
def test_a_client_that_leaves_while_its_request_is_delayed(
    reached: Callable[[SimEngine], Client], asked: tuple[str, int, dict[str, Any]], has_sessions: bool
) -> None:
    """There is no internal error, whether its connection is still in memory or not, and others log in."""
    name, version, fields = asked
    lab = lab_with_sasl(**({"connections.max.reauth.ms": SESSION_MS} if has_sessions else {}))
    clients = [reached(lab), reached(lab)]
    lab.engine.faults.add(FaultSpec.of({"delay_s": DELAY_S, "times": len(clients)}))
    kept = clients[0].socket.connection
    for client in clients:
        client.socket.send(request(name, version, **fields))
        client.socket.close()
    del client, clients
    gc.collect()

    lab.network.advance(DELAY_S * 1000)
    lab.network.advance(SESSION_MS)

    assert lab.engine.errors == []
    assert kept.is_gone
    assert logged_in(lab).ask("Metadata", 8, topics=[]).brokers


@pytest.mark.rules("SA-4")
def test_a_client_that_leaves_before_its_bare_refusal_is_not_kept() -> None:
    """The timer of the refusal goes with the connection."""
    lab = lab_with_sasl()
    client = shaken(lab, version=0)
    client.socket.send(framed(WRONG))
    timers = [each for each in _deadlines(lab) if each.owner is client.socket.connection]
    assert len(timers) == 1

    client.socket.close()

    assert [each.owner for each in timers] == [None]
    assert lab.engine.errors == []


def _deadlines(lab: SimEngine) -> list[Any]:
    return [entry[-1] for entry in lab.cluster.timers.mono._heap]
