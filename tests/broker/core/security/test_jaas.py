"""Users in `sasl.jaas.config`."""

from fakebroker.broker.core.security.jaas import is_password, users_of

CONFIG = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    r'username="admin" password="a" user_admin="a" user_alice="p\"; a" user_bob=pb;'
)


def test_users_are_the_options_that_begin_with_user() -> None:
    """Quotes, escaped quotes and none; the broker's own name and password are no user."""
    assert users_of(CONFIG) == {"admin": "a", "alice": 'p"; a', "bob": "pb"}
    assert users_of("") == {}


def test_passwords_are_compared() -> None:
    """A user that there is not has no password, not even an empty one."""
    users = users_of(CONFIG)
    assert is_password(users, "bob", "pb")
    assert not is_password(users, "bob", "pa")
    assert not is_password(users, "carol", "")
