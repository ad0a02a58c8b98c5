"""Records of TLS that no ordinary client sends, encrypted with the keys of a client whose handshake is done."""

import hmac
import ssl
from hashlib import sha384
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ALERT, HANDSHAKE, DATA = 21, 22, 23
KEY_UPDATE, KEY_UPDATE_WITH_ANSWER = b"\x18\0\0\1\0", b"\x18\0\0\1\1"


def length(size: int, count: int) -> bytes:
    """A size in so many bytes."""
    return size.to_bytes(count, "big")


class Secrets:
    """Where a client's context leaves the secrets of its connections; the last one counts."""

    def __init__(self, directory: Path, context: ssl.SSLContext) -> None:
        self._file = directory / "secrets"
        context.keylog_filename = str(self._file)

    def of(self, label: str) -> bytes:
        """The last secret of this name."""
        lines = [line.split() for line in self._file.read_text().splitlines() if not line.startswith("#")]
        return bytes.fromhex([secret for name, _, secret in lines if name == label][-1])

    @property
    def client_random(self) -> bytes:
        """What the last client began with."""
        return bytes.fromhex(self._file.read_text().split()[-2])


class Records13:
    """A client's records of TLS 1.3 (TLS_AES_256_GCM_SHA384), the first after the handshake and those after it."""

    def __init__(self, secret: bytes) -> None:
        self._message = b""  # of the handshake, whose end is to come
        self._use(secret)

    def _use(self, secret: bytes) -> None:
        self._secret, self._number = secret, 0
        self._cipher, self._iv = AESGCM(self._expanded(b"key", 32)), self._expanded(b"iv", 12)

    def _expanded(self, label: bytes, size: int) -> bytes:
        """HKDF-Expand-Label, of one block."""
        label = b"tls13 " + label
        info = length(size, 2) + bytes([len(label)]) + label + b"\0" + b"\1"
        return hmac.digest(self._secret, info, sha384)[:size]

    def record(self, kind: int, content: bytes) -> bytes:
        """One record; the end of a KeyUpdate changes the key of those after it."""
        header = b"\x17\3\3" + length(len(content) + 17, 2)
        nonce = (int.from_bytes(self._iv, "big") ^ self._number).to_bytes(12, "big")
        encrypted = header + self._cipher.encrypt(nonce, content + bytes([kind]), header)
        self._number += 1
        if kind == HANDSHAKE:
            self._message += content
        if self._message in (KEY_UPDATE, KEY_UPDATE_WITH_ANSWER):
            self._message = b""
            self._use(self._expanded(b"traffic upd", 48))
        return encrypted


class Records12:
    """The same of TLS 1.2 (AES256-GCM-SHA384)."""

    def __init__(self, master_secret: bytes, client_random: bytes, server_random: bytes) -> None:
        seed = b"key expansion" + server_random + client_random
        block, a = b"", seed
        while len(block) < 72:
            a = hmac.digest(master_secret, a, sha384)
            block += hmac.digest(master_secret, a + seed, sha384)
        self._cipher, self._iv = AESGCM(block[:32]), block[64:68]
        self._number = 1  # the end of the handshake was the first one

    def record(self, kind: int, content: bytes) -> bytes:
        """One record."""
        number, header = length(self._number, 8), bytes([kind]) + b"\3\3"
        self._number += 1
        encrypted = self._cipher.encrypt(self._iv + number, content, number + header + length(len(content), 2))
        return header + length(len(encrypted) + 8, 2) + number + encrypted
