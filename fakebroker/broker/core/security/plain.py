"""PLAIN (RFC 4616): the client says its name and password in one message (SA-3)."""

from collections.abc import Callable

from fakebroker.broker.core.security.mechanisms import AuthenticationFailed, Login
from fakebroker.broker.core.security.principals import Principal

PasswordCheck = Callable[[str, str], str]
_PARTS = 3


class PlainMechanism:
    """One login by PLAIN. `why_not(name, password)` says why a user may not log in with a password, "" if it may."""

    def __init__(self, why_not: PasswordCheck) -> None:
        self.login: Login | None = None
        self.claimed = self.refusal = ""
        self._why_not = why_not

    def answer_to(self, message: bytes) -> bytes:
        """Nothing, if `authzid NUL user NUL password` is right. Raises AuthenticationFailed.

        An unknown user is refused in the words for a wrong password.
        """
        authorization_id, self.claimed, password = _parts(message)
        name = self.claimed
        if not name:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        if why := self._why_not(name, password):
            raise AuthenticationFailed("Authentication failed: Invalid username or password", why)
        if authorization_id not in ("", name):
            wrong = "Client requested an authorization id that is different from username"
            raise AuthenticationFailed(f"Authentication failed: {wrong}")
        self.login = Login(Principal(name))
        return b""


def _parts(message: bytes) -> list[str]:
    parts = message.decode(errors="replace").split("\0")  # as Kafka decodes it
    if len(parts) != _PARTS:
        raise AuthenticationFailed(f"Invalid SASL/PLAIN response: expected {_PARTS} tokens, got {len(parts)}")
    return parts
