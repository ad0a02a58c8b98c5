"""The key sets that signed tokens are checked with: fetched from their URLs when they are needed first, and again.

Kafka fetches them when it starts, every `sasl.oauthbearer.jwks.endpoint.refresh.ms`, and in the background when a token
names a key that it does not know: that login is refused, the next finds the new key. Here the first login waits for
the fetch in place of the start, so that the test's authority may be started after the broker.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakebroker.broker.core.security.bearer_tokens import InvalidToken
from fakebroker.broker.core.security.signed_tokens import KeySet, TokenRules, UnknownKey, signed_login
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from fakebroker.broker.core.security.mechanisms import Login
    from fakebroker.broker.engine.engine import Engine

Fetched = bytes | Exception
Fetch = Callable[[str, Callable[[Fetched], None]], None]
"""Gets what a URL gives, and calls back on the engine's thread, at once or later, with it or with what was wrong."""

Then = Callable[[Instant], None]
"""What goes on when the keys are there."""

FETCH_AGAIN_MS = 60_000  # at the earliest, because of one unknown key
MAX_MISSED = 100  # unknown keys that are remembered
RETRY_MS = (
    10_000  # after a fetch that failed, where old keys are there: logins do not all wait for a server that is gone
)
LATE_MS = 10_000  # that keys are good for longer than that, for who found them good when the login began


class FetchedKeys:
    """The keys behind one URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys = KeySet([])
        self.failure = ""  # what was wrong with the last fetch
        self.fetched_ms: int | None = None  # when the keys came, by the monotonic reading; so are the next
        self.failed_ms: int | None = None  # when a fetch failed, after the last that did not
        self.missed_ms: dict[str, int] = {}  # when a key id was unknown that led to a fetch
        self.waiting: dict[Then, None] = {}
        self.is_fetching = False


class KeySets:
    """All key sets of one engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._by_url: dict[str, FetchedKeys] = {}

    def when_fetched(self, url: str, refresh_ms: int, then: Then) -> Callable[[], None]:
        """Call `then` when the keys are there that a login may be checked with, or cannot be had: often at once.

        Returns what takes `then` back, for a client that leaves meanwhile.
        """
        keys = self._by_url.setdefault(url, FetchedKeys(url))
        if keys.fetched_ms is not None and not self._is_due(keys, keys.fetched_ms + refresh_ms):
            then(self._engine.now)
            return _nothing
        waiting = keys.waiting
        waiting[then] = None
        self._fetch(keys)

        def forget() -> None:
            waiting.pop(then, None)

        return forget

    def login(self, url: str, refresh_ms: int, token: str, rules: TokenRules, wall_ms: int) -> "Login":
        """Whom a token is for. Raises InvalidToken; one with an unknown key has the keys fetched anew after that.

        So has one that comes long after its login began, when the keys are old: one of them may be retired.
        """
        keys = self._by_url.get(url)
        if keys is None or keys.fetched_ms is None:
            failure = "they were not fetched before the login" if keys is None else keys.failure
            raise InvalidToken(f"no keys could be fetched from {url}: {failure}")
        if self._is_due(keys, keys.fetched_ms + refresh_ms, LATE_MS):
            self._fetch(keys)
            if self._is_due(keys, keys.fetched_ms + refresh_ms, LATE_MS):
                raise InvalidToken(f"the login took so long that the keys from {url} have to be fetched again first")
        try:
            return signed_login(token, keys.keys, rules, wall_ms)
        except UnknownKey as unknown:
            missed_ms = keys.missed_ms.get(unknown.key_id)
            if missed_ms is None or self._now_ms - missed_ms >= FETCH_AGAIN_MS:
                keys.missed_ms = {**_newest(keys.missed_ms), unknown.key_id: self._now_ms}
                self._fetch(keys)
            raise

    @property
    def _now_ms(self) -> int:
        return self._engine.now.mono_ms

    def _is_due(self, keys: FetchedKeys, old_ms: int, late_ms: int = 0) -> bool:
        """Whether keys that are there, and old at `old_ms`, are to be fetched anew, unless that has just failed."""
        has_failed = keys.failed_ms is not None and self._now_ms - keys.failed_ms < RETRY_MS + late_ms
        return self._now_ms - old_ms >= late_ms and not has_failed

    def _fetch(self, keys: FetchedKeys) -> None:
        if keys.is_fetching:
            return
        keys.is_fetching = True
        try:
            self._engine.fetch(keys.url, lambda fetched: self._take(keys, fetched))
        except Exception as error:
            if not keys.is_fetching:  # it came at once, and broke what reads it
                raise
            self._take(keys, OSError(f"the fetch could not begin: {error}"))

    def _take(self, keys: FetchedKeys, fetched: Fetched) -> None:
        """What came from the URL. Keys that are there stay if nothing good came."""
        keys.is_fetching = False
        try:
            self._store(keys, fetched)
        finally:  # whatever comes, no login waits for ever
            self._let_go_on(keys)

    def _store(self, keys: FetchedKeys, fetched: Fetched) -> None:
        keys.failure, keys.failed_ms = "the key set could not be read", self._now_ms  # until it has been
        try:
            if isinstance(fetched, Exception):
                raise fetched
            keys.keys, keys.fetched_ms = KeySet.parse(fetched), self._now_ms
        except (OSError, ValueError) as error:
            keys.failure = str(error) or type(error).__name__
        else:
            keys.failure, keys.failed_ms = "", None

    def _let_go_on(self, keys: FetchedKeys) -> None:
        waiting, keys.waiting = keys.waiting, {}
        while waiting:  # what one of them does may take others back
            then = next(iter(waiting))
            del waiting[then]
            self._engine.run(then, self._engine.now)


def _nothing() -> None:
    """Takes nothing back: it was called already."""


def _newest(missed_ms: dict[str, int]) -> dict[str, int]:
    """So many that strangers who make up key ids do not fill the memory."""
    newest = sorted(missed_ms.items(), key=lambda item: item[1])[-MAX_MISSED:]
    return dict(newest)
