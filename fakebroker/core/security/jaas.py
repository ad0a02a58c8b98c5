"""Users in settings: `user_alice="secret"` of a PlainLoginModule in `sasl.jaas.config`, as Kafka reads it."""

import re
from hmac import compare_digest

_OPTION = re.compile(r'\buser_(?P<name>[^\s="]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s;"]+))')


def users_of(config: str) -> dict[str, str]:
    """The passwords of PLAIN by user in the text of `sasl.jaas.config`."""
    found = {}
    for option in _OPTION.finditer(config):
        quoted = option["quoted"]
        found[option["name"]] = option["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return found


def is_password(config: str, name: str, password: str) -> bool:
    """Whether a user of that text has that password; the time that it takes does not tell how wrong another is."""
    right = users_of(config).get(name, "")
    return compare_digest(right.encode(), password.encode()) and bool(right)
