"""What quotas are measured with: a rate over a moving window, and a bucket of tokens (KIP-13, KIP-599).

All times are milliseconds of the monotonic reading. Kafka: `Rate`, `WindowedSum`, `TokenBucket`.
"""

from typing import NamedTuple


class Window(NamedTuple):
    """So many samples of `size_ms` each, the present one among them (`quota.window.num`, `.size.seconds`)."""

    samples: int
    size_ms: int


class _Sample:
    """What was recorded from `start_ms` on."""

    __slots__ = ("last_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0


class WindowedRate:
    """The sum of what was recorded in a window, per second.

    A sample begins with the first value after the one before it is full, and counts until nothing of it is within the
    window any more. The window is never taken for shorter than all samples but one, so that a rate means something from
    the first value on.
    """

    __slots__ = ("_current", "_samples", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Something happened; a negative value takes back what did not."""
        samples = self._samples
        if not samples:
            samples.append(_Sample(now_ms))
        sample = samples[self._current]
        if now_ms - sample.start_ms >= self._window.size_ms:
            sample = self._next_sample(now_ms)
        sample.value += value
        sample.last_ms = now_ms

    def _next_sample(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % (
            self._window.samples + 1
        )  # one more: that which is half out of the window
        if self._current >= len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def per_second(self, now_ms: int) -> float:
        """The rate."""
        span_ms = self.span_ms(now_ms)
        return sum(sample.value for sample in self._samples) / (span_ms / 1000)

    def span_ms(self, now_ms: int) -> int:
        """For how long the rate is taken to have been measured."""
        count, size_ms = self._window
        for sample in self._samples:
            if now_ms - sample.last_ms >= count * size_ms:
                sample.reset(now_ms)
        oldest_ms = min((sample.start_ms for sample in self._samples), default=now_ms)
        elapsed_ms = now_ms - oldest_ms
        missing = count - 1 - elapsed_ms // size_ms
        return max(elapsed_ms + max(missing, 0) * size_ms, 1)

    def is_idle(self, now_ms: int) -> bool:
        """Whether nothing of it is within the window any more, so that it is as good as a new one."""
        count, size_ms = self._window
        return all(now_ms - sample.last_ms >= count * size_ms for sample in self._samples)


class TokenBucket:
    """Tokens that come back at a rate, up to as many as the whole window gives; more may be taken than there are."""

    __slots__ = ("_full_ms", "_tokens", "_updated_ms", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._tokens: float | None = None  # None: full
        self._updated_ms = 0
        self._full_ms = 0.0  # when all tokens will have come back, at the rate at which some were taken

    def tokens(self, per_second: float, now_ms: int) -> float:
        """How many there are, where `per_second` come back; below zero more were taken."""
        full = self._window.samples * self._window.size_ms / 1000 * per_second
        if self._tokens is None:
            self._tokens = full
        else:
            self._tokens = min(full, self._tokens + per_second * ((now_ms - self._updated_ms) / 1000))
        self._updated_ms = now_ms
        return self._tokens

    def is_full(self, now_ms: int) -> bool:
        """Whether all tokens have come back, so that it is as good as a new one."""
        return now_ms >= self._full_ms

    def take(self, count: float, per_second: float, now_ms: int) -> None:
        """Take some, whether they are there or not."""
        self._tokens = self.tokens(per_second, now_ms) - count
        full = self._window.samples * self._window.size_ms / 1000 * per_second
        self._full_ms = now_ms + (full - self._tokens) / per_second * 1000
