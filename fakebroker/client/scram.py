"""The client's side of a SCRAM login (RFC 5802), for those who play clients."""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode

from fakebroker.protocol.errors import FakebrokerError

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_CHALLENGE = re.compile(
    r"r=(?P<nonce>[^,]+),s=(?P<salt>(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)"
    r",i=(?P<iterations>[1-9][0-9]{0,6})(?:,.*)?"
)
NONCE = "fakebroker-client"  # where nothing is secret: the broker's half is new for each login


class ScramClient:
    """One login: `first` is sent, then `final` of the answer to it; `check` looks at the answer to that."""

    def __init__(self, mechanism: str, user: str, password: str, extensions: str = "", nonce: str = NONCE) -> None:
        """`nonce` must be random where the password is worth something."""
        self._hash_name = HASHES[mechanism]
        self._password = password
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._nonce = nonce
        self._bare = f"n={name},r={nonce}{extensions}"
        self._signature = b""

    @property
    def first(self) -> bytes:
        """The first message."""
        return f"n,,{self._bare}".encode()

    def final(self, answer: bytes) -> bytes:
        """The second message, which proves that the client knows the password.

        Raises FakebrokerError for an answer that is none to `first`.
        """
        text = answer.decode(errors="replace")
        found = _CHALLENGE.fullmatch(text)
        if found is None or not found["nonce"].startswith(self._nonce):
            raise FakebrokerError("the broker's SCRAM message is malformed, or is not for this login")
        unproven = f"c=biws,r={found['nonce']}"
        signed = f"{self._bare},{text},{unproven}".encode()
        salt, iterations = b64decode(found["salt"]), int(found["iterations"])
        salted = hashlib.pbkdf2_hmac(self._hash_name, self._password.encode(), salt, iterations)
        client_key = self._keyed(salted, b"Client Key")
        signature = self._keyed(hashlib.new(self._hash_name, client_key).digest(), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._signature = self._keyed(self._keyed(salted, b"Server Key"), signed)
        return f"{unproven},p={b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """Raises FakebrokerError unless the broker has proved that it knows the user, too."""
        if not hmac.compare_digest(answer, b"v=" + b64encode(self._signature)):
            raise FakebrokerError("the broker's signature is wrong")

    def _keyed(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash_name)
