"""An authority for tests that signs tokens of OAUTHBEARER, good ones and bad ones. Needs the extra `oauth`.

with TokenAuthority() as authority, FakeBroker(config=authority.settings()) as broker:
    authority.use_clock_of(broker)
    token = authority.token("alice")
"""

from fakebroker.testing.tokens.authority import TokenAuthority

__all__ = ["TokenAuthority"]
