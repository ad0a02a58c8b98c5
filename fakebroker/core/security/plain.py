"""PLAIN (RFC 4616): the client says its name and password in one message (SA-3)."""

from collections.abc import Callable

from fakebroker.core.security.mechanisms import AuthenticationFailed, Login
from fakebroker.core.security.principals import Principal

PasswordCheck = Callable[[str, str], bool]
_PARTS = 3


class PlainMechanism:
    """One login by PLAIN. `is_right(name, password)` says whether there is such a user with that password."""

    def __init__(self, is_right: PasswordCheck) -> None:
        self.login: Login | None = None
        self._is_right = is_right

    def answer_to(self, message: bytes) -> bytes:
        """Nothing, if `authzid NUL user NUL password` is right. Raises AuthenticationFailed.

        An unknown user is refused in the words for a wrong password.
        """
        authorization_id, name, password = _parts(message)
        if not name:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        if not self._is_right(name, password):
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            wrong = "Client requested an authorization id that is different from username"
            raise AuthenticationFailed(f"Authentication failed: {wrong}")
        self.login = Login(Principal(name))
        return b""


def _parts(message: bytes) -> list[str]:
    try:
        parts = message.decode().split("\0")
    except UnicodeDecodeError:
        raise AuthenticationFailed("Authentication failed: the message is not UTF-8") from None
    if len(parts) != _PARTS:
        raise AuthenticationFailed(f"Invalid SASL/PLAIN response: expected {_PARTS} tokens, got {len(parts)}")
    return parts
