"""What must not leave the process: passwords in settings, authentication bytes, tokens.

Files, logs, stories and exports show messages that went through `redact`. What a test reads from the journal in
memory is as the client sent it.
"""

from fakebroker.broker.settings.declare import PASSWORD, Setting
from fakebroker.broker.settings.settings import lookup
from fakebroker.broker.settings.table import CLIENT_METRICS, GROUP, TOPIC
from fakebroker.protocol.schema import Message, Struct
from fakebroker.protocol.schema.entities import Entry, entries_in, field_of, has_secrets, inner_of, value_in
from fakebroker.protocol.schema.message import Declaration

REDACTED = "(redacted)"


def is_secret_setting(name: str) -> bool:
    """Whether the value of a setting is never shown: a password, or an unknown name (DC-4)."""
    known: Setting | None = lookup(name) or TOPIC.get(name) or GROUP.get(name) or CLIENT_METRICS.get(name)
    return known is None or known.type == PASSWORD


def redact(message: Struct) -> bool:
    """Replace the secrets in a message that is not shared; returns whether there were any."""
    return has_secrets(type(message)) and _redact(type(message), message)


def without_secrets(message: Message) -> Message:
    """The message, or a copy of it in which the secrets are replaced."""
    if not has_secrets(type(message)):
        return message
    from copy import deepcopy

    copied = deepcopy(message)
    _redact(type(copied), copied)
    return copied


def _redact(declaration: type[Declaration], struct: Entry) -> bool:
    found = _redact_setting(declaration, struct)
    for spec in declaration.fields:
        inner = inner_of(spec)
        if spec.entity == "secret" and (value := value_in(declaration, struct, spec)):
            setattr(struct, spec.name, REDACTED if isinstance(value, str) else REDACTED.encode())
            found = True
        elif inner is not None and has_secrets(inner):
            for entry in entries_in(declaration, struct, spec):
                found |= _redact(inner, entry)
    return found


def _redact_setting(declaration: type[Declaration], struct: Entry) -> bool:
    """Replace the value of a setting, if the structure is one and its value is secret."""
    name, value = field_of(declaration, "configName"), field_of(declaration, "configValue")
    if name is None or value is None or value_in(declaration, struct, value) is None:
        return False
    if not is_secret_setting(value_in(declaration, struct, name)):
        return False
    setattr(struct, value.name, REDACTED)
    return True
