"""An authority that signs OAUTHBEARER tokens: the public name of `testing.tokens`. Needs the extra `oauth`."""

from fakebroker.testing.tokens import TokenAuthority

__all__ = ["TokenAuthority"]
