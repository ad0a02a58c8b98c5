"""The stage that checks rights before the handlers of APIs that need some, where there is an authorizer (AU-6)."""

from typing import TYPE_CHECKING

from fakebroker.broker.engine.authorization.authorized_request import AuthorizedRequest
from fakebroker.broker.engine.authorization.needs import NEEDS, Each
from fakebroker.broker.engine.feature_gates import FEATURES
from fakebroker.broker.engine.stages import Handle, NextTurn, Passage, StageKind

if TYPE_CHECKING:
    from fakebroker.broker.core.security.authorizer import Authorizer
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.exchange import Exchange
    from fakebroker.protocol.schema import Message


class AuthorizationStage:
    """Lets handlers have what their client has a right to."""

    kind = StageKind.AUTHORIZATION

    def __init__(self, authorizer: "Authorizer") -> None:
        self._authorizer = authorizer

    def concerns(self, route: "Route") -> bool:
        """Whether the API needs any right."""
        return route.api_key in NEEDS

    def serve(self, exchange: "Exchange", request: "Message") -> Passage:
        """Check what the client wants, have what it may do handled, and answer with what became of both."""
        call, route = exchange.call, exchange.route
        feature = FEATURES.get(route.api_key)
        if feature is not None and call.cluster.features.is_off(feature):
            return (yield Handle(request))
        authorized: AuthorizedRequest[Message, Message] = AuthorizedRequest(route, call, request, self._authorizer)
        for check in NEEDS[route.api_key]:
            if isinstance(check, Each):
                for _ in check.in_steps(authorized):
                    yield NextTurn()
            check(authorized)
            if authorized.answer is not None:
                return authorized.finish(authorized.answer if _wants_answer(request) else None)
        return authorized.finish((yield Handle(authorized.request, authorized.handle)))


def _wants_answer(request: "Message") -> bool:
    return getattr(request, "acks", -1) != 0
