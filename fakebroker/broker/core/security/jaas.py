"""Users in settings: `user_alice="secret"` of a PlainLoginModule in `sasl.jaas.config`, as Kafka reads it."""

import re
from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest

_OPTION = re.compile(r'\buser_(?P<name>[^\s="]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s;"]+))')


def users_of(config: str) -> dict[str, str]:
    """The passwords of PLAIN by user in the text of `sasl.jaas.config`."""
    found = {}
    for option in _OPTION.finditer(config):
        quoted = option["quoted"]
        found[option["name"]] = option["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return found


def is_password(users: Mapping[str, str], name: str, password: str) -> bool:
    """Whether a user has that password. For every name and password the same is done: digests are compared."""
    right, given = (sha256(text.encode()).digest() for text in (users.get(name, ""), password))
    return compare_digest(right, given) and name in users
