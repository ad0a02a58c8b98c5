"""Tokens that a test signs."""

from fakebroker.oauth import TokenAuthority


def test_a_token_is_signed():
    with TokenAuthority() as authority:
        assert authority.token("alice").count(".") == 2
