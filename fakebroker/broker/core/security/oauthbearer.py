"""OAUTHBEARER (RFC 7628, KIP-255): the client shows a token. What a good token is, its `TokenCheck` says.

client      n,,^Aauth=Bearer TOKEN^A^A          (^A is byte 1)
broker      nothing, if the token is good; else {"status":"invalid_token"}
client      ^A, after which the login is refused; or a first message again, with another token
"""

import re
from collections.abc import Callable

from fakebroker.broker.core.security.bearer_tokens import InvalidToken, check_length, subject_of
from fakebroker.broker.core.security.mechanisms import (
    OAUTHBEARER,
    AuthenticationFailed,
    InvalidCredentials,
    Login,
)

TokenCheck = Callable[[str], Login]  # raises InvalidToken

INVALID_TOKEN = b'{"status":"invalid_token"}'
_END = b"\x01"
# Possessive, all of it: of a long message no place is kept to come back to, and there is one way to read it.
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_NAME}))?+,\x01(?P<pairs>(?:[A-Za-z]++=[\x21-\x7e \t\r\n]++\x01)*+)\x01"
)
_BEARER = re.compile(r"(?P<scheme>\w++) ++(?P<token>[-_.a-zA-Z0-9]++)", re.ASCII)


class OAuthBearerMechanism:
    """One login by OAUTHBEARER. `check` says whom a token is for, and raises InvalidToken for one that is not good."""

    def __init__(self, check: TokenCheck) -> None:
        self.login: Login | None = None
        self.claimed = self.refusal = ""
        self._check = check

    def answer_to(self, message: bytes) -> bytes:
        """Nothing, if the token is good; what is wrong with it, to which the client has to say `^A` (SA-11).

        Raises AuthenticationFailed after that, and at once for a message of another form and somebody else's token.
        """
        if self.refusal and message == _END:
            raise AuthenticationFailed(INVALID_TOKEN.decode(), self.refusal)
        self.refusal = ""
        authorization_id, token = _parts(message)
        self.claimed = authorization_id
        try:
            check_length(token)
            self.claimed = subject_of(token) or authorization_id
            login = self._check(token)
        except InvalidToken as invalid:
            self.refusal = f"the token is not accepted: {invalid}"
            return INVALID_TOKEN
        if authorization_id not in ("", name := login.principal.name):
            wrong = f"authorization id ({authorization_id}) that is different from the token's principal name ({name})"
            raise AuthenticationFailed(f"Authentication failed: Client requested an {wrong}")
        self.login = login
        return b""


def _parts(message: bytes) -> tuple[str, str]:
    """Authorization id and token of the first message."""
    first = _FIRST.fullmatch(message.decode("latin-1"))
    if first is None:
        raise InvalidCredentials(OAUTHBEARER, "the client's first message is malformed")
    _, _, authorization = f"\x01{first['pairs']}".rpartition("\x01auth=")  # the last one counts
    bearer = _BEARER.fullmatch(authorization.partition("\x01")[0])
    if bearer is None or bearer["scheme"].lower() != "bearer":
        raise InvalidCredentials(OAUTHBEARER, "the client's first message has no bearer token")
    authorization_id = (first["authorization_id"] or "").replace("=2C", ",").replace("=3D", "=")
    return authorization_id, bearer["token"]
