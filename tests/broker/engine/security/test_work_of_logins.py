"""How long a refusal takes tells nothing: the same work is done for every name and password.

It is counted, not timed: every call of a function, Python's or C's, in its order. Hashes are of equally many blocks.
"""

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from fakebroker.broker.core.security.delegation_tokens import Limits
from fakebroker.broker.core.security.mechanisms import AuthenticationFailed
from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.engine.security.logins import Logins
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.listeners import SASL_PLAINTEXT, Listener
from tests.support.engine import SimEngine
from tests.support.logins import lab_with_sasl
from tests.support.work_counter import no_collection

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="pb" user_dora="a-password";'


def calls_of(function: Callable[[], Any]) -> list[str]:
    """The names of all functions that a call leads to, until it returns or raises AuthenticationFailed."""
    calls: list[str] = []

    def note(_frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            calls.append(getattr(argument, "__name__", "") or _frame.f_code.co_name)

    with no_collection():
        sys.setprofile(note)
        try:
            function()
        except AuthenticationFailed:
            pass
        finally:
            sys.setprofile(None)
    return calls[:-1]  # the last one is that of `setprofile`


@pytest.fixture
def lab() -> SimEngine:
    """Alice has a password of the test's, bob and dora in the settings."""
    return lab_with_sasl(**{"listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS})


def logins(lab: SimEngine) -> Logins:
    return Logins(lab.engine, Listener(1, "127.0.0.1", 9092, protocol=SASL_PLAINTEXT))


@pytest.mark.rules("SA-3", "SA-4")
def test_a_wrong_password_and_an_unknown_user_are_the_same_work(lab: SimEngine) -> None:
    """Whoever knows the user, and however much of the password is right."""
    side = logins(lab)

    def refusal(name: str, password: str) -> list[str]:
        login = side.begin("PLAIN")
        return calls_of(lambda: login.answer_to(f"\0{name}\0{password}".encode()))

    refusal("alice", "x")  # what is imported by the first login counts no more
    wanted = refusal("alice", "x")
    assert wanted.count("openssl_sha256") == 3
    assert wanted.count("compare_digest") == 2
    for name in ("alice", "bob", "dora", "eve", ""):
        for password in ("p", "px", "pay", "a-passwor", "x" * 20):
            if name:
                assert refusal(name, password) == wanted, (name, password)


@pytest.mark.rules("SA-10")
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_proof_is_the_same_work_however_wrong_it_is(lab: SimEngine, mechanism: str) -> None:
    """An unknown user is refused with its first message, as by Kafka, which says more than any time could."""
    side = logins(lab)
    size = 32 if mechanism.endswith("256") else 64

    def refusal(proof: bytes) -> list[str]:
        from base64 import b64encode

        login = side.begin(mechanism)
        first = login.answer_to(b"n,,n=alice,r=x").decode()
        nonce = first.split(",")[0]
        final = f"c=biws,{nonce},p={b64encode(proof).decode()}".encode()
        return calls_of(lambda: login.answer_to(final))

    refusal(b"")
    wanted = refusal(b"\0" * size)
    assert wanted.count("compare_digest") == 1
    for proof in (b"\xff" * size, bytes(range(size)), b"\0" * (size - 1) + b"\1"):
        assert refusal(proof) == wanted


def test_a_collection_is_nobodys_work() -> None:
    """What the cycle collector calls back while something is counted, as Hypothesis's own, is not among its calls."""

    def collected(phase: str, info: dict[str, int]) -> None:
        """Be called."""

    threshold = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(1)
    try:
        calls = calls_of(lambda: [[] for _ in range(100)])
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(collected)

    assert "collected" not in calls


@pytest.mark.rules("TK-3")
def test_hmacs_of_tokens_are_found_by_their_hashes(lab: SimEngine) -> None:
    """However much of one is right, it takes as long: nothing is compared but hashes."""
    tokens, alice = lab.cluster.credentials.tokens, Principal("alice")
    limits = Limits(1000, 1000, 0)
    made = [tokens.create(f"t{n}", "key", alice, alice, (), -1, limits, 0) for n in range(3)]

    def renewal(digest: bytes) -> list[str]:
        def renew() -> None:
            with suppress(KafkaError):
                tokens.renew(digest, alice, 1, limits, 0)

        return calls_of(renew)

    first = made[0].hmac
    wrong = [bytes([first[0] ^ 1]) + first[1:], first[:-1] + bytes([first[-1] ^ 1])]
    assert renewal(wrong[0]) == renewal(wrong[1])
    hashes = [renewal(each).count("hmac_digest") for each in (first, *wrong)]
    assert hashes == [2, 1, 1]  # a token that is renewed is put anew
