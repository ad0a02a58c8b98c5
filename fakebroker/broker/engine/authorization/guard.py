"""Puts the checks of an API before its handler, where there is an authorizer (AU-6)."""

from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.broker.engine.authorization.authorized_request import AuthorizedRequest, FinishingConnection
from fakebroker.broker.engine.authorization.needs import NEEDS, Check
from fakebroker.broker.engine.feature_gates import FEATURES

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.core.security.authorizer import Authorizer
    from fakebroker.broker.engine.dispatch import Route


def guard(authorizer: "Authorizer", route: "Route") -> "Route":
    """A route that asks the authorizer first; itself, if its API needs no right."""
    checks = NEEDS.get(route.api_key)
    return route if checks is None else route.with_handler(partial(_handle, authorizer, checks, route))


def _handle(authorizer: "Authorizer", checks: tuple[Check, ...], route: "Route", call: "Call", request: Any) -> Any:
    """In the place of a handler: it gets what its client has a right to."""
    feature = FEATURES.get(route.api_key)
    if feature is not None and call.cluster.features.is_off(feature):
        return route.handle(call, request)
    authorized = AuthorizedRequest(route, call, request, authorizer)
    for check in checks:
        check(authorized)
        if authorized.answer is not None:
            return authorized.finish(authorized.answer) if _wants_answer(authorized) else authorized.finish(None)
    if not authorized.has_finish:
        return authorized.handle(call, authorized.request)
    return _handle_and_finish(authorized, call)


def _wants_answer(authorized: AuthorizedRequest) -> bool:
    return getattr(authorized.request, "acks", -1) != 0


def _handle_and_finish(authorized: AuthorizedRequest, call: "Call") -> Any:
    connection: Any = call.connection
    call.connection = FinishingConnection(connection, authorized)
    try:
        response = authorized.handle(call, authorized.request)
    except Exception:
        call.connection = connection
        raise
    if response is None:  # parked, and it goes on with the call as it is; or answered, and the call is used up
        return None
    call.connection = connection
    return authorized.finish(response)
