"""The retention of a history, and which tombstones it explains."""

import pytest

from fakebroker.analysis.history.compile.happened import Commit, Event, Gone, Member, Settled, Window
from fakebroker.analysis.history.compile.retention import is_expiry, retention_of

DAY_MS = 86_400_000
NOW_MS = 100 * DAY_MS
COMMIT = Commit((1, 0), NOW_MS - 8 * DAY_MS, "orders", 0, 42, "", None, None)


def window(*events: Event, retentions: tuple[int, ...] = (), settled: Settled | None = None) -> Window:
    """A window that ends now, with one offset that was committed eight days ago."""
    return Window("g", "log", NOW_MS - DAY_MS, NOW_MS, settled, [COMMIT], list(events), {"orders": 1}, retentions)


def group(state: str, *topics: str, since_ms: int = NOW_MS - 2 * DAY_MS) -> Settled:
    """A group that has been in this state for two days."""
    members = (Member("m", None, None, None, None, topics, {}),) if state == "Stable" else ()
    return Settled(
        (5, 0), since_ms, state, 1, since_ms, "consumer", "range", "m", members, read_topics=frozenset(topics)
    )


def gone(how: str = "") -> Gone:
    """A tombstone for the offset."""
    return Gone((9, 0), NOW_MS, "orders", 0, how)


@pytest.mark.parametrize(
    ("settled", "expected"),
    [
        (None, True),  # a simple group: from the commit, eight days ago
        (group("Empty"), False),  # from when it became Empty, two days ago
        (group("Empty", since_ms=NOW_MS - 7 * DAY_MS), True),
        (group("Stable", "orders"), False),  # read: it does not age
        (group("Stable", "audit"), True),  # from the commit
    ],
)
@pytest.mark.rules("EX-3")
def test_which_tombstone_is_an_expiry(settled: Settled | None, expected: bool) -> None:
    """One of an offset that is old enough, counted as the rule for its group says."""
    assert is_expiry(gone(), COMMIT, settled, retention_of(window(gone()), {})) is expected


def test_what_is_recorded_needs_no_guess() -> None:
    """A journal says what expired, and what was deleted."""
    retention = retention_of(window(), {})
    assert is_expiry(gone("expired"), COMMIT, group("Stable", "orders"), retention)
    assert not is_expiry(gone("deleted"), COMMIT, None, retention)


@pytest.mark.rules("EX-2")
def test_a_retention_of_its_own() -> None:
    """An offset that says when it expires goes then, whatever the group is."""
    own = COMMIT._replace(expires_ms=NOW_MS - 1)
    assert is_expiry(gone(), own, group("Empty"), retention_of(window(), {}))
    assert not is_expiry(gone(), own._replace(expires_ms=NOW_MS + 1), None, retention_of(window(), {}))


def test_which_retention() -> None:
    """As given; else what expired shows it; else a week, unless the history keeps older offsets."""
    assert retention_of(window(), {"offsets.retention.minutes": "60"}).retention_ms == 3_600_000
    assert retention_of(window(retentions=(DAY_MS, DAY_MS)), {}).retention_ms == DAY_MS
    assert retention_of(window(gone()), {}).retention_ms == 7 * DAY_MS
    kept = retention_of(window(), {})
    assert kept.retention_ms == 8 * DAY_MS + 60_000
    assert "keeps offsets that were nearly as old" in kept.why


def test_the_interval_of_cleanups() -> None:
    """Ten minutes, unless what expired in the window came at other distances."""
    fitting = [gone("expired"), gone("expired")._replace(at_ms=NOW_MS + 1_200_000)]
    others = [gone("expired"), gone("expired")._replace(at_ms=NOW_MS + 90_000)]
    assert retention_of(window(*fitting), {}).interval_ms == 600_000
    assert retention_of(window(*others), {}).interval_ms == 90_000
