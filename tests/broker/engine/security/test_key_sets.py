"""Keys of signed tokens: when they are fetched, and what becomes of logins meanwhile."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from fakebroker.broker.core.events import ClientLogin
from fakebroker.broker.core.security.bearer_tokens import InvalidToken
from fakebroker.broker.core.security.signed_tokens import KeySet, TokenRules
from fakebroker.broker.engine.security.key_sets import LATE_MS, MAX_MISSED, RETRY_MS, KeySets
from fakebroker.protocol.instant import Instant
from fakebroker.testing.tokens import TokenAuthority
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed, request
from tests.support.logins import lab_with_sasl

URL = "https://authority.test/jwks"
REFRESH_MS = 3_600_000


class Fetches:
    """In the place of the network: what was asked for, answered when the test wants it."""

    def __init__(self, authority: TokenAuthority) -> None:
        self.authority = authority
        self.waiting: list[Callable[[Any], None]] = []
        self.count = 0
        self.is_at_once = True

    def fetch(self, _url: str, then: Callable[[Any], None]) -> None:
        """As `Engine.fetch`."""
        self.count += 1
        self.waiting.append(then)
        if self.is_at_once:
            self.answer()

    def answer(self, with_error: Exception | None = None) -> None:
        """Give what the authority publishes now, or an error, to whoever waits longest."""
        self.waiting.pop(0)(with_error or json.dumps(self.authority.jwks()).encode())


@pytest.fixture
def authority() -> TokenAuthority:
    return TokenAuthority()


@pytest.fixture
def lab(authority: TokenAuthority) -> SimEngine:
    """An engine whose listener wants tokens of the authority."""
    lab = lab_with_sasl(**{"sasl.oauthbearer.jwks.endpoint.url": URL, "sasl.oauthbearer.expected.audience": "kafka"})
    fetches = Fetches(authority)
    lab.engine.fetch = fetches.fetch
    authority._now_ms = lambda: lab.engine.now.wall_ms
    lab.fetches = fetches  # type: ignore[attr-defined]
    return lab


def fetches_of(lab: SimEngine) -> Fetches:
    return lab.fetches  # type: ignore[attr-defined, no-any-return]


def shown(client: Client, token: str) -> Any:
    """The answer to a token."""
    assert client.ask("SaslHandshake", 1, mechanism="OAUTHBEARER").error_code == 0
    return client.ask("SaslAuthenticate", 2, auth_bytes=f"n,,\x01auth=Bearer {token}\x01\x01".encode())


def is_accepted(lab: SimEngine, token: str) -> bool:
    return bool(shown(lab.client(), token).auth_bytes == b"")


@pytest.mark.rules("SA-11")
def test_a_signed_token_logs_in_and_an_unsecured_one_does_not(lab: SimEngine, authority: TokenAuthority) -> None:
    """The keys are fetched once for both; the lifetime is that of the token."""
    answer = shown(lab.client(), authority.token("alice", lifetime_s=60))

    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (0, b"", 60_000)
    assert not is_accepted(lab, authority.unsecured("alice"))
    assert fetches_of(lab).count == 1


def test_a_token_expires_by_the_broker_s_clock(lab: SimEngine, authority: TokenAuthority) -> None:
    """It is accepted for the skew of 30 s longer."""
    token = authority.token("alice", lifetime_s=60)

    lab.network.advance(89_999)
    assert is_accepted(lab, token)
    lab.network.advance(1)
    assert not is_accepted(lab, token)


@pytest.mark.parametrize("version", [0, 1])
def test_the_first_login_waits_for_the_keys(lab: SimEngine, authority: TokenAuthority, version: int) -> None:
    """Its handshake is answered when they have come, whether its messages come bare or not."""
    fetches_of(lab).is_at_once = False
    client = lab.client()
    assert client.ask("SaslHandshake", version, mechanism="OAUTHBEARER") is None

    fetches_of(lab).answer()
    lab.network.flush()

    assert client.answer("SaslHandshake", version).error_code == 0
    assert not client.socket.is_closed


@pytest.mark.rules("SA-13")
@pytest.mark.parametrize("is_at_once", [True, False])
def test_who_logs_in_again_has_the_bound_of_a_login_when_the_keys_have_come(
    lab: SimEngine, authority: TokenAuthority, is_at_once: bool
) -> None:
    """Also for what came behind the handshake while that waited."""
    client, token = lab.client(), authority.token("alice", lifetime_s=2 * REFRESH_MS // 1000)
    assert shown(client, token).error_code == 0
    lab.network.advance(REFRESH_MS)  # the keys are fetched anew
    fetches_of(lab).is_at_once = is_at_once

    client.socket.send(
        request("SaslHandshake", 1, mechanism="OAUTHBEARER")
        + request("SaslAuthenticate", 2, auth_bytes=b"n,,\x01auth=Bearer ".ljust(600_000, b"x"))
    )
    if not is_at_once:
        fetches_of(lab).answer()
        lab.network.flush()

    assert client.answer("SaslHandshake", 1).error_code == 0
    assert "larger than sasl.server.max.receive.size (524288)" in client.close_reason


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("with_error", [None, OSError("no such host")])
def test_a_client_that_leaves_meanwhile_leaves_nothing(
    lab: SimEngine, version: int, with_error: Exception | None
) -> None:
    """Nothing of it is kept, the answer finds nobody, and the others who wait are answered."""
    fetches_of(lab).is_at_once = False
    clients = [lab.client() for _ in range(5)]
    for client in clients:
        client.ask("SaslHandshake", version, mechanism="OAUTHBEARER")
    (known,) = lab.engine.key_sets._by_url.values()
    for client in clients[::2]:
        client.socket.close()
    assert len(known.waiting) == 2

    fetches_of(lab).answer(with_error)
    lab.network.flush()

    assert lab.engine.errors == []
    assert [client.answer("SaslHandshake", version).error_code for client in clients[1::2]] == [0, 0]


def test_one_that_cannot_go_on_takes_no_others_with_it(lab: SimEngine) -> None:
    """What one of them raises is an internal error, and the others go on."""
    fetches_of(lab).is_at_once = False
    gone_on = list[int]()

    def note(number: int, _now: Instant) -> None:
        gone_on.append(number)

    def fail(_now: Instant) -> None:
        raise RuntimeError("on purpose")

    for number in range(2):
        lab.engine.key_sets.when_fetched(URL, REFRESH_MS, partial(note, number))
        lab.engine.key_sets.when_fetched(URL, REFRESH_MS, fail)
    fetches_of(lab).answer()

    assert gone_on == [0, 1]
    assert [str(error) for error in lab.engine.errors] == ["on purpose"]
    lab.engine.errors.clear()


def test_a_new_key_is_known_at_the_second_login(lab: SimEngine, authority: TokenAuthority) -> None:
    """The first is refused and has the keys fetched, as in Kafka; a key that nobody knows does so once a minute."""
    assert is_accepted(lab, authority.token("alice"))
    authority.rotate()
    token = authority.token("alice")
    assert not is_accepted(lab, token)
    assert is_accepted(lab, token)

    stranger = TokenAuthority()
    for _ in range(4):
        stranger.rotate()
    for _ in range(3):
        assert not is_accepted(lab, stranger.token("alice"))
    assert fetches_of(lab).count == 3
    lab.network.advance(60_000)
    for _ in range(3):
        assert not is_accepted(lab, stranger.token("alice"))
    assert fetches_of(lab).count == 4


def test_keys_are_fetched_again_when_they_are_old(lab: SimEngine, authority: TokenAuthority) -> None:
    """A key that is published no longer is good until then."""
    first = authority.key_id
    old = authority.token("alice", lifetime_s=86_400)
    assert is_accepted(lab, old)
    authority.rotate()
    authority.drop(first)

    lab.network.advance(REFRESH_MS - 1)
    assert is_accepted(lab, old)
    lab.network.advance(1)
    assert not is_accepted(lab, old)


def shown_after_handshake(client: Client, version: int, token: str) -> bool:
    """Whether a token logs in a client whose handshake is over."""
    message = f"n,,\x01auth=Bearer {token}\x01\x01".encode()
    if version:
        return bool(client.ask("SaslAuthenticate", 2, auth_bytes=message).auth_bytes == b"")
    client.socket.send(framed(message))
    return client.socket.take() == framed(b"")


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("is_at_once", [True, False])
def test_a_login_that_pauses_is_checked_with_new_keys(
    lab: SimEngine, authority: TokenAuthority, version: int, is_at_once: bool
) -> None:
    """A token of a retired key lets nobody in, however long ago the handshake was; a good one does."""
    retired, token = authority.key_id, authority.token("alice", lifetime_s=100_000)
    late, honest, next_one = (lab.client() for _ in range(3))
    for client in (late, honest):
        assert client.ask("SaslHandshake", version, mechanism="OAUTHBEARER").error_code == 0
    authority.rotate()
    authority.drop(retired)
    lab.network.advance(REFRESH_MS + LATE_MS)
    fetches_of(lab).is_at_once = is_at_once

    assert not shown_after_handshake(late, version, token)
    renewed = authority.token("alice")
    assert shown_after_handshake(honest, version, renewed) == is_at_once
    if not is_at_once:
        fetches_of(lab).answer()
    assert next_one.ask("SaslHandshake", version, mechanism="OAUTHBEARER").error_code == 0
    assert shown_after_handshake(next_one, version, renewed)


@pytest.mark.parametrize("version", [0, 1])
def test_keys_that_grow_old_during_a_login_are_good_for_it(
    lab: SimEngine, authority: TokenAuthority, version: int
) -> None:
    """Nobody who goes on without a pause is refused: neither then, nor when a new fetch has failed."""
    token = authority.token("alice", lifetime_s=100_000)
    assert is_accepted(lab, token)
    lab.network.advance(REFRESH_MS - 1)
    client = lab.client()
    assert client.ask("SaslHandshake", version, mechanism="OAUTHBEARER").error_code == 0
    lab.network.advance(LATE_MS)
    assert shown_after_handshake(client, version, token)

    fetches_of(lab).is_at_once = False
    client = lab.client()
    client.ask("SaslHandshake", version, mechanism="OAUTHBEARER")
    fetches_of(lab).answer(OSError("no route to host"))
    lab.network.flush()
    assert client.answer("SaslHandshake", version).error_code == 0
    lab.network.advance(RETRY_MS + LATE_MS - 1)
    assert shown_after_handshake(client, version, token)


def test_without_keys_nobody_gets_in_and_the_journal_says_why(lab: SimEngine, authority: TokenAuthority) -> None:
    """The next login tries again; keys that are there outlive a fetch that failed."""
    fetches_of(lab).is_at_once = False
    client = lab.client()
    client.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
    fetches_of(lab).answer(OSError("connection refused"))
    lab.network.flush()
    assert client.answer("SaslHandshake", 1).error_code == 0
    token = authority.token("alice")
    refused = client.ask("SaslAuthenticate", 2, auth_bytes=f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    assert refused.auth_bytes
    (login,) = lab.engine.journal.events(ClientLogin)
    assert f"no keys could be fetched from {URL}: connection refused" in login.event.reason

    fetches_of(lab).is_at_once = True
    assert is_accepted(lab, token)
    lab.network.advance(REFRESH_MS)
    fetches_of(lab).is_at_once = False
    client = lab.client()
    client.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
    fetches_of(lab).answer(ValueError("no key set"))
    lab.network.flush()
    assert client.answer("SaslHandshake", 1).error_code == 0
    renewed = authority.token("alice")
    data = f"n,,\x01auth=Bearer {renewed}\x01\x01".encode()
    assert client.ask("SaslAuthenticate", 2, auth_bytes=data).auth_bytes == b""

    count = fetches_of(lab).count
    assert is_accepted(lab, renewed)  # without waiting: the server has just failed
    assert fetches_of(lab).count == count
    lab.network.advance(RETRY_MS)
    fetches_of(lab).is_at_once = True
    assert is_accepted(lab, renewed)
    assert fetches_of(lab).count == count + 1


def test_what_breaks_on_keys_leaves_no_login_waiting(
    lab: SimEngine, authority: TokenAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set of keys may break what reads it in a way that nobody thought of."""

    def breaks(_data: bytes) -> None:
        raise NotImplementedError

    fetches_of(lab).is_at_once = False
    client = lab.client()
    client.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
    with monkeypatch.context() as patch:
        patch.setattr(KeySet, "parse", breaks)
        with pytest.raises(NotImplementedError):
            fetches_of(lab).answer()
    lab.network.flush()
    assert client.answer("SaslHandshake", 1).error_code == 0
    fetches_of(lab).is_at_once = True
    assert is_accepted(lab, authority.token("alice"))


