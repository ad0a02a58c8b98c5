"""A whole SCRAM login, which is one step of a dialogue: its messages have nonces, so they cannot be recorded."""

from collections.abc import Callable

from fakebroker.client.scram import ScramClient
from fakebroker.protocol.schema.jsonable import from_json
from fakebroker.protocol.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from fakebroker.scenarios.dialogue.script import Json, ScramLogin

HANDSHAKE_VERSION, AUTHENTICATE_VERSION = 1, 2
Ask = Callable[[str, int, dict[str, Json]], Json]


def log_in(step: ScramLogin, user: str, password: str, ask: Ask) -> int:
    """Log in by SCRAM; returns the error code of the last answer, 0 for success.

    `ask(api, version, request)` sends a request on the step's connection and returns the answer.
    """
    client = ScramClient(step.mechanism, user, password, step.extensions)
    ask("SaslHandshake", HANDSHAKE_VERSION, {"Mechanism": step.mechanism})
    first = _authenticate(ask, client.first)
    if first.error_code:
        return first.error_code
    final = _authenticate(ask, client.final(first.auth_bytes))
    if not final.error_code:
        client.check(bytes(final.auth_bytes))
    return final.error_code


def _authenticate(ask: Ask, message: bytes) -> SaslAuthenticateResponse:
    answer = ask("SaslAuthenticate", AUTHENTICATE_VERSION, {"AuthBytes": {"hex": message.hex()}})
    return from_json(SaslAuthenticateResponse, AUTHENTICATE_VERSION, answer)
