"""The retention of a history, and which of its tombstones are an expiry."""

from collections.abc import Sequence
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from fakebroker.analysis.history.compile.happened import Commit, Gone, Settled, TopicPartition, Window, apply
from fakebroker.analysis.pipeline.expiry_cases import aging_of, simple_aging

DEFAULT_RETENTION_MS = 7 * 86_400_000
DEFAULT_INTERVAL_MS = 600_000
_MINUTE_MS = 60_000
_POLICY = "4.3"
_DRIFT_MS = 2_000  # by which passes of a real broker come late
RETENTION, INTERVAL = "offsets.retention.minutes", "offsets.retention.check.interval.ms"


class Retention(NamedTuple):
    """The settings in force, as far as the history tells: how long offsets live, how often a cleanup looks at them."""

    retention_ms: int
    interval_ms: int
    why: str

    def config(self) -> dict[str, int]:
        """As broker settings."""
        return {RETENTION: self.retention_ms // _MINUTE_MS, INTERVAL: self.interval_ms}


def retention_of(window: Window, given: dict[str, str]) -> Retention:
    """The settings that `given` names; else those that the history shows; else Kafka's defaults."""
    if RETENTION in given:
        retention_ms, why = int(given[RETENTION]) * _MINUTE_MS, "as given"
    elif window.retentions_ms:
        known = sorted(window.retentions_ms)
        retention_ms, why = known[len(known) // 2], "shown by what expired in the history"
    else:
        retention_ms, why = DEFAULT_RETENTION_MS, "unknown from the history: Kafka's default"
    alive_ms = _oldest_ms(window)
    if RETENTION not in given and not window.retentions_ms and retention_ms + DEFAULT_INTERVAL_MS < alive_ms:
        retention_ms = (alive_ms // _MINUTE_MS + 1) * _MINUTE_MS
        why = "unknown from the history, which keeps offsets that were nearly as old"
    interval_ms = int(given[INTERVAL]) if INTERVAL in given else _interval_ms(window)
    return Retention(retention_ms, interval_ms, why)


def longer(retention: Retention, window: Window, begins_ms: int) -> Retention:
    """A retention with which nothing falls due before the end of the window."""
    retention_ms = ((window.end_ms - begins_ms) // _MINUTE_MS + 1440) * _MINUTE_MS
    why = "unknown: long enough for everything that the history keeps"
    return retention._replace(retention_ms=max(retention_ms, retention.retention_ms), why=why)


def expires_ms(settled: Settled | None, commit: Commit, retention_ms: int) -> int | None:
    """When an offset is due by the policy of today; None while it does not age."""
    if settled is None or settled.state == "Dead" or settled.protocol_type is None:
        aging = simple_aging(_POLICY)
    else:
        aging = aging_of(
            _POLICY, settled.state, settled.protocol_type, settled.read_topics, settled.since_ms, settled.group_type
        )
    due = aging.due(commit.topic, commit.at_ms, commit.expires_ms, retention_ms)
    return None if due is None else due.due_ms


def is_expiry(gone: Gone, commit: Commit | None, settled: Settled | None, retention: Retention) -> bool:
    """Whether an offset is gone because of its age, as far as one can tell."""
    if gone.how or commit is None:
        return gone.how == "expired"
    due_ms = expires_ms(settled, commit, retention.retention_ms)
    return due_ms is not None and due_ms <= gone.at_ms


def _oldest_ms(window: Window) -> int:
    """The greatest age of an offset that the history keeps until the end of the window; 0 without any."""
    offsets: dict[TopicPartition, Commit] = {commit.place: commit for commit in window.commits}
    settled = window.settled
    for event in window.changes:
        apply(event, offsets)
        settled = event if isinstance(event, Settled) else settled
    bases = [expires_ms(settled, each, 0) for each in offsets.values() if each.expires_ms is None]
    return max((window.end_ms - base for base in bases if base is not None), default=0)


def _interval_ms(window: Window) -> int:
    """Kafka's default, unless expiries in the window lie otherwise: then the longest interval that they fit."""
    times = sorted({each.at_ms for each in window.events if isinstance(each, Gone) and each.how == "expired"})
    gaps = [after - before for before, after in pairwise(times)]
    if all(min(gap % DEFAULT_INTERVAL_MS, -gap % DEFAULT_INTERVAL_MS) <= _DRIFT_MS for gap in gaps):
        return DEFAULT_INTERVAL_MS
    found = gcd(*gaps)
    return found if found >= 1000 else DEFAULT_INTERVAL_MS


def passes_of(window: Window, retention: Retention) -> Sequence[int]:
    """The times at which a cleanup of the history took something."""
    offsets: dict[TopicPartition, Commit] = {commit.place: commit for commit in window.commits}
    settled, found = window.settled, []
    for event in window.changes:
        if isinstance(event, Commit):
            offsets[event.place] = event
        elif isinstance(event, Gone):
            if is_expiry(event, offsets.pop(event.place, None), settled, retention):
                found.append(event.at_ms)
        else:
            if event.state == "Dead" and event.is_deletion is False:
                found.append(event.at_ms)
            settled = event
    return sorted(set(found))