def test_a_fetch_that_cannot_begin_is_one_that_failed(
    lab: SimEngine, authority: TokenAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be no thread for it: that login is refused, the journal says why, and the next one tries again."""

    def cannot_begin(_url: str, _then: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(lab.engine, "fetch", cannot_begin)
        assert not is_accepted(lab, authority.token("alice"))
    (login,) = lab.engine.journal.events(ClientLogin)
    assert "the fetch could not begin: can't start new thread" in login.event.reason
    assert lab.engine.errors == []
    assert is_accepted(lab, authority.token("alice"))


def test_what_comes_at_once_and_breaks_what_reads_it_is_read_once(
    lab: SimEngine, authority: TokenAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a bug of ours, and no fetch that could not begin."""
    reads = list[bytes]()

    def breaks(data: bytes) -> None:
        reads.append(data)
        raise NotImplementedError

    with monkeypatch.context() as patch:
        patch.setattr(KeySet, "parse", breaks)
        with pytest.raises(NotImplementedError):
            lab.engine.key_sets.when_fetched(URL, REFRESH_MS, lambda _now: None)
    assert len(reads) == 1
    assert is_accepted(lab, authority.token("alice"))


def test_what_strangers_make_up_is_not_remembered_for_ever(lab: SimEngine, authority: TokenAuthority) -> None:
    """A token may name any key; so many of them are known as unknown."""
    assert is_accepted(lab, authority.token("alice"))
    for number in range(MAX_MISSED + 20):
        header = urlsafe_b64encode(json.dumps({"alg": "ES256", "kid": str(number)}).encode()).rstrip(b"=").decode()
        assert not is_accepted(lab, f"{header}.e30.AAAA")

    assert len(lab.engine.key_sets._by_url[URL].missed_ms) <= MAX_MISSED + 1


def test_keys_that_nobody_asked_for_let_nobody_in(lab: SimEngine, authority: TokenAuthority) -> None:
    """The URL may be set while a login is under way, after the moment at which keys are asked for."""
    rules = TokenRules((), "", "sub", "scope", 0)
    with pytest.raises(InvalidToken, match="not fetched before the login"):
        KeySets(lab.engine).login("http://nobody", REFRESH_MS, authority.token("alice"), rules, 0)
