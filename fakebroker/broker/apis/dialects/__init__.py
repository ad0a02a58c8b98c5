"""Handlers of dialects (DR): one module for each overlay that `wire.dialects` declares."""

from importlib import import_module
from types import ModuleType

from fakebroker.protocol.wire.dialects import Overlay


def handler(overlay: Overlay) -> ModuleType:
    """The module that answers an overlay; it has `handle(call, request)` as those of `apis` have."""
    return import_module(f"fakebroker.broker.apis.dialects.{overlay.module}")
