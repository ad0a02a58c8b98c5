"""The example of docs/how-to/compile.md: what happened, and the scenario that the page shows."""

import re
from datetime import UTC, datetime
from pathlib import Path

from fakebroker.analysis.history.compile.anonymise import HashedNames
from fakebroker.analysis.history.compile.scenario import compiled
from fakebroker.analysis.history.compile.window import window_of
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.analysis.history.compile.tables_of import Rows, of_group, of_lines

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "compile.md"
TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)
MINUTE_MS = 60_000


def an_incident() -> Rows:
    """The journal of two workers of which one leaves at ten, while both commit every five seconds."""
    with VirtualBroker() as broker:
        broker.clock.freeze()
        broker.clock.set(datetime(2026, 3, 1, 9, 58, tzinfo=UTC))
        broker.create_topic("orders", partitions=2)
        a, b = broker.client("worker"), broker.client("worker")
        joins = broker.group("billing").hold_joins(until_members=2)
        waiting = [client.start(client.steps.join("billing", ["orders"])) for client in (a, b)]
        assert not joins.is_active
        assert all(step.is_done for step in waiting)
        shares = {a.member_id: {"orders": [0]}, b.member_id: {"orders": [1]}}
        a.sync(shares)
        b.sync()
        for tick in range(1, 25):
            broker.clock.advance(seconds=5)
            for index, client in enumerate((a, b)):
                client.commit({("orders", index): 100 * index + 3 * tick}, "checked")
        b.leave()
        a.rejoin()
        a.sync({a.member_id: {"orders": [0, 1]}})
        broker.clock.advance(seconds=5)
        a.commit({("orders", 0): 75, ("orders", 1): 190})
        return list(broker.journal.rows())


def test_the_page_shows_what_is_compiled() -> None:
    """The scenario on the page has the lines that the command makes of this incident, in order, and it passes."""
    rows = of_group(of_lines(an_incident()), "billing")
    ten_ms = int(TEN.timestamp() * 1000)
    window = window_of(rows, "billing", ten_ms - MINUTE_MS // 2, ten_ms + MINUTE_MS // 2)
    found = compiled(window, HashedNames(b"the secret of this page"))

    assert found.problems == []
    (block,) = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    shown, made = block.splitlines(), iter(found.text.splitlines())
    assert len(shown) > 10
    assert [line for line in shown if line != "  # ..." and line not in made] == []
