"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, KIP-84): broker and client prove to each other that they know a password.

client-first    n,,n=user,r=nonce
server-first    r=nonce+server,s=base64 of the salt,i=iterations
client-final    c=biws,r=nonce+server,p=base64 of the proof
server-final    v=base64 of the broker's signature
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import NamedTuple

from fakebroker.broker.core.security.mechanisms import SCRAM_HASHES, AuthenticationFailed, InvalidCredentials, Login
from fakebroker.broker.core.security.principals import Principal

MIN_ITERATIONS, MAX_ITERATIONS = 4096, 16384  # that credentials may have (SC-1)
MAX_SALT_BYTES = 1024  # MOCK: each login gets it in base64, before it has proved anything; clients make 16 to 32 bytes
TOKEN_EXTENSION = "tokenauth"

# Possessive: of a long message no place is kept to come back to, and there is one way to read it.
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
_NONCE = r"[\x21-\x2b\x2d-\x7e]++"
_VALUE = r"[\x01-\x2b\x2d-\x7f]++"
_BASE64 = r"[A-Za-z0-9+/]*+={0,2}+"
_EXTENSION = rf"[A-Za-z]++={_VALUE}"
# The group `bare` is what is signed. Unlike RFC 5802, Kafka leaves out "m" and the extensions of the last message.
_CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_NAME}))?,"
    rf"(?:m={_VALUE},)?(?P<bare>n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>(?:,{_EXTENSION})*+))"
)
_CLIENT_FINAL = re.compile(  # what is called p and stands last is the proof, and no extension
    rf"(?P<bare>c={_BASE64},r=(?P<nonce>{_NONCE}))(?:,(?!p={_BASE64}\Z){_EXTENSION})*+,p=(?P<proof>{_BASE64})"
)


class ScramCredential(NamedTuple):
    """What is stored of a user's password for one mechanism: nobody can log in with it (SC-1)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class ScramUser(NamedTuple):
    """Whom a SCRAM login is for: the principal that it makes, and until when by the wall reading; None: for ever."""

    principal: Principal
    credential: ScramCredential
    ends_ms: int | None = None


UserOf = Callable[[str, bool], ScramUser | None]


def credential_of(mechanism: str, password: str, salt: bytes, iterations: int = MIN_ITERATIONS) -> ScramCredential:
    """What is stored for a password."""
    hash_name = SCRAM_HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
    return credential_of_salted(mechanism, salted, salt, iterations)


def credential_of_salted(mechanism: str, salted_password: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """What is stored for a password that was salted already, as clients send it (KIP-554)."""
    hash_name = SCRAM_HASHES[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", hash_name)
    server_key = hmac.digest(salted_password, b"Server Key", hash_name)
    return ScramCredential(salt, hashlib.new(hash_name, client_key).digest(), server_key, iterations)


class ScramMechanism:
    """One login by SCRAM.

    `user_of(name, is_token)` finds whom it is for, None if there is nobody; `server_nonce` is this login's own.
    """

    def __init__(self, mechanism: str, user_of: UserOf, server_nonce: str) -> None:
        self.login: Login | None = None
        self.claimed = self.refusal = ""
        self._mechanism = mechanism
        self._hash_name = SCRAM_HASHES[mechanism]
        self._user_of = user_of
        self._server_nonce = server_nonce
        self._begun: _Begun | None = None

    def answer_to(self, message: bytes) -> bytes:
        """The broker's next message. Raises AuthenticationFailed (SA-10)."""
        text = message.decode("latin-1")  # the patterns accept ASCII alone
        return (self._begin(text) if self._begun is None else self._finish(text, self._begun)).encode()

    def _begin(self, text: str) -> str:
        first = _CLIENT_FIRST.fullmatch(text)
        if first is None:
            raise InvalidCredentials(self._mechanism, "the client's first message is malformed")
        name = self.claimed = _plain_name(first["name"])
        _, _, extension = first["extensions"].rpartition(f",{TOKEN_EXTENSION}=")  # the last one counts
        is_token = extension.partition(",")[0].lower() == "true"
        user = self._user_of(name, is_token)
        if user is None:
            raise InvalidCredentials(self._mechanism, self._why_nobody(name, is_token))
        if first["authorization_id"] is not None and _plain_name(first["authorization_id"]) != name:
            wrong = "Client requested an authorization id that is different from username"
            raise AuthenticationFailed(f"Authentication failed: {wrong}")
        nonce, credential = first["nonce"] + self._server_nonce, user.credential
        answer = f"r={nonce},s={b64encode(credential.salt).decode()},i={credential.iterations}"
        signed, hash_name = f"{first['bare']},{answer},".encode(), self._hash_name
        self._begun = _Begun(
            user,
            _digest_of(nonce),
            hmac.new(credential.stored_key, signed, hash_name),
            hmac.new(credential.server_key, signed, hash_name),
        )
        return answer

    def _finish(self, text: str, begun: "_Begun") -> str:
        final = _CLIENT_FINAL.fullmatch(text)
        if final is None:
            raise InvalidCredentials(self._mechanism, "the client's final message is malformed")
        begun.signature.update(final["bare"].encode())
        begun.server_signature.update(final["bare"].encode())
        signature, proof = begun.signature.digest(), _decoded(final["proof"])
        client_key = bytes(a ^ b for a, b in zip(proof.ljust(len(signature), b"\0"), signature, strict=False))
        stored_key = hashlib.new(self._hash_name, client_key).digest()
        is_right = hmac.compare_digest(stored_key, begun.user.credential.stored_key) and len(proof) == len(signature)
        if _digest_of(final["nonce"]) != begun.nonce_digest:
            raise InvalidCredentials(self._mechanism, "the nonce does not belong to this login")
        if not is_right:
            raise InvalidCredentials(self._mechanism, f"the password of {self.claimed!r} is wrong")
        self.login = Login(begun.user.principal, begun.user.ends_ms)
        return f"v={b64encode(begun.server_signature.digest()).decode()}"

    def _why_nobody(self, name: str, is_token: bool) -> str:
        if is_token:
            return f"the delegation token {name!r} does not exist or has expired"
        return f"user {name!r} has no credential for {self._mechanism}"


class _Begun(NamedTuple):
    """A login after its first messages. These may be long, and are not kept: a client may never send the final one."""

    user: ScramUser
    nonce_digest: bytes
    signature: hmac.HMAC  # what the proof must sign, as far as it is known
    server_signature: hmac.HMAC


def _digest_of(nonce: str) -> bytes:
    return hashlib.sha256(nonce.encode()).digest()


def _plain_name(name: str) -> str:
    """A name as users write it: "=2C" and "=3D" stand for "," and "="."""
    return name.replace("=2C", ",").replace("=3D", "=")


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except Base64Error:
        return b""
