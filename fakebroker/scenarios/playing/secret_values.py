"""Values of answers that are secret: they compare as what they are, and no text shows them.

The mark stays on a value that a step saves, so that no later error shows it either.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from fakebroker.protocol.schema.entities import fields_of
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.exchanges.redaction import REDACTED

Json = Any


class SecretText(str):
    """A text that is secret."""

    __slots__ = ()

    def __repr__(self) -> str:
        return REDACTED


class SecretMapping(dict[str, Json]):
    """A mapping that is secret: {hex: ...}."""

    def __repr__(self) -> str:
        return REDACTED


def marked(value: Json) -> Json:
    """The value of a secret field as one that is not shown."""
    if isinstance(value, str):
        return SecretText(value)
    return SecretMapping({key: marked(each) for key, each in value.items()}) if isinstance(value, Mapping) else value


def is_secret(value: Json) -> bool:
    """Whether a value is not to be shown."""
    return isinstance(value, SecretText | SecretMapping)


def holds_secret(value: Json) -> bool:
    """Whether a value is secret, or has something secret in it."""
    if is_secret(value):
        return True
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(map(holds_secret, inner))


@cache
def secret_fields() -> frozenset[str]:
    """The names of all fields that are declared secret, in the requests and answers of any API."""
    messages = [message for each in APIS.values() for message in (each.request, each.response)]
    return frozenset(path[-1].name for message in messages for path in fields_of(message, "secret"))
