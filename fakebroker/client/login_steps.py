"""The step by which a scripted client logs in."""

from typing import Any, Literal

from fakebroker.client.login import Credentials, log_in
from fakebroker.client.requesting import Flow, Requesting
from fakebroker.protocol.arguments.types import Secret
from fakebroker.protocol.errors import InvalidArgument

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]


class LoginSteps(Requesting):
    """One client logs in, or logs in again while it is."""

    def login(
        self,
        user: str | None = None,
        password: Secret | None = None,
        *,
        mechanism: Mechanism | None = None,
        token: Secret | None = None,
        delegation_token: bool = False,
    ) -> Flow[Any]:
        """Log in with SASL; returns the answer to the last message, with its error code.

        The mechanism is PLAIN unless `mechanism` is given, or OAUTHBEARER with `token`. With `delegation_token` the
        user is the id of a delegation token, and the password its HMAC in base64. Raises InvalidArgument for an
        incomplete login.
        """
        credentials = Credentials.of(user, password, mechanism, token, delegation_token)
        if credentials is None:
            raise InvalidArgument("user", user, "a login needs a user and a password, or a token")
        self._is_logged_in = True
        return (yield from log_in(self.connection, credentials))
