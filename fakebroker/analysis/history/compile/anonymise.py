"""Names as they are, or hashed with a secret: the same name and secret give the same hash in every file."""

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from fakebroker.protocol.errors import FakebrokerError

SECRET_FILE = ".fakebroker-secret"
SECRET_VARIABLE = "FAKEBROKER_SECRET"
FEWEST_BYTES = 8
DIGITS = 6
_PUBLIC = frozenset(
    {
        "range", "roundrobin", "sticky", "cooperative-sticky", "consumer", "connect", "default", "compatible",
        "sessioned", "stream", "",
    }
)  # fmt: skip


class PlainNames:
    """Leaves every name as it is."""

    def name(self, kind: str, name: str) -> str:  # noqa: ARG002 - the other one needs it
        """The name itself."""
        return name

    def public(self, kind: str, name: str) -> str:  # noqa: ARG002
        """The name itself."""
        return name

    def metadata(self, text: str) -> str:
        """The text itself."""
        return text


def check_secret(secret: bytes) -> None:
    """Raises FakebrokerError for a secret that can be guessed."""
    if len(secret) < FEWEST_BYTES:
        raise FakebrokerError(f"the secret has {len(secret)} bytes; it needs at least {FEWEST_BYTES} to hide anything")


class HashedNames:
    """Replaces names by `KIND-` and the first hexadecimal digits of an HMAC-SHA256 of kind and name.

    A kind is `group`, `topic`, `member`, `client`, `instance` and so on. Raises FakebrokerError for a secret of fewer
    than FEWEST_BYTES bytes.
    """

    def __init__(self, secret: bytes, digits: int = DIGITS) -> None:
        check_secret(secret)
        self._secret, self._digits = secret, digits
        self._given: dict[str, str] = {}  # made name -> the one it stands for

    def name(self, kind: str, name: str) -> str:
        """The name that stands for this one. Raises FakebrokerError when it stands for another one already."""
        made = f"{kind}-{self._digest(kind, name)[: self._digits]}"
        if self._given.setdefault(made, name) != name:
            raise FakebrokerError(
                f"two names of the kind {kind} have the same hash {made}; use more than {self._digits} digits"
            )
        return made

    def public(self, kind: str, name: str) -> str:
        """The same for a name that may be one that everybody knows, such as the assignor `range`: these stay."""
        return name if name in _PUBLIC else self.name(kind, name)

    def metadata(self, text: str) -> str:
        """A text of as many bytes in UTF-8; an empty one stays empty."""
        size, made = len(text.encode()), ""
        while len(made) < size:
            made += self._digest("metadata", f"{len(made)} {text}")
        return made[:size]

    def _digest(self, kind: str, name: str) -> str:
        return hmac.new(self._secret, f"{kind}\0{name}".encode("utf-8", "surrogatepass"), sha256).hexdigest()


Names = PlainNames | HashedNames


def secret_of(file: Path | None, folder: Path) -> tuple[bytes, str]:
    """The secret of a project, and a sentence about where it is from.

    It is that of `file`; else of the environment variable FAKEBROKER_SECRET; else of `.fakebroker-secret` in `folder`,
    which is made, readable by its owner alone, with a random secret when it is not there. Raises FakebrokerError for a
    file that cannot be read or written.
    """
    if file is None and os.environ.get(SECRET_VARIABLE):
        return os.environ[SECRET_VARIABLE].encode(), f"names are hashed with the secret in {SECRET_VARIABLE}"
    path = folder / SECRET_FILE if file is None else file
    try:
        if file is None and not path.exists():
            return _made(path), f"created {path} with a random secret; keep it, but not in version control"
        return path.read_bytes().strip(), f"names are hashed with the secret in {path}"
    except OSError as error:
        raise FakebrokerError(f"{path}: the secret cannot be read or written: {error.strerror}") from None


def _made(path: Path) -> bytes:
    secret = secrets.token_hex(32).encode()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(secret + b"\n")
    return secret
