"""The authority of tests, and brokers that trust it: over HTTP, from a file, on sockets and in virtual time."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakebroker import FakeBroker
from fakebroker.protocol.errors import FakebrokerError, SettingError, UnknownThing
from fakebroker.testing.tokens import TokenAuthority
from fakebroker.testing.virtual_broker import VirtualBroker

CREDENTIALS = {"grant_type": "client_credentials"}


def logs_in(broker: FakeBroker | VirtualBroker, token: str) -> bool:
    """Whether a new connection gets in by a token."""
    client: Any = broker.client()
    client.request("SaslHandshake", 1, mechanism="OAUTHBEARER")
    answer = client.request("SaslAuthenticate", 2, auth_bytes=f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    return bool(answer.error_code == 0 and not answer.auth_bytes)


def test_a_broker_gets_the_keys_by_http() -> None:
    """Tokens expire by the broker's clock, also when the test moves it."""
    with TokenAuthority() as authority, FakeBroker(config=authority.settings()) as broker:
        authority.use_clock_of(broker)
        token = authority.token("alice")
        assert logs_in(broker, token)
        bad = [
            authority.token("alice", lifetime_s=-60),
            authority.token("alice", audience="other"),
            authority.token("alice", issuer="https://other"),
            authority.token("alice", claims={"sub": None}),
            authority.forged("alice"),
            authority.unsecured("alice"),
        ]
        assert not any(logs_in(broker, each) for each in bad)

        broker.clock.advance(hours=2)
        assert not logs_in(broker, token)
        assert logs_in(broker, authority.token("alice"))


def test_a_broker_in_virtual_time_gets_them_from_a_file(tmp_path: Path) -> None:
    """A file that was written anew is read when a token names a key that is not known."""
    authority = TokenAuthority(algorithm="RS256")
    broker = VirtualBroker(config=authority.settings(authority.write_jwks(tmp_path / "keys.json")))
    authority.use_clock_of(broker)
    assert logs_in(broker, authority.token("alice"))

    authority.rotate()
    authority.write_jwks(tmp_path / "keys.json")
    token = authority.token("alice")
    assert [logs_in(broker, token), logs_in(broker, token)] == [False, True]
    broker.stop()


def test_an_authority_that_has_gone_lets_nobody_in_and_the_broker_lives() -> None:
    """The story says what was wrong."""
    authority = TokenAuthority().start()
    settings = authority.settings()
    authority.stop()
    with FakeBroker(config=settings) as broker:
        assert not logs_in(broker, authority.token("alice"))
        assert "no keys could be fetched from http://127.0.0.1" in broker.story()


def test_clients_get_tokens_by_their_secret() -> None:
    """By HTTP Basic and by the form, as clients of OIDC ask; a wrong secret and an unknown client get none."""
    with TokenAuthority(clients={"svc": "s3cret"}) as authority:
        url = authority.token_url
        basic = {"Authorization": "Basic " + b64encode(b"svc:s3cret").decode()}
        by_basic = httpx.post(url, data=CREDENTIALS, headers=basic)
        assert by_basic.json()["token_type"] == "Bearer"
        assert by_basic.json()["access_token"].count(".") == 2
        form = {**CREDENTIALS, "client_id": "svc", "client_secret": "s3cret"}
        assert httpx.post(url, data=form).json()["expires_in"] == 3600

        for wrong in ({"client_secret": "x"}, {"client_id": "nobody"}, {"client_id": ""}):
            assert httpx.post(url, data={**form, **wrong}).status_code == 401
        assert httpx.post(url, data={"grant_type": "password"}).status_code == 400
        assert httpx.post(url, data=CREDENTIALS, headers={"Authorization": "Basic !!!"}).status_code == 401
        assert httpx.get(authority.jwks_url).json() == authority.jwks()
        assert httpx.get(authority.jwks_url + "/more").status_code == 404


def test_no_private_key_is_published() -> None:
    """A key has what a public one has."""
    for algorithm, names in (("ES256", {"x", "y", "crv"}), ("RS256", {"n", "e"})):
        (key,) = TokenAuthority(algorithm=algorithm).jwks()["keys"]
        assert set(key) - {"key_ops"} == names | {"kty", "kid", "use", "alg"}, json.dumps(sorted(key))


def test_what_cannot_be_is_reported() -> None:
    """Unknown keys and algorithms, the last key, an address that there is not, a URL that cannot be read."""
    authority = TokenAuthority()
    with pytest.raises(UnknownThing, match="there is no key 'key-9'; did you mean 'key-1'"):
        authority.token("alice", key_id="key-9")
    with pytest.raises(UnknownThing, match="HS256"):
        TokenAuthority(algorithm="HS256")
    with pytest.raises(FakebrokerError, match="at least one key"):
        authority.drop("key-1")
    with pytest.raises(FakebrokerError, match="the authority is not running; start it first"):
        authority.settings()
    with pytest.raises(SettingError, match="not the URL of a file or a web server"):
        VirtualBroker(config=authority.settings("ldap://x"))
