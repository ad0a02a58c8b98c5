"""How a scripted client logs in by SASL: what with, and the messages that it sends.

The messages of the mechanisms are in `fakebroker/broker/core/security`, as the broker reads them.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.client.connection import ClientConnection
from fakebroker.client.scram import HASHES, NONCE, ScramClient
from fakebroker.protocol.arguments.checks import check_text
from fakebroker.protocol.errors import (
    ErrorCode,
    FakebrokerError,
    InvalidArgument,
    UnknownThing,
    error_name,
    nearest,
)
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from fakebroker.protocol.wire.messages.sasl_handshake import SaslHandshakeRequest
from fakebroker.protocol.wire.registry import newest

if TYPE_CHECKING:
    from fakebroker.client.requesting import Flow

PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
MECHANISMS = (PLAIN, *HASHES, OAUTHBEARER)
HANDSHAKE_VERSION, AUTHENTICATE_VERSION = newest(ApiKey.SASL_HANDSHAKE), newest(ApiKey.SASL_AUTHENTICATE)
_HEARD = b"\x01"  # the answer to a refused token, after which the broker says no more than that
TOKEN_EXTENSION = ",tokenauth=true"


class LoginRefused(FakebrokerError):
    """A client was not let in; the text has the broker's words, and no secret."""


class Credentials(NamedTuple):
    """What a client logs in with. `token` is for OAUTHBEARER; with `delegation_token` the user is the id of one."""

    user: str = ""
    password: str = ""
    mechanism: str = PLAIN
    token: str = ""
    delegation_token: bool = False

    @classmethod
    def of(
        cls,
        user: str | None,
        password: str | None,
        mechanism: str | None,
        token: str | None,
        delegation_token: bool = False,
    ) -> "Credentials | None":
        """Those of the arguments, None without any. Raises InvalidArgument, UnknownThing, which have no secret."""
        if user is None and token is None:
            if password is not None or mechanism is not None:
                raise InvalidArgument("user", user, "a login needs a user and a password, or a token")
            return None
        for name, value in (("user", user), ("mechanism", mechanism)):
            if value is not None:
                check_text(name, value)
        if not all(isinstance(secret, str | None) for secret in (password, token)):
            raise InvalidArgument("password", "(password)", "a password or token is not a string")
        default = PLAIN if token is None else OAUTHBEARER
        if delegation_token and mechanism is None:
            default = "SCRAM-SHA-256"
        found = cls(user or "", password or "", mechanism or default, token or "", delegation_token)
        found.check()
        return found

    def check(self) -> None:
        """Raises UnknownThing for an unknown mechanism, InvalidArgument for one that needs something else."""
        name = self.mechanism
        if name not in MECHANISMS:
            raise UnknownThing(
                "mechanism", name, f"the mechanism {name!r} is not supported; {nearest(name, MECHANISMS)}"
            )
        if bool(self.token) != (name == OAUTHBEARER):
            raise InvalidArgument("token", "(token)", f"only {OAUTHBEARER} logs in with a token")
        if self.delegation_token and name not in HASHES:
            raise InvalidArgument("mechanism", name, f"a delegation token logs in with {' or '.join(HASHES)}")

    def __repr__(self) -> str:
        return f"<credentials of {self.user or 'a token'} for {self.mechanism}>"


def log_in_anywhere(connection: ClientConnection, credentials: Credentials, nonce: str) -> "Flow[None]":
    """Log in to a broker of any release, as the first thing on a connection.

    `nonce` is random, for SCRAM. Raises LoginRefused, FakebrokerError if the broker does not prove that it knows the
    user's credential (SCRAM).
    """
    listed: Any = yield connection.send(ApiVersionsRequest(), 0)
    served = {each.api_key: each.max_version for each in listed.api_keys}
    if served.get(ApiKey.SASL_HANDSHAKE, 0) < HANDSHAKE_VERSION or ApiKey.SASL_AUTHENTICATE not in served:
        raise LoginRefused("the broker serves no login that this client speaks; Kafka 1.0 or newer does")
    version = min(served[ApiKey.SASL_AUTHENTICATE], AUTHENTICATE_VERSION)
    answer = yield from log_in(connection, credentials, version, nonce)
    if answer.error_code:
        raise LoginRefused(refusal_of(answer, credentials))


def refusal_of(answer: Any, credentials: Credentials) -> str:
    """Why a login was refused, with no secret in it: `answer` is the last one of `log_in`."""
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        return "the listener takes no logins; its security protocol is PLAINTEXT or SSL"
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(answer.mechanisms)
        return f"the listener has no mechanism {credentials.mechanism}; it offers {offered or 'none'}"
    words = getattr(answer, "error_message", None) or error_name(answer.error_code)
    return f"{credentials!r} were refused: {words}"


def log_in(
    connection: ClientConnection, credentials: Credentials, version: int = AUTHENTICATE_VERSION, nonce: str = NONCE
) -> "Flow[Any]":
    """Log in on a connection. Returns the last answer, with the error code that it has.

    `version` is that of SaslAuthenticate, `nonce` the client's for SCRAM. Raises FakebrokerError if the broker does not
    prove that it knows the user's credential (SCRAM).
    """
    handshake = SaslHandshakeRequest(mechanism=credentials.mechanism)
    answer: Any = yield connection.send(handshake, HANDSHAKE_VERSION)
    if answer.error_code:
        return answer
    if credentials.mechanism in HASHES:
        return (yield from _by_scram(connection, credentials, version, nonce))
    answer = yield _message(connection, _first_message(credentials), version)
    if credentials.mechanism == OAUTHBEARER and answer.auth_bytes and not answer.error_code:
        answer = yield _message(connection, _HEARD, version)
    return answer


def _by_scram(connection: ClientConnection, credentials: Credentials, version: int, nonce: str) -> "Flow[Any]":
    extensions = TOKEN_EXTENSION if credentials.delegation_token else ""
    scram = ScramClient(credentials.mechanism, credentials.user, credentials.password, extensions, nonce)
    answer: Any = yield _message(connection, scram.first, version)
    if answer.error_code:
        return answer
    answer = yield _message(connection, scram.final(bytes(answer.auth_bytes)), version)
    if not answer.error_code:
        scram.check(bytes(answer.auth_bytes))
    return answer


def _first_message(credentials: Credentials) -> bytes:
    if credentials.mechanism == OAUTHBEARER:
        return f"n,,\x01auth=Bearer {credentials.token}\x01\x01".encode()
    return f"\0{credentials.user}\0{credentials.password}".encode()


def _message(connection: ClientConnection, message: bytes, version: int) -> Any:
    return connection.send(SaslAuthenticateRequest(auth_bytes=message), version)
