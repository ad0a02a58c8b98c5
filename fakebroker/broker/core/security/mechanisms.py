"""What all mechanisms of SASL have in common: messages come in, answers and a principal go out."""

from typing import NamedTuple, Protocol

from fakebroker.broker.core.security.principals import Principal
from fakebroker.protocol.errors import FakebrokerError

PLAIN = "PLAIN"
SCRAM_SHA_256 = "SCRAM-SHA-256"
SCRAM_SHA_512 = "SCRAM-SHA-512"
OAUTHBEARER = "OAUTHBEARER"
SCRAM_NUMBERS = {1: SCRAM_SHA_256, 2: SCRAM_SHA_512}  # as messages name them (SC-1)
SCRAM_HASHES = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}


class AuthenticationFailed(FakebrokerError):
    """A login is refused; the text is sent to the client, and has no secret in it.

    `why` is what the journal says, which may say more: clients are not to learn which users there are. It has no
    secret in it either.
    """

    def __init__(self, text: str, why: str = "") -> None:
        super().__init__(text)
        self.why = why or text


class InvalidCredentials(AuthenticationFailed):
    """A login is refused in the words that Kafka has for every reason that clients are not to learn."""

    def __init__(self, mechanism: str, why: str) -> None:
        text = f"due to invalid credentials with SASL mechanism {mechanism}"
        super().__init__(f"Authentication failed during authentication {text}", why)


class Login(NamedTuple):
    """A login that succeeded; it is valid until `ends_ms` by the wall reading, None: for ever."""

    principal: Principal
    ends_ms: int | None = None


class Mechanism(Protocol):
    """The broker's side of one login."""

    login: Login | None  # set by the message that completes the login
    refusal: str  # why the login will be refused, where the client has to say another word before it is; else ""
    claimed: str  # whom the client says it is: the name of a user, or "" as long as it has not said so

    def answer_to(self, message: bytes) -> bytes:
        """What a message of the client is answered. Raises AuthenticationFailed; the login is over then."""
