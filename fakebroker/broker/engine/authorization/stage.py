"""The stage that checks rights before the handlers of APIs that need some, where there is an authorizer (AU-6)."""

from typing import TYPE_CHECKING

from fakebroker.broker.engine.authorization.authorized_request import AuthorizedRequest
from fakebroker.broker.engine.authorization.needs import NEEDS
from fakebroker.broker.engine.feature_gates import FEATURES
from fakebroker.broker.engine.stages import Handle, Passage, StageKind, in_turns

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
        try:
            return (yield from _checked(exchange, authorized))
        finally:
            authorized.end()


def _checked(exchange: "Exchange", authorized: AuthorizedRequest["Message", "Message"]) -> Passage:
    for check in NEEDS[authorized.route.api_key]:
        steps = check(authorized)
        if steps is not None:
            yield from in_turns(steps)
        if authorized.answer is not None:
            answer = authorized.answer if _wants_answer(authorized.request) else None
            return (yield from in_turns(authorized.finish(answer)))
    exchange.handle = authorized.handle
    response = yield Handle(authorized.request)
    return (yield from in_turns(authorized.finish(response)))


def _wants_answer(request: "Message") -> bool:
    return getattr(request, "acks", -1) != 0
