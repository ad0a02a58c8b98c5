"""Delegation tokens (KIP-48): what a user makes so that others may log in in its name, for some time.

Whoever has a token's id and its HMAC logs in by SCRAM, with the HMAC in base64 as the password (TK-5). All times are
milliseconds of the broker's wall reading; `MaxLifetime` and expiry as in TK-2.
"""

import hmac
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from fakebroker.broker.core.metadata_parts import MetadataEntry, MetadataPart, OnChange, not_kept
from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.core.security.scram import ScramCredential, ScramUser, credential_of
from fakebroker.protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")

LIMITS = (
    "delegation.token.max.lifetime.ms",
    "delegation.token.expiry.time.ms",
    "delegation.token.expiry.check.interval.ms",
)
MAX_KEPT_BYTES = 64 << 20  # that all tokens take; MOCK: Kafka has no such bound
_BYTES_OF_TOKEN, _BYTES_OF_RENEWER = 1_000, 220  # without the names
_HASH = "sha512"


class Token(NamedTuple):
    """A delegation token. `owner`, `requester` and `renewers` are principals as (type, name)."""

    token_id: str
    hmac: bytes
    owner: tuple[str, str]
    requester: tuple[str, str]
    renewers: tuple[tuple[str, str], ...]
    issued_ms: int
    max_ms: int
    expires_ms: int

    @property
    def readers(self) -> tuple[tuple[str, str], ...]:
        """Who may see it: its owner, its requester and its renewers."""
        return self.owner, self.requester, *self.renewers

    @property
    def kept_bytes(self) -> int:
        """What it takes of the memory, about."""
        return _BYTES_OF_TOKEN + sum(_BYTES_OF_RENEWER + len(name.encode()) for _, name in self.readers)

    def is_read_by(self, principal: Principal) -> bool:
        """Whether a principal is one of its readers."""
        return (principal.type, principal.name) in self.readers

    def is_managed_by(self, principal: Principal) -> bool:
        """Whether a principal may renew and end it: who only requested it for another may not (TK-3)."""
        return (principal.type, principal.name) in (self.owner, *self.renewers)


class Limits(NamedTuple):
    """The settings of tokens, in milliseconds, as `LIMITS` names them."""

    max_lifetime_ms: int
    expiry_time_ms: int
    expired_kept_ms: int  # how long an expired token is still known


