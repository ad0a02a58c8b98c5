"""What must not leave the process: passwords in settings, authentication bytes, tokens.

Files, logs, stories and exports show messages that went through `redact`. What a test reads from the journal in
memory is as the client sent it.
"""

from functools import cache
from typing import Any

from fakebroker.broker.settings.declare import PASSWORD, Setting
from fakebroker.broker.settings.settings import lookup
from fakebroker.broker.settings.table import CLIENT_METRICS, GROUP, TOPIC
from fakebroker.protocol.schema import Message, Struct
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import STRING, ArrayOf, FieldSpec, Primitive

REDACTED = "(redacted)"

# Fields that are secret in any message: SaslAuthenticate, the delegation tokens' APIs, AlterUserScramCredentials.
SECRET_FIELDS = frozenset({"auth_bytes", "hmac", "salt", "salted_password"})


def is_secret_setting(name: str) -> bool:
    """Whether the value of a setting is never shown: a password, or a name that nobody knows (DC-4)."""
    known: Setting | None = lookup(name) or TOPIC.get(name) or GROUP.get(name) or CLIENT_METRICS.get(name)
    return known is None or known.type == PASSWORD


def redact(message: Struct) -> bool:
    """Replace the secrets in a message that nobody else holds; returns whether there were any."""
    return has_secrets(type(message)) and _redact(message)  # type: ignore[arg-type]


def without_secrets(message: Message) -> Message:
    """The message, or a copy of it in which the secrets are replaced."""
    if not has_secrets(type(message)):  # type: ignore[arg-type]
        return message
    from copy import deepcopy

    copied = deepcopy(message)
    _redact(copied)
    return copied


@cache
def has_secrets(kind: type[Declaration]) -> bool:
    """Whether messages of a class may carry secrets."""
    return _value_of_setting(kind) is not None or any(
        spec.name in SECRET_FIELDS or (_inner(spec) is not None and has_secrets(_inner(spec)))  # type: ignore[arg-type]
        for spec in kind.fields
    )


def _redact(struct: Any) -> bool:
    found = False
    setting = _value_of_setting(type(struct))
    if setting is not None and struct.value is not None and is_secret_setting(struct.name):
        struct.value, found = REDACTED, True
    for spec in struct.fields:
        value = getattr(struct, spec.name)
        if spec.name in SECRET_FIELDS and value:
            setattr(struct, spec.name, REDACTED if isinstance(value, str) else REDACTED.encode())
            found = True
        elif isinstance(value, Struct):
            found |= _redact(value)
        elif isinstance(value, list) and _inner(spec) is not None and has_secrets(_inner(spec)):  # type: ignore[arg-type]
            for entry in value:
                found |= _redact(entry)
    return found


def _value_of_setting(kind: type[Declaration]) -> FieldSpec | None:
    """The field with the value, if a structure is a setting with its value: it has a name and a value, both texts."""
    by_name = {spec.name: spec for spec in kind.fields if spec.type is STRING}
    return by_name.get("value") if "name" in by_name else None


def _inner(spec: FieldSpec) -> type[Declaration] | None:
    """The class of the structures in a field."""
    kind = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
    return None if isinstance(kind, Primitive) or kind.is_row else kind
