"""Tokens of OAUTHBEARER: JSON Web Tokens (RFC 7519). Here what all have, and those that nobody signed (`alg` "none").

Times in tokens are seconds since the epoch, perhaps with fractions; they are compared with the broker's time of day.
"""

import json
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from typing import Any

from fakebroker.broker.core.security.mechanisms import Login
from fakebroker.broker.core.security.principals import Principal
from fakebroker.protocol.java_text import trimmed

MAX_TOKEN_LENGTH = 65_536  # characters; tokens with hundreds of roles have some thousands
MAX_NAME_LENGTH = 1_000  # characters of a principal


class InvalidToken(ValueError):
    """A token that is not accepted; the text says why, and has nothing of the token but what it says of itself."""


def check_length(token: str) -> None:
    """Raises InvalidToken for a token that is very long; nothing of it was decoded.

    MOCK: Kafka takes any up to `sasl.server.max.receive.size`. Here one turn decodes it, and hashes it for each key.
    """
    if len(token) > MAX_TOKEN_LENGTH:
        raise InvalidToken(f"it has {len(token):,} characters; at most {MAX_TOKEN_LENGTH:,} are taken")


def unsecured_login(token: str, now_ms: int) -> Login:
    """The principal that an unsecured token names, and when it ends. Raises InvalidToken (SA-11).

    `sub` and `exp` must be there, `iat` may be.
    """
    parts = token.split(".")
    if len(parts) != 3 or parts[2]:
        raise InvalidToken("it is signed, but the broker has no keys: set sasl.oauthbearer.jwks.endpoint.url")
    header, claims = (json_object(part) for part in parts[:2])
    if header.get("alg") != "none":
        raise InvalidToken("its algorithm must be none")
    name = claims.get("sub")
    if not isinstance(name, str) or not trimmed(name):
        raise InvalidToken("it has no principal")
    if not isinstance(claims.get("scope"), str | list | None):
        raise InvalidToken("its scope is neither a text nor a list")
    ends_ms, issued_ms = time_ms(claims, "exp"), time_ms(claims, "iat")
    if ends_ms is None:
        raise InvalidToken("it has no expiry time (exp)")
    check_not_expired(ends_ms, now_ms)
    if issued_ms is not None and (issued_ms > now_ms or issued_ms >= ends_ms):
        raise InvalidToken("it is issued in the future")
    return Login(principal_of(name), ends_ms)


def principal_of(name: str) -> Principal:
    """Whom a token is for. Raises InvalidToken for a name that is very long.

    MOCK: Kafka takes any. Sessions, telemetry instances and the journal keep it, each for itself.
    """
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidToken(f"its principal has {len(name):,} characters; at most {MAX_NAME_LENGTH:,} are taken")
    return Principal(name)


def check_not_expired(ends_ms: int, now_ms: int, skew_ms: int = 0) -> None:
    """Raises InvalidToken if a token has expired, by more than the clocks may differ."""
    if ends_ms <= now_ms - skew_ms:
        ago = f"{(now_ms - ends_ms) / 1000:g} s ago by the broker's clock"
        raise InvalidToken(f"it expired {ago}{f', more than the skew of {skew_ms // 1000} s' if skew_ms else ''}")


def subject_of(token: str) -> str:
    """Whom a token says that it is for, whether that is true or not; "" if it does not say so."""
    parts = token.split(".")
    try:
        name = json_object(parts[1]).get("sub") if len(parts) == 3 else None
    except InvalidToken:
        name = None
    return name if isinstance(name, str) else ""


def json_object(part: str, names_once: bool = False) -> dict[str, Any]:
    """The object in one part of a token; of a signed one it says no name twice. Raises InvalidToken."""
    try:
        text = urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode()  # `json` would guess: UTF-16, and more
        object_of = _named_once if names_once else None
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=object_of)
        json.dumps(value, ensure_ascii=False).encode()  # JSON can say "\\ud800", which is no text that can be sent on
    except (Base64Error, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidToken("one of its parts is not a JSON object")
    return value


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError if a name is there twice: another reader may take the other value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _refuse_constant(name: str) -> None:
    """Raise ValueError: NaN and the infinities are Python's, and not JSON."""
    raise ValueError(f"{name} is not JSON")


def time_ms(claims: dict[str, Any], name: str) -> int | None:
    """A time, in milliseconds; None if the claim is not there. Raises InvalidToken."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1 << 53:
        raise InvalidToken(f"{name} is not a time")
    return int(value * 1000)