class DelegationTokens:
    """The tokens of a cluster by their ids, including those that expired recently, with which nobody can log in.

    MOCK: Kafka looks for them every `delegation.token.expiry.check.interval.ms`; here each is known for that time.
    """

    def __init__(self, on_change: OnChange = not_kept) -> None:
        self._on_change = on_change
        self._tokens: dict[str, Token] = {}
        self._ids: dict[bytes, str] = {}  # by the hashes of their HMACs, so that no time tells how much of one is right
        self._credentials: dict[str, dict[str, ScramCredential]] = {}  # by token and mechanism, of those that were used
        self._kept_bytes = 0
        self._described_renewers: dict[str, list[Any]] = {}  # by token, of those that were described

    def __iter__(self) -> Iterator[Token]:
        return iter(self._tokens.values())

    def get(self, token_id: str) -> Token | None:
        """The token of an id; None if there is none."""
        return self._tokens.get(token_id)

    def replace_all(self, tokens: Iterable[Token]) -> None:
        """Have these tokens, and no others."""
        self._tokens = {token.token_id: token for token in tokens}
        self._ids = {_hashed(token.hmac): token.token_id for token in self}
        self._credentials.clear()
        self._described_renewers.clear()
        self._kept_bytes = sum(token.kept_bytes for token in self)
        self._on_change(MetadataPart.TOKENS)

    def create(
        self,
        token_id: str,
        secret_key: str,
        owner: Principal,
        requester: Principal,
        renewers: Iterable[tuple[str, str]],
        max_lifetime_ms: int,
        limits: Limits,
        now_ms: int,
    ) -> Token:
        """A new token; its HMAC follows from its id and the broker's secret key (TK-2).

        Raises KafkaError if there is no room for it.
        """
        own_ms = limits.max_lifetime_ms if max_lifetime_ms <= 0 else min(max_lifetime_ms, limits.max_lifetime_ms)
        token = Token(
            token_id,
            hmac.digest(secret_key.encode(), token_id.encode(), _HASH),
            (owner.type, owner.name),
            (requester.type, requester.name),
            tuple(renewers),
            now_ms,
            now_ms + own_ms,
            now_ms + min(own_ms, limits.expiry_time_ms),
        )
        self._make_room(token.kept_bytes, now_ms)
        self._put(token)
        self._kept_bytes += token.kept_bytes
        return token

    def described_renewers(self, token: Token, describe: Callable[[Token], list[T]]) -> list[T]:
        """What answers have for the renewers of a token: the same list for all who ask, which nobody changes.

        All tokens may have 300,000 renewers together, and many clients may ask at once.
        """
        if token.token_id not in self._described_renewers:
            self._described_renewers[token.token_id] = describe(token)
        return self._described_renewers[token.token_id]

    def renew(self, digest: bytes, principal: Principal, period_ms: int, limits: Limits, now_ms: int) -> int:
        """Let a token live on; returns until when. Raises KafkaError (TK-3)."""
        token = self._managed(digest, principal, limits, now_ms)
        own_ms = limits.expiry_time_ms if period_ms <= 0 else min(period_ms, limits.expiry_time_ms)
        return self._end_at(token, min(token.max_ms, now_ms + own_ms))

    def expire(self, digest: bytes, principal: Principal, period_ms: int, limits: Limits, now_ms: int) -> int:
        """Let a token end after a time, at once for a negative one; returns when. Raises KafkaError (TK-3)."""
        token = self._managed(digest, principal, limits, now_ms, may_be_over=period_ms < 0)
        if period_ms < 0:
            self.remove(token.token_id)
            return now_ms
        return self._end_at(token, min(token.max_ms, now_ms + period_ms))

    def user_of(self, mechanism: str, token_id: str, now_ms: int) -> ScramUser | None:
        """Whom a login by SCRAM with a token is for; None if there is no such token, or not any more (TK-5)."""
        token = self._tokens.get(token_id)
        if token is None or token.expires_ms <= now_ms:
            return None
        kind, name = token.owner
        return ScramUser(Principal(name, kind, is_token=True), self._credential_of(token, mechanism), token.expires_ms)

    def _credential_of(self, token: Token, mechanism: str) -> ScramCredential:
        """Made once: that takes a millisecond, and whoever knows a token's id may ask for it."""
        made = self._credentials.setdefault(token.token_id, {})
        if mechanism not in made:
            made[mechanism] = credential_of(mechanism, b64encode(token.hmac).decode(), token.token_id.encode())
        return made[mechanism]

    def remove(self, token_id: str) -> None:
        """Have a token no longer; nothing happens if there is none."""
        token = self._tokens.pop(token_id, None)
        self._credentials.pop(token_id, None)
        self._described_renewers.pop(token_id, None)
        if token is not None:
            del self._ids[_hashed(token.hmac)]
            self._kept_bytes -= token.kept_bytes
            self._on_change(MetadataEntry(MetadataPart.TOKENS, token_id))

    def forget_expired(self, now_ms: int) -> None:
        """Remove the tokens whose time is over."""
        for token in [token for token in self if token.expires_ms <= now_ms]:
            self.remove(token.token_id)

    def _make_room(self, needed_bytes: int, now_ms: int) -> None:
        if self._kept_bytes + needed_bytes > MAX_KEPT_BYTES:
            self.forget_expired(now_ms)
        if self._kept_bytes + needed_bytes > MAX_KEPT_BYTES:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"delegation tokens take more than {MAX_KEPT_BYTES} bytes")

    def _end_at(self, token: Token, expires_ms: int) -> int:
        self._put(token._replace(expires_ms=expires_ms))
        return expires_ms

    def _put(self, token: Token) -> None:
        self._tokens[token.token_id] = token
        self._ids[_hashed(token.hmac)] = token.token_id
        self._on_change(MetadataEntry(MetadataPart.TOKENS, token.token_id))

    def _managed(
        self, digest: bytes, principal: Principal, limits: Limits, now_ms: int, may_be_over: bool = False
    ) -> Token:
        """The token with that HMAC, if the principal may do something to it. Raises KafkaError."""
        token = self._tokens.get(self._ids.get(_hashed(digest), ""))
        if token is None or token.expires_ms <= now_ms - limits.expired_kept_ms:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        if not token.is_managed_by(principal):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
        if token.expires_ms <= now_ms and not may_be_over:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        return token


def _hashed(digest: bytes) -> bytes:
    return hmac.digest(b"token", digest, "sha256")
