"""The client's side of a SCRAM login (RFC 5802), for those who play clients."""

import hashlib
import hmac
from base64 import b64decode, b64encode

from fakebroker.protocol.errors import FakebrokerError

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NONCE = "fakebroker-client"  # the broker's half is new for each login


class ScramClient:
    """One login: `first` is sent, then `final` of the answer to it; `check` looks at the answer to that."""

    def __init__(self, mechanism: str, user: str, password: str, extensions: str = "") -> None:
        self._hash_name = HASHES[mechanism]
        self._password = password
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={NONCE}{extensions}"
        self._signature = b""

    @property
    def first(self) -> bytes:
        """The first message."""
        return f"n,,{self._bare}".encode()

    def final(self, answer: bytes) -> bytes:
        """The second message, which proves that the client knows the password."""
        text = answer.decode()
        parts = dict(part.split("=", 1) for part in text.split(","))
        unproven = f"c=biws,r={parts['r']}"
        signed = f"{self._bare},{text},{unproven}".encode()
        salted = hashlib.pbkdf2_hmac(self._hash_name, self._password.encode(), b64decode(parts["s"]), int(parts["i"]))
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
