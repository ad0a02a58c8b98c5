"""What the APIs of delegation tokens have in common: who may ask, and the settings (TK-1)."""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.security.delegation_tokens import LIMITS, Limits
from fakebroker.broker.core.security.principals import ANONYMOUS
from fakebroker.protocol.errors import ErrorCode, KafkaError

_SECRET_KEY = "delegation.token.secret.key"


def check_requester(call: Call) -> None:
    """Raises KafkaError for a client that has not logged in, or by a token, and if there are no tokens (TK-1)."""
    principal = call.connection.principal
    if principal == ANONYMOUS or principal.is_token:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if call.node.settings.is_null(_SECRET_KEY):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)


def secret_key(call: Call) -> str:
    """What tokens are made with."""
    return call.node.settings.get_str(_SECRET_KEY)


def limits(call: Call) -> Limits:
    """How long tokens live."""
    settings = call.node.settings
    return Limits(*[settings.get_int(name) for name in LIMITS])
