"""What users log in with: passwords of PLAIN and credentials of SCRAM; part of the cluster's durable state.

No password is kept: what is here is enough to check one, and not to log in with.
"""

from collections.abc import Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.broker.core.metadata_parts import MetadataEntry, MetadataPart, OnChange, not_kept
from fakebroker.broker.core.security.mechanisms import SCRAM_HASHES

if TYPE_CHECKING:
    from fakebroker.broker.core.security.delegation_tokens import DelegationTokens, Token
    from fakebroker.broker.core.security.scram import ScramCredential

_SALT_BYTES = 16


class PasswordDigest(NamedTuple):
    """What is kept of a password of PLAIN: SHA-256 of salt and password."""

    salt: bytes
    digest: bytes

    @classmethod
    def of(cls, password: str, salt: bytes) -> "PasswordDigest":
        """The digest of a password."""
        from hashlib import sha256

        return cls(salt, sha256(salt + password.encode()).digest())

    def is_of(self, password: str) -> bool:
        """Whether the password is that one; the time that it takes does not tell how wrong another is."""
        from hmac import compare_digest

        return compare_digest(self.of(password, self.salt).digest, self.digest)


_NOBODY = PasswordDigest(b"\0" * _SALT_BYTES, b"\0" * 32)  # as long as anybody's


class ScramState(NamedTuple):
    """A user's credential of one mechanism; the fields are those of `ScramCredential`."""

    user: str
    mechanism: str
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class TokenState(NamedTuple):
    """A delegation token; the fields are those of `Token`."""

    token_id: str
    hmac: bytes
    owner: tuple[str, str]
    requester: tuple[str, str]
    renewers: tuple[tuple[str, str], ...]
    issued_ms: int
    max_ms: int
    expires_ms: int


class CredentialsState(NamedTuple):
    """All credentials."""

    passwords: dict[str, PasswordDigest] = {}
    scram: tuple[ScramState, ...] = ()
    tokens: tuple[TokenState, ...] = ()


class Credentials:
    """The users of a cluster.

    `passwords` are those of PLAIN that a test declared; others stand in the settings (`sasl.jaas.config`, jaas.py).
    `scram` has the credentials by user and mechanism.
    """

    def __init__(self, on_change: OnChange = not_kept) -> None:
        self._on_change = on_change
        self.passwords: dict[str, PasswordDigest] = {}
        self.scram: dict[str, dict[str, ScramCredential]] = {}
        self._tokens: DelegationTokens | None = None  # made when they are asked for first

    @property
    def tokens(self) -> "DelegationTokens":
        """The delegation tokens."""
        if self._tokens is None:
            from fakebroker.broker.core.security.delegation_tokens import DelegationTokens

            self._tokens = DelegationTokens(self._on_change)
        return self._tokens

    def add_user(self, name: str, password: str, seed: int) -> None:
        """Let a user log in with a password by every mechanism that has passwords; it replaces what there was.

        The salts follow from `seed` and the name.
        """
        from fakebroker.broker.core.security.scram import credential_of

        source = Random(f"salts of {name!r}, seed {seed}")
        self.passwords[name] = PasswordDigest.of(password, source.randbytes(_SALT_BYTES))
        for mechanism in SCRAM_HASHES:
            self.set_scram(name, mechanism, credential_of(mechanism, password, source.randbytes(_SALT_BYTES)))

    def remove_user(self, name: str) -> bool:
        """Forget a user; whether there was one."""
        had_password, by_mechanism = self.passwords.pop(name, None) is not None, self.scram.pop(name, {})
        for mechanism in by_mechanism:
            self._changed(name, mechanism)
        return bool(by_mechanism) or had_password

    def is_password(self, name: str, password: str) -> bool:
        """Whether a user has that password for PLAIN; for one that there is not, as much is compared."""
        return self.passwords.get(name, _NOBODY).is_of(password)

    def users(self) -> list[str]:
        """The names of all users that have a password or a credential here, sorted."""
        return sorted({**self.passwords, **self.scram})

    def set_scram(self, name: str, mechanism: str, credential: "ScramCredential") -> None:
        """Store a credential of SCRAM in place of what there was."""
        self.scram.setdefault(name, {})[mechanism] = credential
        self._changed(name, mechanism)

    def remove_scram(self, name: str, mechanism: str) -> None:
        """Remove a credential of SCRAM that is there."""
        del self.scram[name][mechanism]
        if not self.scram[name]:
            del self.scram[name]
        self._changed(name, mechanism)

    def scram_of(self, name: str) -> "Mapping[str, ScramCredential]":
        """A user's credentials of SCRAM by mechanism; none for a user that has none."""
        return self.scram.get(name, {})

    def _changed(self, name: str, mechanism: str) -> None:
        self._on_change(MetadataEntry(MetadataPart.SCRAM, (name, mechanism)))

    # State

    def state(self) -> CredentialsState:
        """All of it as plain values."""
        return CredentialsState(
            dict(self.passwords), tuple(self._scram_states()), tuple(map(_token_state, self._tokens or ()))
        )

    def restore(self, state: CredentialsState) -> None:
        """Have what a state says, and nothing else."""
        self.passwords, self.scram = dict(state.passwords), {}
        if state.scram:
            from fakebroker.broker.core.security.scram import ScramCredential
        for each in state.scram:
            credential = ScramCredential(each.salt, each.stored_key, each.server_key, each.iterations)
            self.scram.setdefault(each.user, {})[each.mechanism] = credential
        self._on_change(MetadataPart.SCRAM)

        self._tokens = None
        if state.tokens:
            from fakebroker.broker.core.security.delegation_tokens import Token

            self.tokens.replace_all([Token(*each) for each in state.tokens])

    def _scram_states(self) -> Iterator[ScramState]:
        for name, by_mechanism in self.scram.items():
            for mechanism, credential in by_mechanism.items():
                yield ScramState(name, mechanism, *credential)


def _token_state(token: "Token") -> TokenState:
    return TokenState(*token)
