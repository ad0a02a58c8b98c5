"""Users in settings: `user_alice="secret"` of a PlainLoginModule in `sasl.jaas.config`, as Kafka reads it."""

from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest

from fakebroker.protocol.jaas import jaas_options

_USER = "user_"


def users_of(config: str) -> dict[str, str]:
    """The passwords of PLAIN by user in the text of `sasl.jaas.config`."""
    options = jaas_options(config)
    return {name.removeprefix(_USER): value for name, value in options.items() if name.startswith(_USER)}


def is_password(users: Mapping[str, str], name: str, password: str) -> bool:
    """Whether a user has that password. For every name and password the same is done: digests are compared."""
    right, given = (sha256(text.encode()).digest() for text in (users.get(name, ""), password))
    return compare_digest(right, given) and name in users
