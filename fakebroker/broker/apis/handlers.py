"""Which module answers an API; it is imported by the first request for it."""

from importlib import import_module
from types import ModuleType

from fakebroker.protocol.wire.registry import APIS


def handler(api_key: int) -> ModuleType:
    """The module that answers an API. It has `handle(call, request)`; KeyError if the API is not served.

    It may have `repeat(call, request, response)`, which is called after an answer that was returned at once, and gives
    an `apis.call.Repeat` for the requests to come that are like this one, or None if it is not of the ordinary kind.
    """
    return import_module(f"fakebroker.broker.apis.{APIS[api_key].module}")
