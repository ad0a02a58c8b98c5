"""OAUTHBEARER (RFC 7628, KIP-255): the client shows a token, here an unsecured JWS: `alg` is "none" and nobody signs.

client      n,,^Aauth=Bearer TOKEN^A^A          (^A is byte 1)
broker      nothing, if the token is good; else {"status":"invalid_token"}
client      ^A, after which the login is refused
"""

import json
import re
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from typing import Any

from fakebroker.core.security.mechanisms import AuthenticationFailed, Login
from fakebroker.core.security.principals import Principal
from fakebroker.instant import Instant

INVALID_TOKEN = b'{"status":"invalid_token"}'
_END = b"\x01"
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_BEARER = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_.a-zA-Z0-9]+)", re.ASCII)


class InvalidToken(ValueError):
    """A token that is not accepted."""


class OAuthBearerMechanism:
    """One login by OAUTHBEARER that begins `now`."""

    def __init__(self, now: Instant) -> None:
        self.login: Login | None = None
        self._now_ms = now.wall_ms
        self._is_refused = False

    def answer_to(self, message: bytes) -> bytes:
        """Nothing, if the token is good; what is wrong with it, to which the client has to say `^A` (SA-11).

        Raises AuthenticationFailed after that, and at once for a message of another form and somebody else's token.
        """
        if self._is_refused:
            raise AuthenticationFailed(INVALID_TOKEN.decode() if message == _END else "unexpected message")
        authorization_id, token = _parts(message)
        try:
            self_named = unsecured_login(token, self._now_ms)
        except InvalidToken:
            self._is_refused = True
            return INVALID_TOKEN
        if authorization_id not in ("", self_named.principal.name):
            wrong = "Client requested an authorization id that is different from the token's principal name"
            raise AuthenticationFailed(f"Authentication failed: {wrong}")
        self.login = self_named
        return b""


def unsecured_login(token: str, now_ms: int) -> Login:
    """The principal that an unsecured token names, and when it ends. Raises InvalidToken.

    `sub` and `exp` must be there, `iat` may be; times are in seconds since the epoch and may be fractions.
    """
    parts = token.split(".")
    if len(parts) != 3 or parts[2]:
        raise InvalidToken("it is not an unsecured token")
    header, claims = (_json_object(part) for part in parts[:2])
    if header.get("alg") != "none":
        raise InvalidToken("its algorithm is not none")
    name = claims.get("sub")
    if not isinstance(name, str) or not name.strip():
        raise InvalidToken("it names nobody")
    ends_ms, issued_ms = _time_ms(claims, "exp"), _time_ms(claims, "iat")
    if ends_ms is None or ends_ms <= now_ms:
        raise InvalidToken("it has expired")
    if issued_ms is not None and (issued_ms > now_ms or issued_ms >= ends_ms):
        raise InvalidToken("it is issued in the future")
    return Login(Principal(name), ends_ms)


def _parts(message: bytes) -> tuple[str, str]:
    """Authorization id and token of the first message."""
    first = _FIRST.fullmatch(message.decode("latin-1"))
    if first is None:
        raise AuthenticationFailed("Invalid OAUTHBEARER client first message")
    pairs = dict(pair.split("=", 1) for pair in first["pairs"].split("\x01") if pair)
    bearer = _BEARER.fullmatch(pairs.get("auth", ""))
    if bearer is None or bearer["scheme"].lower() != "bearer":
        raise AuthenticationFailed("Invalid OAUTHBEARER client first message: there is no bearer token")
    authorization_id = (first["authorization_id"] or "").replace("=2C", ",").replace("=3D", "=")
    return authorization_id, bearer["token"]


def _json_object(part: str) -> dict[str, Any]:
    try:
        value = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (Base64Error, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidToken("a part of it is no JSON object")
    return value


def _time_ms(claims: dict[str, Any], name: str) -> int | None:
    """A time, in milliseconds; None if the claim is not there."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1 << 53:
        raise InvalidToken(f"{name} is no time")
    return int(value * 1000)
